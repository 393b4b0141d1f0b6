// R13, R52: what a heartbeat may tell beside its status. All of it is optional, and what is not of the right form is
// dropped, never refused: an agent that reports something new must not lose its cluster for it.
import { type Static, type TSchema, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { BUDGETS } from '../core/foreign.ts'
import { LABEL_MAX, orNull, time } from '../core/shapes.ts'
import { ReportedStatus } from './cluster.ts'

const MODELS_MAX = 1_000
const LORAS_MAX = 256
const PROTOCOLS_MAX = 16
const TIERS_MAX = 16 // §8: as many as a plan may weigh

const maybe = Type.Optional
const text = () => Type.String({ minLength: 1, maxLength: LABEL_MAX })
const amount = () => Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const whole = () => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const share = () => Type.Number({ minimum: 0, maximum: 1 })

const ServedModel = Type.Object({
  id: text(),
  context_length: maybe(whole()),
  replicas_ready: maybe(whole()),
  kv_bytes_per_token: maybe(whole()),
  loras: maybe(Type.Array(text(), { maxItems: LORAS_MAX })),
})

const Capacity = Type.Object({
  replicas_ready: maybe(whole()),
  replicas_desired: maybe(whole()),
  max_concurrency: maybe(whole()),
  gpu_type: maybe(text()),
  gpu_count: maybe(whole()),
})

const Load = Type.Object({
  running: maybe(whole()),
  waiting: maybe(whole()),
  inflight_tokens: maybe(whole()),
  kv_utilization: maybe(share()),
  prefix_cache_hit_rate: maybe(share()),
  external_prefix_cache_hit_rate: maybe(share()),
  ttft_p50_ms: maybe(amount()),
  ttft_p95_ms: maybe(amount()),
  itl_p50_ms: maybe(amount()),
  prefill_tokens_per_s: maybe(amount()),
  preemptions: maybe(whole()),
})

const CacheTier = Type.Object({
  name: text(),
  capacity_bytes: maybe(whole()),
  used_bytes: maybe(whole()),
  read_gbps: maybe(amount()),
  lookup_ms: maybe(amount()),
  queue_delay_ms: maybe(amount()),
  utilization: maybe(share()),
  hit_rate: maybe(share()),
})

const EndpointPicker = Type.Object({ address: text(), healthy: maybe(Type.Boolean()) })

const Report = Type.Object({
  sequence: maybe(whole()),
  agent_version: maybe(text()),
  interval_s: maybe(amount()),
  drain_deadline_s: maybe(amount()),
  models: maybe(Type.Array(ServedModel, { maxItems: MODELS_MAX })),
  capacity: maybe(Capacity),
  load: maybe(Load),
  cache_tiers: maybe(Type.Array(CacheTier, { maxItems: TIERS_MAX })),
  epp: maybe(EndpointPicker),
  protocols: maybe(Type.Array(text(), { maxItems: PROTOCOLS_MAX })),
})

/** What a cluster said last, and when we heard it. */
export type Telemetry = Static<typeof Report> & { reported_at: string }

export const ClusterTelemetry = Type.Object(
  {
    id: Type.String({ description: 'The cluster’s id.' }),
    object: Type.Literal('byoc_cluster.telemetry'),
    reported_at: orNull(time()),
    ...Report.properties,
  },
  { title: 'ClusterTelemetry', description: 'What the latest heartbeat that told anything told.' },
)
export type ClusterTelemetry = Static<typeof ClusterTelemetry>

const told = (description: string) => maybe(Type.Unknown({ description }))

export const Heartbeat = Type.Object(
  {
    status: ReportedStatus,
    sequence: told('An integer of the sender’s own, counting its reports.'),
    agent_version: told('Version of the reporting agent.'),
    interval_s: told('How often it reports, in seconds.'),
    drain_deadline_s: told('How long it goes on while draining, in seconds.'),
    models: told('What it serves: `[{"id": "llama-3.3-70b", "context_length": 131072}]`.'),
    capacity: told('`replicas_ready`, `replicas_desired`, `max_concurrency`, `gpu_type`, `gpu_count`.'),
    load: told('`running`, `waiting`, `kv_utilization` (0 to 1), `ttft_p95_ms` and the like.'),
    cache_tiers: told('`[{"name": "host_ram", "read_gbps": 38.2, "lookup_ms": 0.4}]`, at most 16.'),
    protocols: told('What its endpoint speaks beside chat: `["messages", "responses"]`. Such calls go on as they are.'),
    epp: told('The endpoint picker in front of it: `{"address": "epp.example:9002", "healthy": true}`.'),
  },
  {
    title: 'Heartbeat',
    description:
      'Only `status` is required. The rest is telemetry, shown by GET …/telemetry; what is ill-typed is dropped.',
  },
)

/** Undefined where the heartbeat told nothing that we understand. */
export function telemetryOf(heartbeat: object, now: number): Telemetry | undefined {
  const report = prune(Report, heartbeat) as Static<typeof Report> | undefined
  return report && { ...report, reported_at: rfc3339(now) }
}

/** R52: of what a cluster lists where it is asked, the first of it: as much as a heartbeat may tell. */
export function asMuchAsTold(ids: readonly string[]): string[] {
  let bytes = 0
  const first = ids.filter((id) => isReadable(id)).slice(0, MODELS_MAX)
  const past = first.findIndex((id) => {
    bytes += Buffer.byteLength(id)
    return bytes > BUDGETS.body.bytes
  })
  return past < 0 ? first : first.slice(0, past)
}

interface Shape {
  type?: string
  properties?: Record<string, TSchema>
  required?: readonly string[]
  items?: TSchema
  maxItems?: number
  maxLength?: number
  minimum?: number
  maximum?: number
}

/** What of `value` has the shape, part by part; undefined where nothing has, or where a part it needs is missing. */
function prune(schema: TSchema, value: unknown): unknown {
  const shape = schema as Shape
  switch (shape.type) {
    case 'object':
      return pruneObject(shape, value)
    case 'array':
      return pruneArray(shape, value)
    case 'string':
      return typeof value === 'string' && isReadable(value, shape.maxLength) ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    default:
      return isWithin(shape, value) ? value : undefined
  }
}

function pruneObject({ properties = {}, required = [] }: Shape, value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kept = Object.entries(properties)
    .map(([name, schema]) => [name, prune(schema, (value as Record<string, unknown>)[name])] as const)
    .filter(([, part]) => part !== undefined)
  const names = kept.map(([name]) => name)
  return kept.length > 0 && required.every((name) => names.includes(name)) ? Object.fromEntries(kept) : undefined
}

/** An empty list says that there are none. A list of nothing but nonsense says nothing. */
function pruneArray({ items, maxItems }: Shape, value: unknown): unknown[] | undefined {
  if (!Array.isArray(value) || !items) return undefined
  const kept = value.map((item) => prune(items, item)).filter((item) => item !== undefined)
  return kept.length > 0 || value.length === 0 ? kept.slice(0, maxItems) : undefined
}

const isReadable = (value: string, maxLength = LABEL_MAX) =>
  value.length > 0 && value.length <= maxLength && value.isWellFormed() && !value.includes('\0')

function isWithin({ type, minimum = 0, maximum = 0 }: Shape, value: unknown): boolean {
  if (typeof value !== 'number' || value < minimum || value > maximum) return false
  return type !== 'integer' || Number.isInteger(value)
}
