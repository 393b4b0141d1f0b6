// GET /v2/usage/reuse: how much of what was sent had been sent before, how much of that caches had, what it saved, and
// where it is lost. Each line names the events behind it, so that it can be added up again. Pure.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import type { UsageGroup } from './usage-query.ts'

const SPAN_MAX_DAYS = 90
const DAY_MS = 86_400_000
const USUAL_MS = 7 * DAY_MS
/** Less than this, missed where nobody would look, is no advice. */
const WORTH_TOKENS = 10_000
const ADVICE_MAX = 5

export const ReuseQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'From this RFC 3339 time on. Default: seven days before `to`.' })),
  to: Type.Optional(Type.String({ description: 'Before this RFC 3339 time. Default: now.' })),
})

const tokens = (description: string) => Type.Integer({ minimum: 0, description })
const sums = {
  events: Type.Integer(),
  input_tokens: Type.Integer(),
  repeated_tokens_est: tokens('Sent before, estimated.'),
  cached_tokens: tokens('Found in a cache, as upstreams tell.'),
  missed_reuse_tokens: tokens('Sent before and not found in a cache, estimated.'),
}

export const ReusePlace = Type.Object({
  provider: Type.String(),
  profile: Type.String(),
  cluster_id: orNull(Type.String()),
  model: Type.String(),
  ...sums,
  saved_micros: orNull(
    Type.Integer({ description: 'At a managed provider: list price without reuse, less what was charged.' }),
  ),
  gpu_seconds_saved: orNull(
    Type.Number({ description: 'On a cluster: prefill that was not computed, by `ms_per_token`.' }),
  ),
  gpu_seconds_missed: orNull(Type.Number({ description: 'And prefill that was computed again.' })),
  ms_per_token: orNull(Type.Number({ description: 'As observed there; null where too little was.' })),
  events_at: Type.String({ description: 'The request that lists the events that this is the sum of.' }),
})
export type ReusePlace = Static<typeof ReusePlace>

/** How many bundles are told of. */
export const BUNDLES_MAX = 100

export const ReuseBundle = Type.Object({
  bundle_id: Type.String(),
  ...sums,
  cached_share: Type.Number({ description: 'Of the tokens of its prompts, how many were cached: 0 to 1.' }),
  events_at: Type.String({ description: 'The request that lists the events that this is the sum of.' }),
})
export type ReuseBundle = Static<typeof ReuseBundle>
export type BundleUse = Omit<ReuseBundle, 'cached_share' | 'events_at'>

export const ReuseSummary = Type.Object(
  {
    object: Type.Literal('reuse_summary'),
    from: time(),
    to: time(),
    ...sums,
    saved_micros: Type.Integer({ description: 'Of all managed providers.' }),
    gpu_seconds_saved: orNull(Type.Number({ description: 'Of all clusters whose rate is known.' })),
    places: Type.Array(ReusePlace, { description: 'Those that miss the most first.' }),
    bundles: Type.Array(ReuseBundle, {
      description: `The project’s bundles that were used: the busiest first, ${BUNDLES_MAX} at most.`,
    }),
    next: Type.Array(
      Type.Object({
        kind: Type.Enum(['cluster_misses', 'no_cache_told', 'provider_misses']),
        missed_tokens: Type.Integer(),
        place: Type.Integer({ description: 'Which of `places`.' }),
        sentence: Type.String(),
      }),
      { description: 'What to do next, the most worth first.' },
    ),
  },
  { title: 'ReuseSummary' },
)
export type ReuseSummary = Static<typeof ReuseSummary>

export function reuseSpan({ from, to }: Static<typeof ReuseQuery>, now: number): { from_ms: number; to_ms: number } {
  const to_ms = to === undefined ? now : instant('to', to)
  const from_ms = from === undefined ? to_ms - USUAL_MS : instant('from', from)
  if (from_ms >= to_ms) throw new Refusal('invalid_request', "'from' must be before 'to'.")
  if (to_ms - from_ms > SPAN_MAX_DAYS * DAY_MS)
    throw new Refusal('invalid_request', `'from' must be at most ${SPAN_MAX_DAYS} days before 'to'.`)
  return { from_ms, to_ms }
}

/** By cluster and model: what a token of prefill takes there. */
export type PrefillRates = ReadonlyMap<string, number>
export const rateName = (cluster_id: string, model: string) => `${cluster_id} ${model}`

/** A replay says again what was said before: it is no repeated work of the project's, and no reuse. */
const OWN = { replays: 'exclude' }

interface Told {
  from_ms: number
  to_ms: number
  groups: readonly UsageGroup[]
  bundles: readonly BundleUse[]
  rates: PrefillRates
}

export function reuseSummary({ from_ms, to_ms, groups, bundles, rates }: Told): ReuseSummary {
  const span = { from: rfc3339(from_ms), to: rfc3339(to_ms) }
  const places = groups
    .map((group) => placeOf(group, rates, span))
    .sort((one, other) => other.missed_reuse_tokens - one.missed_reuse_tokens)
  const seconds = places.flatMap(({ gpu_seconds_saved }) => gpu_seconds_saved ?? [])
  return {
    object: 'reuse_summary',
    ...span,
    events: sum(places, ({ events }) => events),
    input_tokens: sum(places, ({ input_tokens }) => input_tokens),
    repeated_tokens_est: sum(places, ({ repeated_tokens_est }) => repeated_tokens_est),
    cached_tokens: sum(places, ({ cached_tokens }) => cached_tokens),
    missed_reuse_tokens: sum(places, ({ missed_reuse_tokens }) => missed_reuse_tokens),
    saved_micros: sum(places, ({ saved_micros }) => saved_micros ?? 0),
    gpu_seconds_saved: seconds.length === 0 ? null : tenths(sum(seconds, (one) => one)),
    places,
    bundles: bundles.map((use) => ({
      ...use,
      cached_share: use.input_tokens > 0 ? Math.min(1, use.cached_tokens / use.input_tokens) : 0,
      events_at: `/v2/usage?${new URLSearchParams({ ...span, bundle_id: use.bundle_id, ...OWN })}`,
    })),
    next: adviceOnAll(places),
  }
}

function placeOf(group: UsageGroup, rates: PrefillRates, span: { from: string; to: string }): ReusePlace {
  const { provider = '', profile = '', cluster_id = null, model = '' } = group
  const { events, input_tokens, repeated_tokens_est, cached_tokens, missed_reuse_tokens } = group
  const rate = cluster_id === null ? undefined : rates.get(rateName(cluster_id, model))
  const cluster = cluster_id !== null && { cluster_id }
  const query = new URLSearchParams({ ...span, provider, profile, model, ...cluster, ...OWN })
  return {
    ...{ provider, profile, cluster_id, model },
    ...{ events, input_tokens, repeated_tokens_est, cached_tokens, missed_reuse_tokens },
    saved_micros: profile === 'managed_provider' ? group.savings_micros : null,
    gpu_seconds_saved: rate === undefined ? null : tenths((cached_tokens * rate) / 1_000),
    gpu_seconds_missed: rate === undefined ? null : tenths((missed_reuse_tokens * rate) / 1_000),
    ms_per_token: rate ?? null,
    events_at: `/v2/usage?${query}`,
  }
}

/** Once for each place and kind: the model that misses most stands for the others. */
function adviceOnAll(places: readonly ReusePlace[]): ReuseSummary['next'] {
  const all = places.flatMap(adviceOn)
  const nameOf = ({ kind, place }: ReuseSummary['next'][number]) => `${kind} ${places[place]?.provider}`
  return all.filter((one, at) => all.findIndex((other) => nameOf(other) === nameOf(one)) === at).slice(0, ADVICE_MAX)
}

function adviceOn({ missed_reuse_tokens: missed_tokens, ...place }: ReusePlace, at: number): ReuseSummary['next'] {
  if (missed_tokens < WORTH_TOKENS) return []
  const is_cluster = place.cluster_id !== null
  const has_none = place.cached_tokens === 0
  const kind = has_none ? 'no_cache_told' : is_cluster ? 'cluster_misses' : 'provider_misses'
  const say = is_cluster ? (has_none ? TURN_ON : LOOK) : has_none ? SHARE : CLOSER
  return [{ kind, missed_tokens, place: at, sentence: say(place) }]
}

type Named = Pick<ReusePlace, 'provider' | 'model' | 'cluster_id'>

const TURN_ON = ({ provider, model }: Named) =>
  `${provider} tells of no cached tokens of ${model}: turn its prefix cache on, or let its answers tell ` +
  '(vLLM: --enable-prompt-tokens-details).'
const LOOK = ({ provider, model, cluster_id }: Named) =>
  `${provider} read ${model} prompts again that it had been sent: see which in ` +
  `GET /v2/byoc/clusters/${cluster_id}/cache.`
const SHARE = ({ provider, model }: Named) =>
  `${provider} cached nothing of ${model}: keep what prompts share at their beginning, byte for byte the same, ` +
  'as a bundle (Agent-Bundle).'
const CLOSER = ({ provider, model }: Named) =>
  `${provider} missed part of what ${model} prompts repeat: send the turns of a conversation closer together, ` +
  'or what they share as a bundle.'

const tenths = (value: number) => Math.round(value * 10) / 10
const sum = <Row>(rows: readonly Row[], of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0)
