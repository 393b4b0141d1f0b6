// R80: which requests are asked for, completed, failed and refused alike, and from which place on.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { storable } from '../core/shapes.ts'
import { instant, wholeNumber } from '../core/text-values.ts'
import { tagIn, tagText } from '../headers/call-tags.ts'
import { REFUSAL_KINDS, type RefusalKind } from '../refusals/refusal-kind.ts'
import { ENDINGS } from './usage-event.ts'

export const OUTCOMES = [...ENDINGS, 'refused'] as const
export type Outcome = (typeof OUTCOMES)[number]

const LIMIT_MAX = 100
const LIMIT_DEFAULT = 50
const TEXT_MAX = 200
const LATEST_MS = Number.MAX_SAFE_INTEGER

/** Only of these there is an error to tell. */
const WENT_WRONG: readonly Outcome[] = ['upstream_failed', 'deadline_exceeded', 'failed', 'refused']

const only = (what: string) => Type.Optional(Type.String({ description: `Only ${what}.` }))

export const RequestQuery = Type.Object({
  from: only('from this RFC 3339 time on'),
  to: only('before this RFC 3339 time'),
  outcome: Type.Optional(
    Type.String({ description: `Only what ended so, one or more of ${OUTCOMES.join(', ')}: \`failed,refused\`.` }),
  ),
  layer: Type.Optional(
    Type.Enum([...REFUSAL_KINDS], { description: 'Only what this layer refused, or what failed in it.' }),
  ),
  key_id: only('what this API key asked for'),
  model: only('what asked for this model or alias, or resolved to it'),
  provider: only('this provider'),
  alias_release_id: only('this release of an alias'),
  cluster_id: only('this cluster'),
  session_id: only('this session'),
  bundle_id: only('what was asked with this bundle'),
  tag: only('what has this tag, such as `team=search`'),
  min_charged_micros: only('what was charged at least so much'),
  min_ttft_ms: only('where the first token took at least so long'),
  error: Type.Optional(
    Type.String({
      description:
        'Only where the code, what the client was told or what an upstream said contains this text, in any case. At ' +
        `most ${TEXT_MAX} characters.`,
    }),
  ),
  limit: Type.Optional(Type.String({ description: `How many at most, 1 to ${LIMIT_MAX}. Default ${LIMIT_DEFAULT}.` })),
  after: Type.Optional(Type.String({ description: 'The next page: what an answer had as `next`.' })),
})

type Equal = 'key_id' | 'model' | 'provider' | 'alias_release_id' | 'cluster_id' | 'session_id' | 'bundle_id' | 'tag'

/** Null: anything. */
export interface RequestFilter extends Record<Equal, string | null> {
  from_ms: number
  outcomes: readonly Outcome[]
  layer: RefusalKind | null
  min_charged_micros: number | null
  min_ttft_ms: number | null
  /** In small letters. */
  error: string | null
}

/** Where a request stands in the list: newer ones first, of one millisecond those with the greater id. */
export interface RequestPlace {
  at_ms: number
  trace_id: string
}

export interface RequestQuestion {
  filter: RequestFilter
  /** Everything in the list is below this place. */
  below: RequestPlace
  limit: number
}

export function requestQuestion(query: Static<typeof RequestQuery>): RequestQuestion {
  const { from, to, limit, after, error, layer = null } = query
  const asked = (field: Equal) => (query[field] === undefined ? null : storable(field, query[field]))
  const least = (field: 'min_charged_micros' | 'min_ttft_ms') =>
    query[field] === undefined ? null : wholeNumber(field, query[field], { minimum: 0, maximum: LATEST_MS })
  const text = error === undefined ? null : searchedText(error)
  const outcomes = query.outcome === undefined ? OUTCOMES : outcomesIn(query.outcome)
  const end = { at_ms: to === undefined ? LATEST_MS : instant('to', to), trace_id: '' }
  const place = after === undefined ? end : placeIn(after)
  return {
    filter: {
      from_ms: from === undefined ? 0 : instant('from', from),
      outcomes: layer === null && text === null ? outcomes : outcomes.filter((one) => WENT_WRONG.includes(one)),
      layer,
      key_id: asked('key_id'),
      model: asked('model'),
      provider: asked('provider'),
      alias_release_id: asked('alias_release_id'),
      cluster_id: asked('cluster_id'),
      session_id: asked('session_id'),
      bundle_id: asked('bundle_id'),
      tag: query.tag === undefined ? null : tagText(tagIn('tag', query.tag)),
      min_charged_micros: least('min_charged_micros'),
      min_ttft_ms: least('min_ttft_ms'),
      error: text,
    },
    below: isBelow(place, end) ? place : end,
    limit: limit === undefined ? LIMIT_DEFAULT : wholeNumber('limit', limit, { minimum: 1, maximum: LIMIT_MAX }),
  }
}

function outcomesIn(text: string): Outcome[] {
  const asked = text.split(',')
  const known = OUTCOMES.filter((outcome) => asked.includes(outcome))
  if (known.length !== asked.length)
    throw new Refusal('invalid_request', `'outcome' must be one or more of ${OUTCOMES.join(', ')}, each once.`)
  return known
}

function searchedText(text: string): string {
  if (text.trim() === '' || text.length > TEXT_MAX)
    throw new Refusal('invalid_request', `'error' must be a text of 1 to ${TEXT_MAX} characters.`)
  return storable('error', text).trim().toLowerCase()
}

const PLACE = /^(\d{1,15})_(trc_\w{1,64})?$/

function placeIn(text: string): RequestPlace {
  const [, at, trace_id = ''] = PLACE.exec(text) ?? []
  if (at === undefined) throw new Refusal('invalid_request', "'after' must be what an answer had as 'next'.")
  return { at_ms: Number(at), trace_id }
}

/** What `after` takes. */
export const cursorOf = ({ at_ms, trace_id }: RequestPlace) => `${at_ms}_${trace_id}`

export const isBelow = (one: RequestPlace, other: RequestPlace) =>
  one.at_ms < other.at_ms || (one.at_ms === other.at_ms && one.trace_id < other.trace_id)

/** The last millisecond in which something can be below the place. */
export const lastOf = ({ at_ms, trace_id }: RequestPlace) => (trace_id === '' ? at_ms - 1 : at_ms)
