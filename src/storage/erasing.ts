// What a purge job asks of each room that keeps contents: to count what matches, to erase it a batch at a time, and to
// count again. Each room has its own; the purge room is handed the list, and knows no table of theirs.
import { rfc3339 } from '../core/clock.ts'
import { withinBytes } from './batches.ts'
import { type Db, fixed, joined, type Sql, sql } from './db.ts'

/** What one job is about. All of it is decided when the job is made. */
export interface PurgeScope {
  job_id: string
  project_id: string
  /** Only what was made from here on, */
  from_ms: number
  /** and before this: the end of the range that was asked for, or when the job was made. */
  until_ms: number
  as_of_ms: number
  /** Only what was made with this key or a child of it. */
  key_id: string | null
  /** It names things: only those match, and what belongs to them. */
  is_listed: boolean
}

export interface ErasedBatch {
  ids: readonly string[]
  /** Where the next batch goes on; null where there is none. */
  next: string | null
  /** Something went with it that receipts do not count. */
  more?: boolean
}

export interface Eraser {
  /** As filters and receipts call it. */
  readonly kind: string
  /** Only the memory of servers has it: there is no file to be written anew. */
  readonly is_in_memory?: true
  /** How much matches and is still there. */
  count(db: Db, scope: PurgeScope): Promise<number>
  /** At most so many, in the transaction of the job's progress. `from` is the `next` of the batch before. */
  erase(tx: Db, scope: PurgeScope, from: string | null, most: number): Promise<ErasedBatch>
  /**
   * The traces of what the job names, and the responses of traces, found when it is made: whatever else knows the same
   * calls matches by them.
   */
  relate?(tx: Db, scope: PurgeScope): Promise<void>
  /** What lies outside the database, after its batch has committed. Called again until the count is 0. */
  eraseOutside?(scope: PurgeScope): Promise<void>
}

/** What a job can name. */
export const TARGETS = ['session', 'response', 'trace', 'artifact', 'bundle'] as const
export type Target = (typeof TARGETS)[number]

/** A table, and two columns that tell its rows apart and in which order they are walked. Words of the code's own. */
export interface Walked {
  table: string
  /** A number that grows. */
  order: string
  id: string
  /** How large a row is; a batch then has at most so many bytes: a transaction must not take long. */
  bytes?: string
  /** Given where an index has a project's rows in this order: then at most so many are looked at, however few match. */
  of_project?: string
  where: Sql
}

interface Step {
  first: number
  second: string
  bytes: number
}

const BATCH_BYTES = 8 * 2 ** 20
const WALKED_MAX = 2_000 // rows of a project in one transaction
const COUNTED_AT_ONCE = 20_000 // in one statement, which has a few seconds

/** The cursor of the first batch, for whoever has to come back to it. */
export const FIRST_BATCH = JSON.stringify({ first: -1, second: '' })

/** The ids of the next batch. What a cursor says is for this alone to read. */
export async function nextBatch(tx: Db, walked: Walked, from: string | null, most: number): Promise<ErasedBatch> {
  const { table, order, id, bytes = '0', where } = walked
  const { first, second } = from === null ? { first: -1, second: '' } : (JSON.parse(from) as Step)
  const until = await endOfWalk(tx, walked, first)
  const rows = await tx.rows<Step>(
    joined(
      fixed(`SELECT ${order} AS first, ${id} AS second, COALESCE(${bytes}, 0) AS bytes FROM ${table}`),
      where,
      fixed(` AND (${order}, ${id}) > (`),
      sql`${first}, ${second})`,
      until === undefined ? fixed('') : joined(fixed(` AND ${order} <= `), sql`${until}`),
      fixed(` ORDER BY ${order}, ${id} LIMIT `),
      sql`${most}`,
    ),
  )
  const taken = withinBytes(rows, BATCH_BYTES)
  const last = taken.at(-1)
  const ids = taken.map((row) => row.second)
  if (last && (taken.length < rows.length || rows.length === most))
    return { ids, next: JSON.stringify({ first: last.first, second: last.second }) }
  return { ids, next: until === undefined ? null : JSON.stringify({ first: until + 1, second: '' }) }
}

/** How many match. Of a large project that takes longer than a statement may: it is counted as it is walked. */
export async function countWalked(db: Db, walked: Walked, at_once = COUNTED_AT_ONCE): Promise<number> {
  const { table, where } = walked
  let count = 0
  for await (const stretch of stretches(db, walked, at_once))
    count += await countOf(db, joined(fixed(`SELECT COUNT(*) AS matched FROM ${table}`), where, stretch))
  return count
}

/** All rows of a project, as conditions for so many of them each. */
export async function* stretches(db: Db, walked: Omit<Walked, 'where'>, at_once: number): AsyncGenerator<Sql> {
  for (let first: number | undefined = -1; first !== undefined; ) {
    const until: number | undefined = await endOfWalk(db, walked, first, at_once)
    const from = joined(fixed(` AND ${walked.order} > `), sql`${first}`)
    yield until === undefined ? from : joined(from, fixed(` AND ${walked.order} <= `), sql`${until}`)
    first = until
  }
}

/** How far one transaction or statement looks; undefined for up to the end. */
async function endOfWalk(
  tx: Db,
  { table, order, of_project }: Omit<Walked, 'where'>,
  first: number,
  most = WALKED_MAX,
): Promise<number | undefined> {
  if (of_project === undefined) return undefined
  const [end] = await tx.rows<{ last: number }>(
    joined(
      fixed(`SELECT ${order} AS last FROM ${table} WHERE project_id = `),
      sql`${of_project}`,
      fixed(` AND ${order} > `),
      sql`${first}`,
      fixed(` ORDER BY ${order} LIMIT 1 OFFSET `),
      sql`${most}`,
    ),
  )
  return end?.last
}

/** `column IN (…)`, of ids that a batch has. */
export const isOneOf = (column: string, ids: readonly string[]): Sql =>
  joined(
    fixed(`${column} IN (`),
    ...ids.flatMap((id, at) => (at === 0 ? [sql`${id}`] : [fixed(', '), sql`${id}`])),
    END,
  )

/** Conditions over one table, to stand behind others. Columns are the code's own words. */
export const matching = {
  /** `column` has a time as text. */
  madeAt: ({ from_ms, until_ms }: PurgeScope, column: string): Sql =>
    joined(
      fixed(` AND ${column} >= `),
      sql`${rfc3339(from_ms)}`,
      fixed(` AND ${column} < `),
      sql`${rfc3339(until_ms)}`,
    ),

  /** `column` has milliseconds. */
  madeAtMs: ({ from_ms, until_ms }: PurgeScope, column: string): Sql =>
    joined(fixed(` AND ${column} >= `), sql`${from_ms}`, fixed(` AND ${column} < `), sql`${until_ms}`),

  /** By one of these columns, which have keys. */
  madeBy: ({ key_id }: PurgeScope, ...columns: readonly string[]): Sql =>
    key_id === null ? fixed('') : joined(fixed(' AND ('), anyOf(columns.map((column) => equals(column, key_id))), END),

  /** By a column that has keys and says nothing of their parents: those are known as long as the child is listed. */
  madeWith: ({ key_id, project_id }: PurgeScope, column: string): Sql =>
    key_id === null
      ? fixed('')
      : joined(
          fixed(' AND ('),
          equals(column, key_id),
          fixed(` OR COALESCE(${column}, '') IN (SELECT child.id FROM api_key child WHERE child.project_id = `),
          sql`${project_id} AND child.parent_id = ${key_id}))`,
        ),

  /** By one of these columns, each of which has ids of its target. Everything, where the job names nothing. */
  named: (scope: PurgeScope, columns: Readonly<Partial<Record<Target, string>>>): Sql =>
    scope.is_listed
      ? joined(
          fixed(' AND ('),
          anyOf(Object.entries(columns).map(([kind, column]) => isTarget(scope, column, kind))),
          END,
        )
      : fixed(''),
}

const END = fixed(')')

/** Never unknown, so that it can stand behind a NOT: a column may be empty. */
const equals = (column: string, value: string) => joined(fixed(`COALESCE(${column}, '') = `), sql`${value}`)

const isTarget = ({ job_id }: PurgeScope, column: string, kind: string) =>
  joined(
    fixed(`${column} IN (SELECT purge_target.id FROM purge_target WHERE purge_target.job_id = `),
    sql`${job_id} AND purge_target.kind = ${kind})`,
  )

const anyOf = (conditions: readonly Sql[]) =>
  conditions.length === 0
    ? fixed('1 = 0')
    : joined(...conditions.flatMap((one, at) => (at === 0 ? [one] : [fixed(' OR '), one])))

/** The traces that a statement selects become targets of the job. */
export const addTraces = (scope: PurgeScope, tx: Db, traces: Sql) =>
  addTargets(scope, tx, { kind: 'trace', column: 'trace_id', from: traces })

/** So do the ids of responses. */
export const addResponses = (scope: PurgeScope, tx: Db, responses: Sql) =>
  addTargets(scope, tx, { kind: 'response', column: 'id', from: responses })

interface Related {
  kind: Target
  column: 'trace_id' | 'id'
  from: Sql
}

async function addTargets({ job_id, project_id }: PurgeScope, tx: Db, { kind, column, from }: Related): Promise<void> {
  await tx.rows(
    joined(
      sql`INSERT INTO purge_target (job_id, project_id, kind, id) SELECT ${job_id}, ${project_id}, `,
      fixed(`'${kind}', related.${column} FROM (`),
      from,
      fixed(`) AS related WHERE related.${column} IS NOT NULL ON CONFLICT (job_id, kind, id) DO NOTHING`),
    ),
  )
}

export async function countOf(db: Db, statement: Sql): Promise<number> {
  const [row] = await db.rows<{ matched: number }>(statement)
  return Number(row?.matched ?? 0)
}
