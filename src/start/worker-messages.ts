// What several workers and the process that started them say to each other.

/** The metrics of one process, as prom-client gives them as data. */
export type Counted = readonly CountedMetric[]

export interface CountedMetric {
  name: string
  type: string
  aggregator: string
  values?: readonly CountedValue[]
}

export interface CountedValue {
  labels: Readonly<Record<string, string | number>>
  value: number
}

/** To a worker. */
export type Order =
  /** On this port. Whoever `speaks` tells people of the start. */
  | { kind: 'start'; port: number; speaks: boolean }
  /** The whole server stops. */
  | { kind: 'stop'; drain_ms: number }
  /** Another worker has taken its place. */
  | { kind: 'leave'; drain_ms: number }
  | { kind: 'reload' }
  | { kind: 'ping' }
  | { kind: 'count' }
  /** What it asked for, for all workers. */
  | { kind: 'metrics'; text: string }
  /** It was heard to the end, and is given no connection any more. */
  | { kind: 'bye' }

/** Of a worker. */
export type Word =
  | { kind: 'here' }
  /** It listens. */
  | { kind: 'ready' }
  | { kind: 'pong' }
  | { kind: 'counted'; metrics: Counted }
  | { kind: 'metrics' }
  /** It has stopped, and ends with `bye`. */
  | { kind: 'done'; metrics: Counted }
