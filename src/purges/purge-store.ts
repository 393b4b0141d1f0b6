// Purge jobs at rest. A job, what it names and what it has erased change in the transactions of its batches: after a
// crash, the next batch begins where the last one that committed ended.
import { createHash } from 'node:crypto'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { nextTurn } from '../core/turns.ts'
import { purgeFinished } from '../notifications/happening.ts'
import { BATCH_ROWS, inBatches, LARGE_BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { aside, beginning, type Db, fixed, joined, type Sql, sql, together } from '../storage/db.ts'
import type { PurgeScope } from '../storage/erasing.ts'
import { tell } from '../storage/telling.ts'
import { kindsWith, type Named, type Progress, type PurgeJob, type Status, type StoredPurge } from './purge-job.ts'
import type { PurgeReceipt } from './purge-receipt.ts'

interface Row {
  id: string
  project_id: string
  status: Status
  filter: string
  kinds: string
  key_id: string | null
  is_listed: number
  from_ms: number
  until_ms: number
  as_of_ms: number
  progress: string
  error: string | null
  created_at: string
  finished_at: string | null
  sequence: number
}

const jobs = beginning(`
  SELECT id, project_id, status, filter, kinds, key_id, is_listed, from_ms, until_ms, as_of_ms, progress, error,
         created_at, finished_at, sequence
  FROM purge_job`)
const DIGESTED_AT_ONCE = 500 // others have a turn behind them
const FORGOTTEN_AT_ONCE = 5_000

export function purgeStore(db: Db) {
  const read = async (statement: Sql) => (await db.rows<Row>(statement)).map(fromRow)

  return {
    /** False where another job of the project is under way. */
    async insert({ job, kinds, ...stored }: StoredPurge, now: number): Promise<boolean> {
      const { id, project_id, status, filter, created_at } = job
      const made = await db.rows(sql`
        INSERT INTO purge_job (id, project_id, status, filter, kinds, key_id, is_listed, from_ms, until_ms, as_of_ms,
                               phase, progress, created_at, sequence)
        VALUES (${id}, ${project_id}, ${status}, ${JSON.stringify(filter)}, ${JSON.stringify(kinds)}, ${stored.key_id},
                ${stored.is_listed ? 1 : 0}, ${stored.from_ms}, ${stored.until_ms}, ${stored.as_of_ms},
                ${stored.progress.phase}, ${JSON.stringify(stored.progress)}, ${created_at}, ${nextSequence(now)})
        ON CONFLICT DO NOTHING RETURNING id`)
      return made.length === 1
    },

    async name(project_id: string, job_id: string, named: readonly { kind: Named; id: string }[]): Promise<void> {
      await together(
        named.map(({ kind, id }) =>
          db.rows(sql`
            INSERT INTO purge_target (job_id, project_id, kind, id) VALUES (${job_id}, ${project_id}, ${kind}, ${id})
            ON CONFLICT (job_id, kind, id) DO NOTHING`),
        ),
      )
    },

    async projectName(project_id: string): Promise<string> {
      const [row] = await db.rows<{ name: string }>(sql`SELECT name FROM project WHERE id = ${project_id}`)
      return row?.name ?? ''
    },

    async find(project_id: string, id: string): Promise<PurgeJob | undefined> {
      const [found] = await read(jobs` WHERE project_id = ${project_id} AND id = ${id}`)
      return found?.job
    },

    /** Newest first. */
    list: (project_id: string) =>
      mapped(
        newestFirst(
          ({ sequence, id }) =>
            db.rows<Row & Place>(
              aside(jobs`
                WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
                ORDER BY sequence DESC, id DESC LIMIT ${LARGE_BATCH_ROWS}`),
            ),
          LARGE_BATCH_ROWS,
        ),
        (row) => fromRow(row).job,
      ),

    async underWay(project_id: string): Promise<string | undefined> {
      const [row] = await db.rows<{ id: string }>(sql`
        SELECT id FROM purge_job WHERE project_id = ${project_id} AND status IN ('queued', 'running')`)
      return row?.id
    },

    async receipt(project_id: string, id: string): Promise<PurgeReceipt | undefined> {
      const [row] = await db.rows<{ receipt: string | null }>(sql`
        SELECT receipt FROM purge_job WHERE project_id = ${project_id} AND id = ${id}`)
      return row?.receipt ? (JSON.parse(row.receipt) as PurgeReceipt) : undefined
    },

    /** From one of these statuses; undefined where it has another by now. */
    async turn(project_id: string, id: string, { from, to, now }: Turn): Promise<PurgeJob | undefined> {
      const ends = to === 'queued' ? null : rfc3339(now)
      const turned = await db.rows(
        joined(
          sql`UPDATE purge_job SET status = ${to}, finished_at = ${ends} WHERE project_id = ${project_id}
            AND id = ${id} AND status IN (`,
          ...from.flatMap((status, at) => (at === 0 ? [sql`${status}`] : [sql`, ${status}`])),
          sql`) RETURNING id`,
        ),
      )
      return turned.length === 1 ? this.find(project_id, id) : undefined
    },

    /**
     * What waits to be counted or erased, the oldest first. R78: one job of each project, and the others behind it:
     * what erases goes before plans, of which a project may have many.
     */
    waiting: (): AsyncGenerator<StoredPurge[]> =>
      mapped(
        inBatches<Place, Row & Place>({ sequence: -1, id: '' }, ({ sequence, id }) =>
          db.rows<Row & Place>(
            aside(jobs`
              WHERE (status IN ('queued', 'running') OR (status = 'planned' AND phase = 'count'))
                AND (sequence, id) > (${sequence}, ${id})
                AND NOT EXISTS (
                  SELECT 1 FROM purge_job other
                  WHERE other.project_id = purge_job.project_id
                    AND (other.status IN ('queued', 'running') OR (other.status = 'planned' AND other.phase = 'count'))
                    AND (CASE other.status WHEN 'planned' THEN 1 ELSE 0 END, other.sequence, other.id)
                      < (CASE purge_job.status WHEN 'planned' THEN 1 ELSE 0 END, purge_job.sequence, purge_job.id))
              ORDER BY sequence, id LIMIT ${BATCH_ROWS}`),
          ),
        ),
        fromRow,
      ),

    /** Asked every second: at once, since a thread would be kept for it. */
    async isAnyWaiting(): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT id FROM purge_job
        WHERE status IN ('queued', 'running') OR (status = 'planned' AND phase = 'count') LIMIT 1`)
      return found.length > 0
    },

    /**
     * Asked anew in the transaction of each step: undefined where it was cancelled or has ended. Its row is taken:
     * whoever cancels it or carries it out meanwhile waits for the step to end, and is not overwritten.
     */
    async alive(project_id: string, id: string): Promise<StoredPurge | undefined> {
      const taken = await db.rows(sql`
        UPDATE purge_job SET status = status
        WHERE project_id = ${project_id} AND id = ${id} AND status IN ('planned', 'queued', 'running') RETURNING id`)
      if (taken.length === 0) return undefined
      const [found] = await read(jobs`
        WHERE project_id = ${project_id} AND id = ${id}`)
      return found
    },

    async advance(project_id: string, id: string, progress: Progress, status: Status): Promise<void> {
      await db.rows(sql`
        UPDATE purge_job SET phase = ${progress.phase}, progress = ${JSON.stringify(progress)}, status = ${status}
        WHERE project_id = ${project_id} AND id = ${id}`)
    },

    async noteErased(project_id: string, job_id: string, kind: string, ids: readonly string[]): Promise<void> {
      await together(
        ids.map((id) =>
          db.rows(sql`
            INSERT INTO purge_erased (job_id, project_id, kind, id_hex)
            VALUES (${job_id}, ${project_id}, ${kind}, ${Buffer.from(id).toString('hex')})
            ON CONFLICT (job_id, kind, id_hex) DO NOTHING`),
        ),
      )
    },

    /** Over all that was erased, and how much of each kind that is. */
    async erasedBy(project_id: string, job_id: string, kinds: readonly string[]) {
      const digest = createHash('sha256')
      const counts: Record<string, number> = {}
      for (const kind of [...kinds].sort()) {
        let after = ''
        for (let read = DIGESTED_AT_ONCE; read === DIGESTED_AT_ONCE; ) {
          const rows = await db.rows<{ id_hex: string }>(sql`
            SELECT id_hex FROM purge_erased
            WHERE project_id = ${project_id} AND job_id = ${job_id} AND kind = ${kind} AND id_hex > ${after}
            ORDER BY id_hex LIMIT ${DIGESTED_AT_ONCE}`)
          for (const { id_hex } of rows) digest.update(`${kind} ${Buffer.from(id_hex, 'hex')}\n`)
          counts[kind] = (counts[kind] ?? 0) + rows.length
          after = rows.at(-1)?.id_hex ?? after
          read = rows.length
          await nextTurn()
        }
      }
      return { digest: digest.digest('hex'), counts }
    },

    /** In the transaction of the last step. */
    async finish(project_id: string, id: string, { status, error, receipt, now }: Ending): Promise<void> {
      await db.rows(sql`
        UPDATE purge_job
        SET status = ${status}, error = ${error ?? null}, receipt = ${receipt ? JSON.stringify(receipt) : null},
            finished_at = ${rfc3339(now)}
        WHERE project_id = ${project_id} AND id = ${id}`)
      await tell(db, purgeFinished(project_id, { id, status, error: error ?? null }), now)
    },

    /** Of all projects: what ended jobs named and erased, and plans that nobody carried out. True for more. */
    async forget(planned_before: string): Promise<boolean> {
      const ended = fixed(`SELECT id FROM purge_job WHERE status IN ('succeeded', 'failed', 'cancelled')`)
      const named = await db.rows(
        joined(
          sql`DELETE FROM purge_target WHERE (job_id, kind, id) IN (
            SELECT job_id, kind, id FROM purge_target WHERE job_id IN (`,
          ended,
          sql`) LIMIT ${FORGOTTEN_AT_ONCE}) RETURNING job_id`,
        ),
      )
      const erased = await db.rows(
        joined(
          sql`DELETE FROM purge_erased WHERE (job_id, kind, id_hex) IN (
            SELECT job_id, kind, id_hex FROM purge_erased WHERE job_id IN (`,
          ended,
          sql`) LIMIT ${FORGOTTEN_AT_ONCE}) RETURNING job_id`,
        ),
      )
      await db.rows(sql`
        UPDATE purge_job SET status = 'cancelled', finished_at = ${planned_before}
        WHERE status = 'planned' AND created_at < ${planned_before}`)
      await db.rows(sql`
        DELETE FROM purge_job WHERE status = 'cancelled' AND finished_at <= ${planned_before}
          AND NOT EXISTS (SELECT 1 FROM purge_target WHERE purge_target.job_id = purge_job.id)`)
      return named.length + erased.length >= FORGOTTEN_AT_ONCE
    },
  }
}

interface Turn {
  from: readonly Status[]
  to: 'queued' | 'cancelled'
  now: number
}

interface Ending {
  status: 'succeeded' | 'failed'
  error?: string
  receipt?: PurgeReceipt
  now: number
}

function fromRow(row: Row): StoredPurge {
  const { id, project_id, status, error, created_at, finished_at, key_id, from_ms, until_ms, as_of_ms } = row
  const progress = JSON.parse(row.progress) as Progress
  const kinds = JSON.parse(row.kinds) as string[]
  const job: PurgeJob = {
    id,
    object: 'purge_job',
    project_id,
    status,
    filter: JSON.parse(row.filter),
    as_of: rfc3339(as_of_ms),
    kinds: kindsWith(kinds, progress),
    error,
    created_at,
    finished_at,
  }
  return { job, kinds, key_id, is_listed: row.is_listed === 1, from_ms, until_ms, as_of_ms, progress }
}

/** What its erasers are asked. */
export const scopeOf = ({ job, key_id, is_listed, from_ms, until_ms, as_of_ms }: StoredPurge): PurgeScope => ({
  job_id: job.id,
  project_id: job.project_id,
  from_ms,
  until_ms,
  as_of_ms,
  key_id,
  is_listed,
})

const COUNTS_FOR_MS = 30 * DAY_MS

/** R70: how many of a project count. One that has ended stays on record, with its receipt, and counts for a while. */
export const purgeJobsPresent = (project_id: string, now: number) => sql`
  SELECT COUNT(*) AS present FROM purge_job
  WHERE project_id = ${project_id} AND (finished_at IS NULL OR finished_at > ${rfc3339(now - COUNTS_FOR_MS)})`
