// Refusals over time: by which of the layers a request was turned away (§7, §8.1), in hours or days.
import { type Static, Type } from 'typebox'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { Refusal, type RefusalName, type RefusedBy } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'

const DAY_MS = 24 * HOUR_MS

/** How long counts are kept. */
export const KEPT_MS = 90 * DAY_MS

/** In the order in which a request meets them (R15). */
export const REFUSAL_KINDS = [
  'scope',
  'key_limit',
  'project_limit',
  'idempotency',
  'validation',
  'not_found',
  'budget',
  'capacity',
  'deadline',
  'upstream',
  'unavailable',
  'fault',
] as const
export type RefusalKind = (typeof REFUSAL_KINDS)[number]

const BY_NAME: { [Name in RefusalName]?: RefusalKind } = {
  insufficient_scope: 'scope',
  project_suspended: 'scope',
  second_factor_missing: 'scope',
  idempotency_conflict: 'idempotency',
  gone: 'idempotency',
  not_found: 'not_found',
  model_not_found: 'not_found',
  quota_exceeded: 'budget',
  deadline_exceeded: 'deadline',
  upstream_failed: 'upstream',
  unavailable: 'unavailable',
  fault: 'fault',
}

const RATES: Record<RefusedBy, RefusalKind | undefined> = {
  edge: undefined, // who comes from an address is nobody's project
  key: 'key_limit',
  project: 'project_limit',
  capacity: 'capacity',
  upstream: 'upstream',
}

/** Undefined for what belongs to no project. */
export function kindOf({ kind, by }: Pick<Refusal, 'kind' | 'by'>): RefusalKind | undefined {
  if (kind === 'rate_limited') return by && RATES[by]
  if (by === 'upstream') return 'upstream'
  return BY_NAME[kind] ?? 'validation'
}

export interface RefusalCount {
  project_id: string
  hour_ms: number
  kind: RefusalKind
  count: number
}

export const hourOf = (time_ms: number) => Math.floor(time_ms / HOUR_MS) * HOUR_MS

const BUCKETS_MAX = 2_200 // somewhat more than the hours of 90 days
const STEPS = { hour: { ms: HOUR_MS, usual_ms: DAY_MS }, day: { ms: DAY_MS, usual_ms: 30 * DAY_MS } } as const
type Step = keyof typeof STEPS

export const RefusalQuery = Type.Object({
  from: Type.Optional(
    Type.String({
      description: 'RFC 3339; the hour or day that it lies in is the first. Default: a day or 30 days ago.',
    }),
  ),
  to: Type.Optional(Type.String({ description: 'Before this RFC 3339 time. Default: now.' })),
  step: Type.Optional(Type.Enum(['hour', 'day'], { description: 'How long a bucket is, in UTC. Default `hour`.' })),
})

const Counts = Type.Object(Object.fromEntries(REFUSAL_KINDS.map((kind) => [kind, Type.Integer()])), {
  description: 'By kind; every kind is there.',
})

export const RefusalSeries = Type.Object(
  {
    object: Type.Literal('refusal_series'),
    step: Type.Enum(['hour', 'day']),
    totals: Counts,
    buckets: Type.Array(Type.Object({ start: time(), total: Type.Integer(), counts: Counts }), {
      description: 'Oldest first, those without a refusal included.',
    }),
  },
  { title: 'RefusalSeries' },
)
export type RefusalSeries = Static<typeof RefusalSeries>

export interface RefusalQuestion {
  from_ms: number
  to_ms: number
  step: Step
}

export function refusalQuestion(
  { from, to, step = 'hour' }: Static<typeof RefusalQuery>,
  now: number,
): RefusalQuestion {
  const { ms, usual_ms } = STEPS[step]
  const to_ms = to === undefined ? now + 1 : instant('to', to)
  const asked_ms = from === undefined ? to_ms - usual_ms : instant('from', from)
  const from_ms = Math.floor(asked_ms / ms) * ms
  if (asked_ms >= to_ms) throw new Refusal('invalid_request', "'from' must be before 'to'.")
  if ((to_ms - from_ms) / ms > BUCKETS_MAX)
    throw new Refusal('invalid_request', `'from' must be at most ${BUCKETS_MAX} times 'step' before 'to'.`)
  return { from_ms, to_ms, step }
}

export function seriesOf({ from_ms, to_ms, step }: RefusalQuestion, counts: readonly RefusalCount[]): RefusalSeries {
  const { ms } = STEPS[step]
  const buckets = Array.from({ length: Math.ceil((to_ms - from_ms) / ms) }, (_, at) => ({
    start: rfc3339(from_ms + at * ms),
    total: 0,
    counts: none(),
  }))
  const totals = none()
  for (const { hour_ms, kind, count } of counts) {
    const bucket = buckets[Math.floor((hour_ms - from_ms) / ms)]
    if (!bucket) continue
    bucket.total += count
    bucket.counts[kind] = (bucket.counts[kind] ?? 0) + count
    totals[kind] = (totals[kind] ?? 0) + count
  }
  return { object: 'refusal_series', step, totals, buckets }
}

const none = (): Record<string, number> => Object.fromEntries(REFUSAL_KINDS.map((kind) => [kind, 0]))
