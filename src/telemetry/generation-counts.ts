// Generations and attempts as Prometheus reads them: by provider, model, profile, mode and outcome. What is counted is
// found once for each route and kept (counted-routes.ts); the words for it are put together when somebody asks.
import type { Registry } from 'prom-client'
import type { ExecutionMode } from '../headers/agent-headers.ts'
import { ENDINGS } from '../usage/usage-event.ts'
import { ATTEMPT_RESULTS, type Attempted, resultOf } from './attempt-result.ts'
import { CountedRoutes, cellOf, type RouteLabels, USUAL_BOUNDS } from './counted-routes.ts'
import {
  addCall,
  type Cell,
  type CountedCall,
  type CountedMoney,
  DURATION_BUCKETS,
  durationOf,
  FIRST_TOKEN_BUCKETS,
  firstTokenOf,
  type Histogram,
  MONEY_KINDS,
  moneyOf,
  NO_MONEY,
  queuedOf,
  queueSecondsOf,
  requestsOf,
  TOKEN_KINDS,
  tokensOf,
} from './generation-cell.ts'

const MODES = ['live', 'emergency_fallback', 'placeholder'] as const satisfies readonly ExecutionMode[]
const OUTCOMES = [...ENDINGS, 'refused'] as const

const MODE_AT = new Map<string, number>(MODES.map((mode, at) => [mode, at * OUTCOMES.length]))
const OUTCOME_AT = new Map<string, number>(OUTCOMES.map((outcome, at) => [outcome, at]))
const REFUSED_AT = OUTCOMES.indexOf('refused')

export class GenerationCounts {
  readonly #routes: CountedRoutes

  constructor(registry: Registry, now: () => number, bounds = USUAL_BOUNDS) {
    this.#routes = new CountedRoutes(bounds)
    for (const metric of metricsOver(this.#routes, now)) registry.registerMetric(metric as never)
  }

  /** What the operator lists is never counted among the others. */
  listed(isListed: CountedRoutes['isListed']): void {
    this.#routes.isListed = isListed
  }

  /** A generation has ended, and this is what it cost. */
  ended(target: RouteLabels, call: CountedCall, money: CountedMoney, now: number): void {
    addCall(this.#cellOf(target, call, OUTCOME_AT.get(call.ending) ?? 0), call, money, now)
  }

  /** The target said that the request is wrong, and the client was told so. */
  refused(target: RouteLabels, call: CountedCall, now: number): void {
    addCall(this.#cellOf(target, call, REFUSED_AT), call, NO_MONEY, now)
  }

  /** A target was dialled, and this is what became of it. */
  attempted(target: RouteLabels, attempt: Attempted, project_id: string): void {
    const { attempts } = this.#routes.of(target, project_id)
    const at = resultOf(attempt)
    attempts[at] = (attempts[at] ?? 0) + 1
  }

  #cellOf(target: RouteLabels, { project_id, mode }: CountedCall, outcome_at: number): Cell {
    const route = this.#routes.of(target, project_id)
    route.calls++
    return cellOf(route, (MODE_AT.get(mode) ?? 0) + outcome_at)
  }
}

interface Counter {
  name: string
  help: string
  /** Where it is told by kind. */
  kinds?: readonly string[]
  read(cell: Cell, kind: number): number
}

const COUNTERS: readonly Counter[] = [
  {
    name: 'switchyard_generations_total',
    help: 'Generations that were sent to a target, by how they ended.',
    read: requestsOf,
  },
  {
    name: 'switchyard_generation_tokens_total',
    help:
      'Tokens by kind: `input`, of which some were `cached` and some `written` to a cache; `output`, some of it ' +
      '`reasoning`; `repeated`, input that was sent before, as far as is known, and `missed`, not cached of that.',
    kinds: TOKEN_KINDS,
    read: tokensOf,
  },
  {
    name: 'switchyard_generation_micros_total',
    help:
      'Micro-USD by kind: `charged`; `direct`, what it costs at list prices; `saved` of that; `waived` for a ' +
      'deadline or a limit of ours; `written_off`, beyond what was held; `overage`, above a cap.',
    kinds: MONEY_KINDS,
    read: moneyOf,
  },
  {
    name: 'switchyard_generations_queued_total',
    help: 'Generations that waited for a slot.',
    read: queuedOf,
  },
  {
    name: 'switchyard_generation_queue_seconds_total',
    help: 'How long they waited for it, all together.',
    read: queueSecondsOf,
  },
]

interface Timing {
  name: string
  help: string
  buckets: readonly number[]
  read(cell: Cell): Histogram
}

const TIMINGS: readonly Timing[] = [
  {
    name: 'switchyard_generation_first_token_seconds',
    help: 'Time until the first content of a stream was there.',
    buckets: FIRST_TOKEN_BUCKETS,
    read: firstTokenOf,
  },
  {
    name: 'switchyard_generation_seconds',
    help: 'Time until a generation had ended and was settled.',
    buckets: DURATION_BUCKETS,
    read: durationOf,
  },
]

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

const ROUTE = ['provider', 'model', 'profile']
const CALL = [...ROUTE, 'mode', 'outcome']

function metricsOver(routes: CountedRoutes, now: () => number) {
  const metric = (about: { name: string; help: string }, type: string, labelNames: string[], read: () => Value[]) => {
    const { name, help } = about
    return { name, help, type, labelNames, get: async () => ({ name, help, type, aggregator: 'sum', values: read() }) }
  }
  const attempts = {
    name: 'switchyard_attempts_total',
    help: 'Targets that were dialled, by what came of it. A generation that fails over has several.',
  }
  return [
    ...COUNTERS.map((one) =>
      metric(one, 'counter', [...CALL, ...(one.kinds ? ['kind'] : [])], () => valuesOf(routes, one)),
    ),
    ...TIMINGS.map((one) => metric(one, 'histogram', CALL, () => timesOf(routes, one))),
    // The last of them: all that was counted has been read by then.
    metric(attempts, 'counter', [...ROUTE, 'result'], () => {
      const values = attemptsOf(routes)
      routes.rank(now())
      return values
    }),
  ]
}

function valuesOf(routes: CountedRoutes, { kinds, read }: Counter): Value[] {
  return cellsOf(routes).flatMap(({ labels, cell }) =>
    kinds
      ? kinds.map((kind, at) => ({ labels: { ...labels, kind }, value: read(cell, at) }))
      : [{ labels, value: read(cell, 0) }],
  )
}

function timesOf(routes: CountedRoutes, { name, buckets, read }: Timing): Value[] {
  return cellsOf(routes).flatMap(({ labels, cell }) => {
    const { counts, sum } = read(cell)
    let upTo = 0
    const values: Value[] = counts.map((count, at) => {
      upTo += count
      return { labels: { ...labels, le: buckets[at] ?? '+Inf' }, value: upTo, metricName: `${name}_bucket` }
    })
    values.push({ labels, value: sum, metricName: `${name}_sum` }, { labels, value: upTo, metricName: `${name}_count` })
    return values
  })
}

const attemptsOf = (routes: CountedRoutes): Value[] =>
  [...routes].flatMap(({ labels, attempts }) =>
    ATTEMPT_RESULTS.flatMap((result, at) => {
      const value = attempts[at]
      return value === undefined ? [] : [{ labels: { ...labels, result }, value }]
    }),
  )

function cellsOf(routes: CountedRoutes) {
  return [...routes].flatMap(({ labels, cells }) =>
    MODES.flatMap((mode, row) =>
      OUTCOMES.flatMap((outcome, at) => {
        const cell = cells[row * OUTCOMES.length + at]
        return cell ? [{ labels: { ...labels, mode, outcome }, cell }] : []
      }),
    ),
  )
}
