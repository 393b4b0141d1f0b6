// What a purge job is: which contents of a project are to be erased, how far that is, and what may be done with it. The
// kinds themselves belong to the rooms that keep them.
import { type Static, type TSchema, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, storable, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'

export const STATUSES = ['planned', 'queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type Status = (typeof STATUSES)[number]

export const NAMED_MAX = 1_000 // ids of each list
const ID_MAX = 128

/** The lists of a filter, and what each names. */
const LISTS = {
  session_ids: 'session',
  response_ids: 'response',
  trace_ids: 'trace',
  artifact_ids: 'artifact',
  bundle_ids: 'bundle',
} as const
type List = keyof typeof LISTS
export type Named = (typeof LISTS)[List]

const Ids = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: ID_MAX }), { maxItems: NAMED_MAX, description }))

export const PurgeFilter = Type.Object(
  {
    session_ids: Ids('These sessions, and what their calls left.'),
    response_ids: Ids('These stored responses, and what their calls left.'),
    trace_ids: Ids('What these calls left.'),
    artifact_ids: Ids('These artifacts, with the bundles that are made of them.'),
    bundle_ids: Ids('These bundles.'),
    key_id: Type.Optional(
      Type.String({ maxLength: ID_MAX, description: 'Only what was made with this key or a child of it.' }),
    ),
    from: Type.Optional(Type.String({ description: 'Only what was made from this RFC 3339 time on.' })),
    to: Type.Optional(Type.String({ description: 'Only what was made before this RFC 3339 time.' })),
    everything: Type.Optional(
      Type.Boolean({ description: 'All contents of the project. Stands alone, and needs `confirm`.' }),
    ),
  },
  { title: 'PurgeFilter', additionalProperties: false },
)
export type PurgeFilter = Static<typeof PurgeFilter>

export const NewPurgeJob = Type.Object(
  {
    filter: PurgeFilter,
    kinds: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 32, description: 'Default: all.' })),
    mode: Type.Optional(
      Type.Enum(['plan', 'erase'], {
        description: 'A plan only counts; `POST …/erase` carries it out. Default `plan`.',
      }),
    ),
    confirm: Type.Optional(Type.String({ maxLength: 256, description: "The project's name, for `everything`." })),
  },
  { title: 'NewPurgeJob' },
)
export type NewPurgeJob = Static<typeof NewPurgeJob>

const Kind = Type.Object({
  kind: Type.String(),
  matched: orNull(Type.Integer({ description: 'Null until it was counted.' })),
  erased: Type.Integer(),
  remaining: orNull(Type.Integer()),
})

export const PurgeJob = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `prg_`.' }),
    object: Type.Literal('purge_job'),
    project_id: Type.String(),
    status: Type.Enum([...STATUSES]),
    filter: PurgeFilter,
    as_of: time(),
    kinds: Type.Array(Kind),
    error: orNull(Type.String({ description: 'Why it failed.' })),
    created_at: time(),
    finished_at: orNull(time()),
  } satisfies Record<string, TSchema>,
  { title: 'PurgeJob' },
)
export type PurgeJob = Static<typeof PurgeJob>

/** Where a job is: it counts, erases kind by kind, then counts again. */
export interface Progress {
  phase: 'count' | 'erase' | 'check'
  /** Which of its kinds is being erased, and where the next batch begins. */
  at: number
  cursor: string | null
  /** How often it went through all kinds. */
  passes: number
  /** Failures in a row. */
  failures: number
  matched: Record<string, number>
  erased: Record<string, number>
  /** Something was erased that is not among these. */
  more?: boolean
}

export interface StoredPurge {
  job: PurgeJob
  kinds: readonly string[]
  key_id: string | null
  is_listed: boolean
  from_ms: number
  until_ms: number
  as_of_ms: number
  progress: Progress
}

const FIRST: Progress = { phase: 'count', at: 0, cursor: null, passes: 0, failures: 0, matched: {}, erased: {} }
const CHECKED_MAX = 5
export const FAILURES_MAX = 20

interface Asked {
  project_id: string
  project_name: string
  known_kinds: readonly string[]
}

/** A job as it begins. What cannot be meant is refused, with the field that is wrong. */
export function newPurgeJob(asked: NewPurgeJob, { project_id, project_name, known_kinds }: Asked, now: number) {
  const filter = checked(asked.filter)
  if (filter.everything && asked.confirm !== project_name)
    throw wrong('confirm', "be the project's name, exactly, where 'everything' is to be erased")
  const from_ms = filter.from === undefined ? 0 : instant('filter.from', filter.from)
  const to_ms = filter.to === undefined ? now : instant('filter.to', filter.to)
  if (filter.to !== undefined && from_ms >= to_ms) throw wrong('filter.from', "be before 'filter.to'")
  const kinds = kindsOf(asked.kinds, known_kinds)
  const named = namedIn(filter)
  const job: PurgeJob = {
    id: newId('prg'),
    object: 'purge_job',
    project_id,
    status: asked.mode === 'erase' ? 'queued' : 'planned',
    filter,
    as_of: rfc3339(now),
    kinds: kindsWith(kinds, FIRST),
    error: null,
    created_at: rfc3339(now),
    finished_at: null,
  }
  const range = { from_ms, until_ms: Math.min(to_ms, now), as_of_ms: now }
  const stored: StoredPurge = {
    ...{ job, kinds, ...range, key_id: filter.key_id ?? null, is_listed: named.length > 0, progress: FIRST },
  }
  return { stored, named }
}

function checked(filter: PurgeFilter): PurgeFilter {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== false)
  if (given.length === 0)
    throw wrong('filter', "name ids, a key or a time range, or have 'everything': true; an empty one matches nothing")
  if (filter.everything && given.length > 1) throw wrong('filter.everything', 'stand alone')
  for (const list of Object.keys(LISTS) as List[]) {
    if (filter[list]?.length === 0) throw wrong(`filter.${list}`, 'have at least one id, or be left out')
    for (const id of filter[list] ?? []) storable(`filter.${list}`, id)
  }
  if (filter.key_id !== undefined) storable('filter.key_id', filter.key_id)
  return filter
}

function kindsOf(asked: readonly string[] | undefined, known: readonly string[]): readonly string[] {
  if (asked === undefined) return known
  const unknown = asked.find((kind) => !known.includes(kind))
  if (unknown !== undefined || asked.length === 0) throw wrong('kinds', `be some of ${known.join(', ')}`)
  return known.filter((kind) => asked.includes(kind))
}

const namedIn = (filter: PurgeFilter): { kind: Named; id: string }[] =>
  (Object.keys(LISTS) as List[]).flatMap((list) =>
    [...new Set(filter[list] ?? [])].map((id) => ({ kind: LISTS[list], id })),
  )

/** As the API shows it. */
export const kindsWith = (kinds: readonly string[], { matched, erased }: Progress): PurgeJob['kinds'] =>
  kinds.map((kind) => {
    const [all, gone] = [matched[kind], erased[kind] ?? 0]
    return { kind, matched: all ?? null, erased: gone, remaining: all === undefined ? null : Math.max(0, all - gone) }
  })

type Kinds = Pick<StoredPurge, 'kinds' | 'is_listed'>

/** After a batch: the next of its kind, the next kind, or counting again. */
export function afterBatch(before: Progress, job: Kinds, batch: Batch): Progress {
  const kind = job.kinds[before.at] as string
  const erased = { ...before.erased, [kind]: (before.erased[kind] ?? 0) + batch.erased }
  const progress = { ...before, erased, failures: 0, ...(batch.more && { more: true }) }
  return batch.next === null ? erasingFrom(progress.at + 1, progress, job) : { ...progress, cursor: batch.next }
}

/**
 * From this kind on; behind the last, it counts again. A job that names things passes over kinds of which nothing
 * matched: to erase nothing, it would walk through all that the project has. What came late is found by counting again.
 */
export function erasingFrom(first: number, progress: Progress, { kinds, is_listed }: Kinds): Progress {
  const at = kinds.findIndex((kind, n) => n >= first && !(is_listed && progress.matched[kind] === 0))
  if (at >= 0) return { ...progress, phase: 'erase', at, cursor: null }
  return { ...progress, phase: 'check', at: 0, cursor: null, passes: progress.passes + 1 }
}

interface Batch {
  erased: number
  next: string | null
  more?: boolean | undefined
}

export type Verdict = { kind: 'done' } | { kind: 'again'; progress: Progress } | { kind: 'failed'; error: string }

/** After counting again. What came late is erased by another pass; what does not end is told. */
export function afterCheck({ progress, ...job }: Checked, left: Readonly<Record<string, number>>): Verdict {
  const still = Object.entries(left).filter(([, count]) => count > 0)
  if (still.length === 0) return { kind: 'done' }
  const matched = { ...progress.matched }
  for (const [kind, count] of still) matched[kind] = Math.max(matched[kind] ?? 0, (progress.erased[kind] ?? 0) + count)
  if (progress.passes >= CHECKED_MAX)
    return { kind: 'failed', error: `After ${progress.passes} passes there is still: ${list(still)}.` }
  return { kind: 'again', progress: erasingFrom(0, { ...progress, matched }, job) }
}

type Checked = Kinds & Pick<StoredPurge, 'progress'>

const list = (left: readonly (readonly [string, number])[]) =>
  left.map(([kind, count]) => `${count} ${kind}`).join(', ')

const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
