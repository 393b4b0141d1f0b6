// Which recorded calls a replay run asks again: named ones, those of a session, or a sample of what a filter matches.
import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { storable } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import { nextTurn } from '../core/turns.ts'
import { type UsageFilter, usageFilter } from '../usage/usage-query.ts'

export const CALLS_MAX = 1_000 // of one run
/** So many may match a filter: a sample is drawn among all of them. */
export const MATCHED_MAX = 50_000
const ID_MAX = 128

const only = (what: string) => Type.Optional(Type.String({ maxLength: 256, description: `Only ${what}.` }))

const CallFilter = Type.Object(
  {
    from: only('from this RFC 3339 time on'),
    to: only('before this RFC 3339 time'),
    key_id: only('what this API key asked for'),
    model: only('what resolved to this model'),
    provider: only('this provider'),
    profile: only('this execution profile'),
    cluster_id: only('this cluster'),
    session_id: only('this session'),
    bundle_id: only('what was asked with this bundle'),
  },
  { title: 'ReplayFilter', additionalProperties: false, description: 'Completed generations, as `GET /v2/usage`.' },
)

const Sample = Type.Object(
  {
    n: Type.Integer({ minimum: 1, maximum: CALLS_MAX, description: 'So many of the recorded calls that match.' }),
    seed: Type.String({ minLength: 1, maxLength: 128, description: 'The same seed draws the same calls.' }),
  },
  { title: 'ReplaySample' },
)

export const ReplaySource = Type.Object(
  {
    trace_ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: ID_MAX }), { minItems: 1, maxItems: CALLS_MAX }),
    ),
    session_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'All calls of this session.' })),
    filter: Type.Optional(CallFilter),
    sample: Type.Optional(Sample),
  },
  {
    title: 'ReplaySource',
    additionalProperties: false,
    description: 'One of `trace_ids`, `session_id` and `filter`; a `sample` of the latter two.',
  },
)
export type ReplaySource = Static<typeof ReplaySource>

export type CheckedSource =
  | { kind: 'named'; trace_ids: readonly string[] }
  | { kind: 'matched'; filter: UsageFilter; sample: ReplaySource['sample'] }

/** What cannot be meant is refused, with the field that is wrong. */
export function checkSource({ trace_ids, session_id, filter, sample }: ReplaySource, now: number): CheckedSource {
  const given = [trace_ids, session_id, filter].filter((one) => one !== undefined)
  if (given.length !== 1) throw wrong('source', "have exactly one of 'trace_ids', 'session_id' and 'filter'")
  if (sample) storable('source.sample.seed', sample.seed)
  if (trace_ids) {
    if (sample) throw wrong('source.sample', "be left out where 'trace_ids' are given")
    for (const id of trace_ids) storable('source.trace_ids', id)
    return { kind: 'named', trace_ids: [...new Set(trace_ids)] }
  }
  return { kind: 'matched', filter: filterOf(session_id === undefined ? (filter ?? {}) : { session_id }, now), sample }
}

function filterOf({ from, to, ...equal }: NonNullable<ReplaySource['filter']>, now: number): UsageFilter {
  const from_ms = from === undefined ? 0 : instant('source.filter.from', from)
  const to_ms = to === undefined ? now + 1 : instant('source.filter.to', to)
  if (from_ms >= to_ms) throw wrong('source.filter.from', "be before 'source.filter.to'")
  return usageFilter({ ...equal, status: 'completed' }, from_ms, to_ms)
}

export const nothingMatched = () =>
  new Refusal('invalid_request', "'source' must match a completed generation of this project; it matches none.")

export const tooMany = (most: number, remedy: string) =>
  new Refusal('invalid_request', `'source' must match at most ${most.toLocaleString('en')} calls. ${remedy}`)

/**
 * The same of the same calls, in whatever order they come: those whose hash with the seed is the least. In the order of
 * their ids, which is that of their times.
 */
export async function sampleOf(trace_ids: readonly string[], { n, seed }: { n: number; seed: string }) {
  const all = [...new Set(trace_ids)]
  let drawn: Ranked[] = []
  for (let from = 0; from < all.length; from += RANKED_AT_ONCE) {
    if (from > 0) await nextTurn() // R77: of fifty thousand, nobody else waits for all
    const some = all.slice(from, from + RANKED_AT_ONCE)
    drawn = [...drawn, ...some.map((id) => ({ id, rank: hash('sha256', `${seed}\n${id}`, 'hex') }))]
    drawn = drawn.sort(byRank).slice(0, n)
  }
  return drawn.map(({ id }) => id).sort()
}

const RANKED_AT_ONCE = 1_000

interface Ranked {
  id: string
  rank: string
}

const byRank = (a: Ranked, b: Ranked) => (a.rank < b.rank || (a.rank === b.rank && a.id < b.id) ? -1 : 1)

const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
