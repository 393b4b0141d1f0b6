// Replay runs at rest. What a run has spent stands on the row of its key, as that of every key does.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { LARGE_BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { aside, beginning, type Db, joined, type Sql, sql } from '../storage/db.ts'
import type { ItemStatus } from './replay-item.ts'
import type { ItemCounts, ReplayRun, RunStatus, StoredRun } from './replay-run.ts'

interface Row extends Omit<StoredRun, 'source' | 'target' | 'overrides' | 'control' | 'release'> {
  source: string
  target: string
  overrides: string | null
  control: number
  release: string | null
}

interface ShownRow extends Row {
  low_micros: number
  high_micros: number
  cached_tokens: number
  spent_micros: number | null
  budget_micros: number | null
  held_micros: number | null
  returned_at: number | null
}

const COLUMNS = `
  r.id, r.project_id, r.status, r.source, r.target, r.overrides, r.control, r.release, r.matched, r.key_id,
  r.max_cost_micros, r.concurrency, r.error, r.created_at, r.executed_at, r.finished_at, r.expires_ms`
const stored = beginning(`SELECT ${COLUMNS} FROM replay_run r`)
const shownOf = beginning(`
  SELECT ${COLUMNS}, r.sequence, r.low_micros, r.high_micros, r.cached_tokens,
         k.spent_micros, k.budget_micros, k.held_micros, k.returned_at
  FROM replay_run r LEFT JOIN api_key k ON k.id = r.key_id`)
const FORGOTTEN_AT_ONCE = 100
const FORGOTTEN_ROWS = 500 // in one transaction,
const FORGOTTEN_BYTES = 8 * 2 ** 20 // and that, with one output of any size on top

export function replayStore(db: Db) {
  const read = async (statement: Sql) => (await db.rows<Row>(statement)).map(fromRow)

  async function shown(rows: readonly ShownRow[]): Promise<ReplayRun[]> {
    const runs: ReplayRun[] = []
    for (const row of rows) runs.push(asShown(row, await countsOf(db, row.project_id, row.id)))
    return runs
  }

  return {
    async insert(run: StoredRun, planned: ReplayRun['plan'], now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO replay_run (id, project_id, status, source, target, overrides, control, release, matched,
                                low_micros, high_micros, cached_tokens, created_at, expires_ms, sequence)
        VALUES (${run.id}, ${run.project_id}, ${run.status}, ${JSON.stringify(run.source)},
                ${JSON.stringify(run.target)}, ${run.overrides && JSON.stringify(run.overrides)},
                ${run.control ? 1 : 0}, ${run.release && JSON.stringify(run.release)}, ${run.matched},
                ${planned.low_micros}, ${planned.high_micros}, ${planned.expected_cached_tokens},
                ${run.created_at}, ${run.expires_ms}, ${nextSequence(now)})`)
    },

    async find(project_id: string, id: string): Promise<StoredRun | undefined> {
      const [run] = await read(stored` WHERE r.project_id = ${project_id} AND r.id = ${id}`)
      return run
    },

    /** As the API shows it. */
    async show(project_id: string, id: string): Promise<ReplayRun | undefined> {
      const rows = await db.rows<ShownRow>(shownOf` WHERE r.project_id = ${project_id} AND r.id = ${id}`)
      const [run] = await shown(rows)
      return run
    },

    /** Newest first. */
    async *list(project_id: string): AsyncGenerator<ReplayRun[]> {
      const batches = newestFirst(
        ({ sequence, id }) =>
          db.rows<ShownRow & Place>(
            aside(shownOf`
              WHERE r.project_id = ${project_id} AND (r.sequence, r.id) < (${sequence}, ${id})
              ORDER BY r.sequence DESC, r.id DESC LIMIT ${LARGE_BATCH_ROWS}`),
          ),
        LARGE_BATCH_ROWS,
      )
      for await (const rows of mapped(batches, (row) => row)) yield await shown(rows)
    },

    async underWay(project_id: string): Promise<string | undefined> {
      const [row] = await db.rows<{ id: string }>(sql`
        SELECT id FROM replay_run WHERE project_id = ${project_id} AND status IN ('queued', 'running', 'paused')`)
      return row?.id
    },

    /** From one of these statuses; false where it has another by now. */
    async turn(project_id: string, id: string, { from, to, now, error = null }: Turn): Promise<boolean> {
      const ends = ENDED.includes(to) ? rfc3339(now) : null
      const turned = await db.rows(
        joined(
          sql`UPDATE replay_run SET status = ${to}, finished_at = ${ends}, error = ${error}
            WHERE project_id = ${project_id} AND id = ${id} AND status IN (`,
          ...from.flatMap((status, at) => (at === 0 ? [sql`${status}`] : [sql`, ${status}`])),
          sql`) RETURNING id`,
        ),
      )
      return turned.length === 1
    },

    /** In a transaction. */
    async noteExecuted(project_id: string, id: string, begun: Begun): Promise<void> {
      await db.rows(sql`
        UPDATE replay_run SET key_id = ${begun.key_id}, max_cost_micros = ${begun.max_cost_micros},
                              concurrency = ${begun.concurrency}, executed_at = ${rfc3339(begun.now)}
        WHERE project_id = ${project_id} AND id = ${id}`)
      await db.rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${begun.key_id}, ${project_id})`)
    },

    /** Of all projects: the runs whose calls are to be made. */
    atWork: (): Promise<StoredRun[]> =>
      read(aside(stored` WHERE r.status IN ('queued', 'running') ORDER BY r.sequence`)),

    /** Asked every second: at once, since a thread would be kept for it. */
    async isAnyAtWork(): Promise<boolean> {
      const found = await db.rows(sql`SELECT id FROM replay_run WHERE status IN ('queued', 'running') LIMIT 1`)
      return found.length > 0
    },

    /** Of all projects: those that were paused for so long that their money went back. */
    pausedTooLong: (): Promise<StoredRun[]> =>
      read(
        aside(stored`
          JOIN api_key k ON k.id = r.key_id WHERE r.status = 'paused' AND k.returned_at IS NOT NULL`),
      ),

    /** Of all projects: what is over and old. */
    old: (now: number): Promise<StoredRun[]> =>
      read(
        aside(stored`
          WHERE r.expires_ms <= ${now} AND r.status NOT IN ('queued', 'running', 'paused') LIMIT ${FORGOTTEN_AT_ONCE}`),
      ),

    /**
     * Some of what belongs to it: an embedded store overwrites what it deletes. Whether there may be more, and how many
     * bytes of outputs went.
     */
    async forgetSome(project_id: string, id: string): Promise<{ more: boolean; bytes: number }> {
      const outputs = await db.rows<{ bytes: number }>(sql`
        DELETE FROM replay_output
        WHERE project_id = ${project_id} AND run_id = ${id} AND id IN (
          SELECT id FROM (
            SELECT id, SUM(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM (
              SELECT id, LENGTH(sealed) AS bytes FROM replay_output
              WHERE project_id = ${project_id} AND run_id = ${id} ORDER BY id LIMIT ${FORGOTTEN_ROWS}) AS next_ones
          ) AS summed WHERE bytes_before < ${FORGOTTEN_BYTES})
        RETURNING bytes`)
      if (outputs.length > 0) return { more: true, bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0) }
      const items = await db.rows(sql`
        DELETE FROM replay_item
        WHERE run_id = ${id} AND project_id = ${project_id} AND position IN (
          SELECT position FROM replay_item
          WHERE run_id = ${id} AND project_id = ${project_id} ORDER BY position LIMIT ${FORGOTTEN_ROWS})
        RETURNING position`)
      return { more: items.length === FORGOTTEN_ROWS, bytes: 0 }
    },

    /** Itself, once nothing belongs to it any more. */
    async forget(project_id: string, id: string): Promise<void> {
      await db.rows(sql`DELETE FROM replay_run WHERE project_id = ${project_id} AND id = ${id}`)
    },
  }
}

const ENDED: readonly RunStatus[] = ['completed', 'failed', 'cancelled']

interface Turn {
  from: readonly RunStatus[]
  to: RunStatus
  now: number
  error?: string | null
}

interface Begun {
  key_id: string
  max_cost_micros: number
  concurrency: number
  now: number
}

async function countsOf(db: Db, project_id: string, run_id: string): Promise<ItemCounts> {
  const rows = await db.rows<{ status: ItemStatus; items: number }>(sql`
    SELECT status, COUNT(*) AS items FROM replay_item
    WHERE project_id = ${project_id} AND run_id = ${run_id} GROUP BY status`)
  const counts: ItemCounts = { total: 0, pending: 0, running: 0, done: 0, skipped: 0, failed: 0 }
  for (const { status, items } of rows) {
    counts[status] = Number(items)
    counts.total += Number(items)
  }
  return counts
}

const fromRow = (row: Row): StoredRun => ({
  ...row,
  source: JSON.parse(row.source),
  target: JSON.parse(row.target),
  overrides: row.overrides === null ? null : JSON.parse(row.overrides),
  control: row.control === 1,
  release: row.release === null ? null : JSON.parse(row.release),
})

function asShown(row: ShownRow, items: ItemCounts): ReplayRun {
  const { id, project_id, status, key_id, max_cost_micros, concurrency, error, matched } = fromRow(row)
  const { source, target, overrides, control } = fromRow(row)
  const { low_micros, high_micros, cached_tokens: expected_cached_tokens } = row
  const spent = row.spent_micros ?? 0
  const returned = row.returned_at === null ? null : (row.budget_micros ?? 0) - spent - (row.held_micros ?? 0)
  return {
    ...{ id, object: 'replay_run', project_id, status, source, target, overrides, control, matched },
    items,
    plan: { low_micros, high_micros, expected_cached_tokens },
    ...{ key_id, max_cost_micros, spent_micros: spent, returned_micros: returned, concurrency, error },
    ...{ created_at: row.created_at, executed_at: row.executed_at, finished_at: row.finished_at },
    expires_at: rfc3339(row.expires_ms),
  }
}
