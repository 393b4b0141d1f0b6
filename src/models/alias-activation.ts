// §9.4: which release an alias was pointed at, when and by whom; and how the calls of each release went. Pure.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'

/** So many of an alias are kept, and so many of a project are told at once. */
export const ACTIVATIONS_MAX = 1_000

export const AliasActivation = Type.Object(
  {
    object: Type.Literal('alias_activation'),
    alias_id: Type.String(),
    alias_name: Type.String(),
    release_id: Type.String({ description: 'What requests resolved to from then on.' }),
    version: Type.Integer(),
    previous_release_id: orNull(Type.String({ description: 'What they resolved to until then; null at the first.' })),
    previous_version: orNull(Type.Integer()),
    activated_by: orNull(
      Type.String({ description: 'The key or the person; null where it is not known, or the caller is no admin.' }),
    ),
    activated_at: time(),
  },
  { title: 'AliasActivation' },
)
export type AliasActivation = Static<typeof AliasActivation>

export const ActivationQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'Only from this RFC 3339 time on. Required.' })),
  to: Type.Optional(Type.String({ description: 'Only before this RFC 3339 time. Required.' })),
})

export interface TimeRange {
  from_ms: number
  to_ms: number
}

export function activationRange({ from, to }: Static<typeof ActivationQuery>): TimeRange {
  const range = { from_ms: instant('from', from ?? ''), to_ms: instant('to', to ?? '') }
  if (range.to_ms <= range.from_ms) throw new Refusal('invalid_request', "'to' must be later than 'from'.")
  return range
}

/** R74: who did what is for admins. */
export const shownTo = (scopes: readonly string[], activations: readonly AliasActivation[]): AliasActivation[] =>
  activations.map((one) => (scopes.includes('admin') ? one : { ...one, activated_by: null }))

/** Calls of a release that are looked at, the latest; and releases that are told of, the newest. */
export const CALLS_MAX = 2_000
export const RELEASES_TOLD = 12

const latency = () => orNull(Type.Integer())

export const ReleaseOutcome = Type.Object(
  {
    object: Type.Literal('release_outcome'),
    release_id: Type.String(),
    version: Type.Integer(),
    requests: Type.Integer({ description: `Its latest calls, at most ${CALLS_MAX}.` }),
    failed: Type.Integer({ description: 'Neither completed nor left by their client.' }),
    charged_micros: Type.Integer(),
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    ttft_p50_ms: latency(),
    ttft_p95_ms: latency(),
    duration_p50_ms: latency(),
    duration_p95_ms: latency(),
    first_at: orNull(Type.String({ format: 'date-time', description: 'Of the earliest of these calls.' })),
    last_at: orNull(Type.String({ format: 'date-time', description: 'Of the latest.' })),
  },
  { title: 'ReleaseOutcome' },
)
export type ReleaseOutcome = Static<typeof ReleaseOutcome>

/** A call, as far as it counts here. */
export interface ReleaseCall {
  created_ms: number
  status: string
  charged_micros: number
  input_tokens: number
  output_tokens: number
  ttft_ms: number | null
  duration_ms: number
}

const ENDED_WELL = ['completed', 'client_left']

export function outcomeOf(release: { id: string; version: number }, calls: readonly ReleaseCall[]): ReleaseOutcome {
  const sum = (of: (call: ReleaseCall) => number) => calls.reduce((total, call) => total + of(call), 0)
  const ttfts = calls.flatMap(({ ttft_ms }) => ttft_ms ?? [])
  const durations = calls.map(({ duration_ms }) => duration_ms)
  const times = calls.map(({ created_ms }) => created_ms)
  return {
    object: 'release_outcome',
    release_id: release.id,
    version: release.version,
    requests: calls.length,
    failed: sum(({ status }) => (ENDED_WELL.includes(status) ? 0 : 1)),
    charged_micros: sum(({ charged_micros }) => charged_micros),
    input_tokens: sum(({ input_tokens }) => input_tokens),
    output_tokens: sum(({ output_tokens }) => output_tokens),
    ttft_p50_ms: ranked(ttfts, 50),
    ttft_p95_ms: ranked(ttfts, 95),
    duration_p50_ms: ranked(durations, 50),
    duration_p95_ms: ranked(durations, 95),
    first_at: times.length > 0 ? rfc3339(Math.min(...times)) : null,
    last_at: times.length > 0 ? rfc3339(Math.max(...times)) : null,
  }
}

/** Nearest rank. */
const ranked = (values: readonly number[], percent: number): number | null =>
  values.toSorted((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1] ?? null
