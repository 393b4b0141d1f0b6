// What recomputing a prefix takes on a cluster, learnt from the project's own calls: time to the first token, less
// what it waited here, against the tokens that were not in the cache. A straight line through the middle of the slopes
// between pairs (Theil and Sen): calls that hung or met a queue do not move it. Pure.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

const EVENTS_LEAST = 30
/** The longest must be this many times the shortest: else a slope says nothing. */
const REACH_LEAST = 2
const UNCACHED_LEAST = 64
/** Of the slopes, so many must point upwards, and half of the calls must lie this close to the line. */
const RISING_LEAST = 0.75
const OFF_MOST = 0.5
const PAIRS_PER_EVENT = 40

/** One call, as far as the line needs it. */
export interface PrefillSample {
  uncached_tokens: number
  prefill_ms: number
}

export const ObservedPrefill = Type.Object(
  {
    state: Type.Enum(['observed', 'too_few', 'contradictory'], {
      description: 'Whether the line is used. Else the tables are.',
    }),
    reason: orNull(Type.String({ description: 'Why it is not.' })),
    events: Type.Integer({ description: 'Streamed calls of this cluster and model that were looked at.' }),
    from_tokens: orNull(Type.Integer({ description: 'The fewest uncached tokens that were seen.' })),
    to_tokens: orNull(Type.Integer({ description: 'The most.' })),
    is_within_range: orNull(Type.Boolean({ description: 'Whether the prefix that was asked for lies between them.' })),
    fixed_ms: orNull(Type.Number()),
    ms_per_token: orNull(Type.Number()),
    tokens_per_s: orNull(Type.Integer()),
    spread_pct: orNull(
      Type.Object(
        { p10: Type.Number(), p50: Type.Number(), p90: Type.Number() },
        { description: 'How far calls lie from the line, as a part of it: below and above.' },
      ),
    ),
    margin_pct: orNull(Type.Integer({ description: 'Nine calls of ten lie within it.' })),
  },
  { title: 'ObservedPrefill' },
)
export type ObservedPrefill = Static<typeof ObservedPrefill>

export interface PrefillLine {
  fixed_ms: number
  ms_per_token: number
}

export function fitPrefill(samples: readonly PrefillSample[], prefix_tokens: number | undefined): ObservedPrefill {
  const usable = samples
    .filter(({ uncached_tokens, prefill_ms }) => uncached_tokens >= UNCACHED_LEAST && prefill_ms > 0)
    .sort((a, b) => a.uncached_tokens - b.uncached_tokens)
  const seen = { events: usable.length, ...rangeOf(usable, prefix_tokens) }
  if (usable.length < EVENTS_LEAST)
    return unfit('too_few', `${usable.length} of at least ${EVENTS_LEAST} calls were seen`, seen)
  const { from_tokens, to_tokens } = seen
  if ((to_tokens ?? 0) < REACH_LEAST * (from_tokens ?? 0))
    return unfit('too_few', `all calls were about as long: ${from_tokens} to ${to_tokens} uncached tokens`, seen)
  const slopes = slopesOf(usable)
  const rising = slopes.filter((slope) => slope > 0).length / slopes.length
  if (rising < RISING_LEAST)
    return unfit('contradictory', 'longer prompts were often answered as soon as shorter ones', seen)
  const line = lineThrough(usable, middle(slopes))
  const off = usable.map((sample) => sample.prefill_ms / at(line, sample.uncached_tokens) - 1).sort((a, b) => a - b)
  const distance = off.map(Math.abs).sort((a, b) => a - b)
  if (quantile(distance, 0.5) > OFF_MOST)
    return unfit('contradictory', 'half of the calls are more than 50 % away from any line', seen)
  return {
    state: 'observed',
    reason: null,
    ...seen,
    fixed_ms: rounded(line.fixed_ms, 3),
    ms_per_token: rounded(line.ms_per_token, 6),
    tokens_per_s: Math.round(1_000 / line.ms_per_token),
    spread_pct: {
      p10: percent(quantile(off, 0.1)),
      p50: percent(quantile(off, 0.5)),
      p90: percent(quantile(off, 0.9)),
    },
    margin_pct: Math.max(1, Math.ceil(quantile(distance, 0.9) * 100)),
  }
}

/** The line, where one was found. */
export const lineOf = ({ state, fixed_ms, ms_per_token }: ObservedPrefill): PrefillLine | undefined =>
  state === 'observed' && ms_per_token !== null ? { fixed_ms: fixed_ms ?? 0, ms_per_token } : undefined

type Seen = Pick<ObservedPrefill, 'events' | 'from_tokens' | 'to_tokens' | 'is_within_range'>

function rangeOf(usable: readonly PrefillSample[], prefix_tokens: number | undefined): Omit<Seen, 'events'> {
  const from_tokens = usable[0]?.uncached_tokens ?? null
  const to_tokens = usable.at(-1)?.uncached_tokens ?? null
  const is_known = prefix_tokens !== undefined && from_tokens !== null && to_tokens !== null
  return {
    from_tokens,
    to_tokens,
    is_within_range: is_known ? prefix_tokens >= from_tokens && prefix_tokens <= to_tokens : null,
  }
}

const unfit = (state: 'too_few' | 'contradictory', reason: string, seen: Seen): ObservedPrefill => ({
  state,
  reason,
  ...seen,
  fixed_ms: null,
  ms_per_token: null,
  tokens_per_s: null,
  spread_pct: null,
  margin_pct: null,
})

/** Between calls that are far apart in length, so that noise weighs little; a bounded number of pairs. */
function slopesOf(sorted: readonly PrefillSample[]): Float64Array {
  const count = sorted.length
  const step = Math.max(1, Math.floor(count / 2 / PAIRS_PER_EVENT))
  const slopes: number[] = []
  for (let apart = Math.ceil(count / 4); apart < count; apart += step)
    for (let low = 0; low + apart < count; low++) {
      const [one, other] = [sorted[low] as PrefillSample, sorted[low + apart] as PrefillSample]
      const tokens = other.uncached_tokens - one.uncached_tokens
      if (tokens > 0) slopes.push((other.prefill_ms - one.prefill_ms) / tokens)
    }
  return Float64Array.from(slopes).sort() // tens of thousands: as numbers, without asking a function about each pair
}

/** Where its fixed part would be negative there is none, and the slope is what the calls themselves took. */
function lineThrough(samples: readonly PrefillSample[], slope: number): PrefillLine {
  const rests = samples.map(({ uncached_tokens, prefill_ms }) => prefill_ms - slope * uncached_tokens)
  const fixed_ms = middle(rests.sort((a, b) => a - b))
  if (fixed_ms >= 0) return { fixed_ms, ms_per_token: slope }
  const rates = samples.map(({ uncached_tokens, prefill_ms }) => prefill_ms / uncached_tokens)
  return { fixed_ms: 0, ms_per_token: middle(rates.sort((a, b) => a - b)) }
}

type Sorted = Float64Array | readonly number[]

const at = ({ fixed_ms, ms_per_token }: PrefillLine, tokens: number) => fixed_ms + ms_per_token * tokens
const middle = (sorted: Sorted) => quantile(sorted, 0.5)
const quantile = (sorted: Sorted, share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const rounded = (value: number, digits: number) => Math.round(value * 10 ** digits) / 10 ** digits
const percent = (share: number) => rounded(share * 100, 1)
