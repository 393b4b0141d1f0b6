// §8.2.3: which usage is asked for, and by what it is added up.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { orNull, storable } from '../core/shapes.ts'
import { instant, wholeNumber } from '../core/text-values.ts'
import { isTagName, tagIn, tagText } from '../headers/call-tags.ts'
import { amounts, ENDINGS, type UsageEvent } from './usage-event.ts'
import { DIMENSIONS, type Dimension } from './usage-rollup.ts'

export const LIMIT_MAX = 10_000
const LATEST_MS = Number.MAX_SAFE_INTEGER

/** What usage can be grouped by, in the order in which a row names them. */
export const GROUPS = ['day', 'model', 'key_id', 'provider', 'profile', 'cluster_id', 'bundle_id'] as const
export type Group = (typeof GROUPS)[number]

const REPLAYS = ['exclude', 'only'] as const

const only = (what: string) => Type.Optional(Type.String({ description: `Only ${what}.` }))

/** What is asked for, wherever usage is. */
export const filters = {
  key_id: only('what this API key used'),
  model: only('generations that resolved to this model'),
  provider: only('this provider'),
  profile: only('this execution profile'),
  cluster_id: only('this cluster'),
  session_id: only('this session'),
  bundle_id: only('what was asked with this bundle'),
  tag: only('what has this tag, such as `team=search`'),
  status: Type.Optional(Type.Enum([...ENDINGS], { description: 'Only generations that ended so.' })),
  trace_id: only('this generation'),
  replays: Type.Optional(
    Type.Enum([...REPLAYS], { description: 'Without the calls of replay runs, or only those. Left out: all calls.' }),
  ),
}

export const UsageQuery = Type.Object({
  from: only('from this RFC 3339 time on'),
  to: only('before this RFC 3339 time'),
  ...filters,
  group_by: Type.Optional(
    Type.String({
      description: `Add up by one or more of ${GROUPS.join(', ')}, and by the values of one tag: \`day,tag:team\`.`,
    }),
  ),
  limit: Type.Optional(
    Type.String({ description: `How many rows at most, 1 to ${LIMIT_MAX}. Without it, all of them.` }),
  ),
  after: Type.Optional(
    Type.String({ description: 'The next page: older events than the one of this trace id, the last of a page.' }),
  ),
  before: Type.Optional(
    Type.String({ description: 'The page before: newer events than the one of this trace id, the first of a page.' }),
  ),
})

export const UsageGroup = Type.Object(
  {
    object: Type.Literal('usage_group'),
    day: Type.Optional(Type.String({ description: 'YYYY-MM-DD, UTC.' })),
    model: Type.Optional(Type.String({ description: 'What the generations resolved to.' })),
    key_id: Type.Optional(Type.String()),
    provider: Type.Optional(Type.String()),
    profile: Type.Optional(Type.String()),
    cluster_id: Type.Optional(orNull(Type.String())),
    bundle_id: Type.Optional(orNull(Type.String())),
    tag: Type.Optional(orNull(Type.String({ description: 'The value of the tag; null where it was not said.' }))),
    events: Type.Integer(),
    ...amounts,
  },
  { title: 'UsageGroup' },
)
export type UsageGroup = Static<typeof UsageGroup>

type Equal =
  | 'key_id'
  | 'model'
  | 'provider'
  | 'profile'
  | 'cluster_id'
  | 'session_id'
  | 'bundle_id'
  | 'tag'
  | 'status'
  | 'trace_id'

/** Null: anything. */
export type UsageFilter = Record<Equal, string | null> & {
  from_ms: number
  to_ms: number
  replays: (typeof REPLAYS)[number] | null
}

export interface UsageQuestion {
  filter: UsageFilter
  group_by: readonly Group[]
  /** The name of the tag whose values are told apart. */
  group_tag: string | undefined
  /** Undefined: all of them (R70). */
  limit: number | undefined
  /** Trace ids that a page begins after, or ends before. */
  after: string | undefined
  before: string | undefined
}

export const isGrouped = ({ group_by, group_tag }: Pick<UsageQuestion, 'group_by' | 'group_tag'>) =>
  group_by.length > 0 || group_tag !== undefined

export interface UsagePage<Item> {
  data: Item[]
  has_more: boolean
}

/** R75: a parameter that is misspelled would give a wrong sum in silence. */
export function refuseUnknown(query: object, { properties }: { properties: object }): void {
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined)
    throw new Refusal(
      'invalid_request',
      `'${unknown.slice(0, 64)}' is not a parameter of this list. It takes ${Object.keys(properties).join(', ')}.`,
    )
}

export function usageQuestion(query: Static<typeof UsageQuery>): UsageQuestion {
  const { from, to, limit, group_by, after, before } = query
  const from_ms = from === undefined ? 0 : instant('from', from)
  const to_ms = to === undefined ? LATEST_MS : instant('to', to)
  assertRange(from_ms, to_ms)
  const cursor = after === undefined ? 'before' : 'after'
  if (after !== undefined && before !== undefined)
    throw new Refusal('invalid_request', "'before' must not be given together with 'after'.")
  if (group_by !== undefined && query[cursor] !== undefined)
    throw new Refusal('invalid_request', `'${cursor}' must not be given together with 'group_by'.`)
  return {
    filter: usageFilter(query, from_ms, to_ms),
    ...(group_by === undefined ? { group_by: [], group_tag: undefined } : groupsIn(group_by)),
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: LIMIT_MAX }),
    after: after === undefined ? undefined : storable('after', after),
    before: before === undefined ? undefined : storable('before', before),
  }
}

/** R75: sums of nothing would pass for sums. */
export function assertRange(from_ms: number, to_ms: number): void {
  if (from_ms > to_ms) throw new Refusal('invalid_request', "'from' must be before 'to'.")
}

type Filtering = Partial<Record<Equal, string>> & { replays?: (typeof REPLAYS)[number] }

export function usageFilter(query: Filtering, from_ms: number, to_ms: number): UsageFilter {
  const asked = (field: Equal) => (query[field] === undefined ? null : storable(field, query[field]))
  return {
    from_ms,
    to_ms,
    key_id: asked('key_id'),
    model: asked('model'),
    provider: asked('provider'),
    profile: asked('profile'),
    cluster_id: asked('cluster_id'),
    session_id: asked('session_id'),
    bundle_id: asked('bundle_id'),
    tag: query.tag === undefined ? null : tagText(tagIn('tag', query.tag)),
    status: asked('status'),
    trace_id: asked('trace_id'),
    replays: query.replays ?? null,
  }
}

/** What roll-ups are by, among what is filtered by: replay runs have keys of their own. */
export const filteredBy = (filter: UsageFilter): Dimension[] =>
  DIMENSIONS.filter((name) => filter[name] !== null || (name === 'key_id' && filter.replays !== null))

/** A cursor names an event of the project: whatever else it is, it is no place in this list. */
export function placed<Place>(cursor: 'after' | 'before', place: Place | undefined): Place {
  if (place === undefined)
    throw new Refusal('invalid_request', `'${cursor}' must be the trace id of a usage event of this project.`)
  return place
}

const TAG_GROUP = 'tag:'

function groupsIn(text: string): Pick<UsageQuestion, 'group_by' | 'group_tag'> {
  const asked = text.split(',')
  const [tag, ...more] = asked.filter((one) => one.startsWith(TAG_GROUP)).map((one) => one.slice(TAG_GROUP.length))
  const known = GROUPS.filter((group) => asked.includes(group))
  const is_tag_known = tag === undefined || isTagName(tag)
  if (!is_tag_known || more.length > 0 || known.length + (tag === undefined ? 0 : 1) !== asked.length)
    throw new Refusal(
      'invalid_request',
      `'group_by' must be one or more of ${GROUPS.join(', ')}, each once, and at most one tag, such as tag:team.`,
    )
  return { group_by: known, group_tag: tag }
}

/** The filter over an event that was found by its trace id, but for `replays`, which the store alone knows. */
export function matches(event: UsageEvent, filter: UsageFilter): boolean {
  const time_ms = Date.parse(event.created_at)
  const { from_ms, to_ms, model, key_id, provider, profile, cluster_id, session_id, bundle_id, status } = filter
  const { trace_id, tag } = filter
  const equal = [
    [model, event.resolved_model],
    [key_id, event.key_id],
    [provider, event.provider],
    [profile, event.profile],
    [cluster_id, event.cluster_id],
    [session_id, event.session_id],
    [bundle_id, event.bundle_id],
    [status, event.status],
    [trace_id, event.trace_id],
    [tag, taggedSo(event, tag)],
  ]
  return time_ms >= from_ms && time_ms < to_ms && equal.every(([asked, is]) => asked === null || asked === is)
}

/** The tag itself, where the event has it. */
function taggedSo({ tags = {} }: UsageEvent, tag: string | null): string | null {
  return tag !== null && Object.entries(tags).some(([name, value]) => tagText({ name, value }) === tag) ? tag : null
}
