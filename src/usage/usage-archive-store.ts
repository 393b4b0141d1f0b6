// Where events lie over the months, and when they go. On PostgreSQL a month is a partition, made before it begins and
// dropped whole; on SQLite there is one table, and what is too old leaves it in small steps. Roll-ups stay for ever;
// only the finest, which stand in for events at the two ends of a range, go when these do.
import { DAY_MS } from '../core/clock.ts'
import { fixed, joined, type OpenDb, type Sql, sql, type Tx } from '../storage/db.ts'
import { type Month, monthNamed, monthOf } from './usage-month.ts'
import { FINEST_CUBES } from './usage-rollup.ts'
import { tagsBefore } from './usage-tag-store.ts'

const MONTHS_AHEAD = 2
const DELETED_AT_ONCE = 500
const LOCK_NOT_AVAILABLE = '55P03'

export function usageArchive(db: OpenDb) {
  const partitioned = db.engine === 'postgres'

  return {
    /** Makes the partitions of this month and the next ones, where they are missing. Returns their names. */
    async makeMonths(now: number): Promise<string[]> {
      if (!partitioned) return []
      const months = Array.from({ length: MONTHS_AHEAD + 1 }, (_, later) => monthOf(now, later))
      const there = new Set((await partitions(db)).map(({ name }) => name))
      const made: string[] = []
      for (const month of months.filter(({ name }) => !there.has(name)))
        if (await unlessBusy(() => db.transaction((tx) => makeMonth(tx, month)))) made.push(month.name)
      return made
    },

    /** Lets go of events that are older than so many days, if they are in the roll-ups. True while more may be left. */
    async expire(retention_days: number, now: number): Promise<boolean> {
      const before_ms = now - retention_days * DAY_MS
      if (partitioned) for (const month of await partitions(db)) await unlessBusy(() => dropMonth(db, month, before_ms))
      const table = partitioned ? 'usage_event_rest' : 'usage_event'
      return deleteSome(db, (project_id) => [
        oldestEvents(table, project_id, before_ms),
        finestRollups(project_id, before_ms),
        setAsideLongAgo(project_id, before_ms),
        tagsBefore(project_id, before_ms, DELETED_AT_ONCE),
      ])
    },
  }
}

/** Tables that others are using are left for another time. */
async function unlessBusy<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return undefined
    throw error
  }
}

async function partitions(db: OpenDb | Tx): Promise<Month[]> {
  const rows = await db.rows<{ name: string }>(sql`
    SELECT child.relname AS name FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass('usage_event')`)
  return rows.flatMap(({ name }) => monthNamed(name) ?? [])
}

// Tables are locked for a moment. Whoever uses one for long makes us give up, and not everybody else wait behind us.
const PATIENCE = "SET LOCAL lock_timeout = '200ms'"

/** As migration 0010 has them for what is in no month. */
const INDEXES = [
  ['by_time', '(project_id, created_ms, sequence)'],
  ['by_key', '(key_id, created_ms, sequence)'],
  ['by_session', '(project_id, session_id, created_ms, sequence) WHERE session_id IS NOT NULL'],
  ['by_bundle', '(project_id, bundle_id, created_ms, sequence) WHERE bundle_id IS NOT NULL'],
  ['by_failure', "(project_id, created_ms) WHERE status <> 'completed'"],
] as const

/**
 * What was written before its month was made lies in `rest`, and moves over. Statements that define tables take no
 * bound values; names and bounds are made of digits and letters here.
 */
async function makeMonth(tx: Tx, { name, first, end }: Month): Promise<boolean> {
  if (!(await tx.tryLock('switchyard usage months'))) return false
  if ((await partitions(tx)).some((month) => month.name === name)) return false
  await tx.rows(fixed(PATIENCE))
  await tx.rows(fixed(`CREATE TABLE ${name} (LIKE usage_event, PRIMARY KEY (trace_id))`))
  for (const [index, columns] of INDEXES) await tx.rows(fixed(`CREATE INDEX ${name}_${index} ON ${name} ${columns}`))
  await tx.rows(
    fixed(`WITH moved AS (
      DELETE FROM usage_event_rest WHERE trace_id >= '${first}' AND trace_id < '${end}' RETURNING *)
    INSERT INTO ${name} SELECT * FROM moved`),
  )
  await tx.rows(fixed(`ALTER TABLE usage_event ATTACH PARTITION ${name} FOR VALUES FROM ('${first}') TO ('${end}')`))
  return true
}

/** A month goes when nothing in it is young enough to be kept, or still to be rolled up. */
async function dropMonth(db: OpenDb, { name, end_ms, first, end }: Month, before_ms: number): Promise<void> {
  if (end_ms > before_ms) return
  await db.transaction(async (tx) => {
    await tx.rows(fixed(PATIENCE))
    await tx.rows(fixed(`LOCK TABLE ${name} IN SHARE MODE`)) // nobody adds to it between the look and the drop
    // The latest of each project, by its index: a month of millions could take longer to read than a statement may.
    const kept = await tx.rows(
      fixed(`SELECT 1 AS kept WHERE EXISTS (
          SELECT 1 FROM project p
          WHERE (SELECT MAX(e.created_ms) FROM ${name} e WHERE e.project_id = p.id) >= ${before_ms})
        OR EXISTS (SELECT 1 FROM usage_unrolled WHERE trace_id >= '${first}' AND trace_id < '${end}')`),
    )
    if (kept.length === 0) await tx.rows(fixed(`DROP TABLE ${name}`))
  })
}

/** The oldest events of a project that may go. */
const oldestEvents = (table: 'usage_event' | 'usage_event_rest', project_id: string, before_ms: number): Sql =>
  joined(
    fixed(`DELETE FROM ${table} WHERE trace_id IN (SELECT e.trace_id FROM ${table} e`),
    sql` WHERE e.project_id = ${project_id} AND e.created_ms < ${before_ms}
        AND NOT EXISTS (SELECT 1 FROM usage_unrolled u WHERE u.trace_id = e.trace_id)
      ORDER BY e.created_ms LIMIT ${DELETED_AT_ONCE})
    RETURNING trace_id`,
  )

/** R78: what cannot be added up goes when its time has come, like any other event. */
const setAsideLongAgo = (project_id: string, before_ms: number): Sql => sql`
  DELETE FROM usage_quarantine WHERE trace_id IN (
    SELECT trace_id FROM usage_quarantine WHERE project_id = ${project_id} AND created_ms < ${before_ms}
    LIMIT ${DELETED_AT_ONCE})
  RETURNING trace_id`

/** A project's finest roll-ups that may go: of whole days, since one that began before may have younger events. */
const finestRollups = (project_id: string, before_ms: number): Sql =>
  joined(
    sql`DELETE FROM usage_rollup
      WHERE (project_id, cube, start_ms, key_id, model, provider, profile, cluster_id) IN (
        SELECT project_id, cube, start_ms, key_id, model, provider, profile, cluster_id FROM usage_rollup
        WHERE project_id = ${project_id} AND start_ms < ${before_ms - (before_ms % DAY_MS)} AND cube IN (`,
    ...FINEST_CUBES.map((cube, at) => (at === 0 ? sql`${cube}` : sql`, ${cube}`)),
    sql`) LIMIT ${DELETED_AT_ONCE})
      RETURNING cube`,
  )

/** One step of each kind for each project. True while more may be left. */
async function deleteSome(db: OpenDb, stepsFor: (project_id: string) => readonly Sql[]): Promise<boolean> {
  const projects = await db.rows<{ id: string }>(sql`SELECT id FROM project`)
  let more = false
  for (const { id } of projects)
    for (const step of stepsFor(id)) {
      const gone = await db.rows(step)
      more ||= gone.length === DELETED_AT_ONCE
    }
  return more
}
