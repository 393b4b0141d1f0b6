// Background responses at rest: a row with a lease, which any replica runs, and its events. What it asks for is sealed,
// and gone when it has ended.
import { nextSequence } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import { DELETED_AT_ONCE_BYTES, DELETED_AT_ONCE_ROWS, withinBytes } from '../storage/batches.ts'
import { type Db, joined, sql } from '../storage/db.ts'
import { isOneOf } from '../storage/erasing.ts'
import { backgroundEvents, type Named } from './background-events-store.ts'
import { type BackgroundStatus, isOver, type Taken } from './background-response.ts'
import type { Json } from './response-request.ts'

/** What is to be asked, and how. */
export interface BackgroundWork {
  headers: Readonly<Record<string, string>>
  body: string
  /** Under which its runs are kept, so that it is charged once: nobody may guess it, or read its answer by it (R74). */
  run_key?: string
}

export interface BackgroundRow extends Maker {
  id: string
  project_id: string
  key_id: string
  status: BackgroundStatus
  attempts: number
  response: Json
  work: BackgroundWork | undefined
  /** R80: of the run that failed; what was made tells its own. */
  trace_id?: string | undefined
}

type Told = Pick<BackgroundRow, 'response' | 'work' | 'trace_id'>
type Row = Omit<BackgroundRow, keyof Told> & { sealed: Uint8Array }
type TakenRow = Record<'open' | 'running_bytes' | 'ended_bytes' | 'told_bytes', number | null>

export const LEASE_MS = 60_000
const OF_ONE_PROJECT = 4 // that run at a time, over all replicas
const EVENTS_KEPT_MS = 60 * 60_000
const ROWS_KEPT_MS = 24 * 60 * 60_000

/** What is told of one that came to nothing counts where it is more than a row is anyway. */
const UNCOUNTED_BYTES = 4 * 1024
const counted = ({ length }: Uint8Array) => (length > UNCOUNTED_BYTES ? length : 0)

export type BackgroundStore = ReturnType<typeof backgroundStore>

export function backgroundStore(db: Db, seals: Sealing) {
  const { seal, open } = seals
  const events = backgroundEvents(db, seals)
  const sealed = (project_id: string, id: string, told: Told) =>
    seal(Buffer.from(JSON.stringify(told)), project_id, `background_response ${id}`)
  const opened = ({ sealed: bytes, ...row }: Row): BackgroundRow => {
    const told: Told = JSON.parse(open(bytes, row.project_id, `background_response ${row.id}`).toString('utf8'))
    return { ...row, response: told.response, work: told.work, trace_id: told.trace_id }
  }

  /** Undefined where it is gone. */
  async function statusOf({ project_id, id }: Named): Promise<BackgroundStatus | undefined> {
    const [row] = await db.rows<Pick<Row, 'status'>>(sql`
      SELECT status FROM background_response WHERE project_id = ${project_id} AND id = ${id}`)
    return row?.status
  }

  /** Whoever runs it finds out. False where it had ended. */
  async function cancel({ project_id, id }: Named, response: Json, now: number): Promise<boolean> {
    const told = sealed(project_id, id, { response, work: undefined })
    const done = await db.rows(sql`
      UPDATE background_response
      SET status = 'cancelled', owner = NULL, finished_ms = ${now}, told_bytes = ${counted(told)},
          sealed = ${told}
      WHERE project_id = ${project_id} AND id = ${id} AND status IN ('queued', 'in_progress')
      RETURNING id`)
    return done.length === 1
  }

  return {
    async insert(row: Omit<BackgroundRow, 'status' | 'attempts'>, now: number): Promise<void> {
      const { id, project_id, key_id, made_by, made_under, response, work } = row
      await db.rows(sql`
        INSERT INTO background_response (id, project_id, key_id, made_by, made_under, status, owner, lease_until,
                                         attempts, created_ms, finished_ms, sequence, sealed)
        VALUES (${id}, ${project_id}, ${key_id}, ${made_by}, ${made_under}, 'queued', NULL, ${now}, 0, ${now}, NULL,
                ${nextSequence(now)}, ${sealed(project_id, id, { response, work })})`)
    },

    /** Out of indexes alone: it is read whenever one is promised, and there may be many that ended. */
    async takenBy(project_id: string, now: number): Promise<Taken> {
      const since = now - EVENTS_KEPT_MS
      const [row] = await db.rows<TakenRow>(sql`
        SELECT (SELECT COUNT(*) FROM background_response
                WHERE project_id = ${project_id} AND finished_ms IS NULL) AS open,
               (SELECT SUM(event_bytes) FROM background_response
                WHERE project_id = ${project_id} AND finished_ms IS NULL AND event_bytes > 0) AS running_bytes,
               (SELECT SUM(event_bytes) FROM background_response
                WHERE project_id = ${project_id} AND finished_ms > ${since} AND event_bytes > 0) AS ended_bytes,
               (SELECT SUM(told_bytes) FROM background_response
                WHERE project_id = ${project_id} AND finished_ms > ${since} AND told_bytes > 0) AS told_bytes`)
      const bytes = [row?.running_bytes, row?.ended_bytes, row?.told_bytes]
      return { open: Number(row?.open ?? 0), bytes: bytes.reduce<number>((sum, one) => sum + Number(one ?? 0), 0) }
    },

    statusOf,

    async find(project_id: string, id: string): Promise<BackgroundRow | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, key_id, made_by, made_under, status, attempts, sealed FROM background_response
        WHERE project_id = ${project_id} AND id = ${id}`)
      return row && opened(row)
    },

    /**
     * One that nobody runs, of the project that runs the fewest (R78), and of that the oldest; whoever gets it has it
     * alone until the lease ends.
     */
    async claim(owner: string, now: number): Promise<BackgroundRow | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE background_response
        SET status = 'in_progress', owner = ${owner}, lease_until = ${now + LEASE_MS}, attempts = attempts + 1
        WHERE lease_until <= ${now} AND status IN ('queued', 'in_progress') AND id = (
          SELECT w.id FROM background_response w
          LEFT JOIN (
            SELECT project_id, COUNT(*) AS running FROM background_response
            WHERE status IN ('queued', 'in_progress') AND status = 'in_progress' AND lease_until > ${now}
            GROUP BY project_id
          ) r ON r.project_id = w.project_id
          WHERE w.status IN ('queued', 'in_progress') AND w.lease_until <= ${now}
            AND COALESCE(r.running, 0) < ${OF_ONE_PROJECT}
          ORDER BY COALESCE(r.running, 0), w.sequence LIMIT 1)
        RETURNING id, project_id, key_id, made_by, made_under, status, attempts, sealed`)
      return row && opened(row)
    },

    /** Whether it is still to be run, and by this owner. */
    async renew({ project_id, id }: Named, owner: string, now: number): Promise<Renewed> {
      const [row] = await db.rows<{ key_status: string | null }>(sql`
        UPDATE background_response SET lease_until = ${now + LEASE_MS}
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
        RETURNING (SELECT k.status FROM api_key k WHERE k.id = background_response.key_id) AS key_status`)
      if (row) return row.key_status === 'active' ? 'runs' : 'revoked'
      const status = await statusOf({ project_id, id })
      return status === undefined || status === 'cancelled' ? 'over' : 'lost'
    },

    /** Somebody else tries it again, and not before then. */
    async putBack({ project_id, id }: Named, owner: string, not_before: number): Promise<void> {
      await db.rows(sql`
        UPDATE background_response SET status = 'queued', owner = NULL, lease_until = ${not_before}
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'`)
    },

    /** Nothing was begun: as if it had not been claimed, for whoever looks next. */
    async giveBack({ project_id, id }: Named, owner: string, now: number): Promise<void> {
      await db.rows(sql`
        UPDATE background_response SET status = 'queued', owner = NULL, lease_until = ${now}, attempts = attempts - 1
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'`)
    },

    /** What it asked for goes; what was made is stored elsewhere. False where it had ended, or was another's. */
    async finish({ project_id, id }: Named, owner: string, { status, response, trace_id }: Ended, now: number) {
      const told = sealed(project_id, id, { response: status === 'failed' ? response : {}, work: undefined, trace_id })
      const done = await db.rows(sql`
        UPDATE background_response
        SET status = ${status}, owner = NULL, finished_ms = ${now}, told_bytes = ${counted(told)},
            sealed = ${told}, trace_id = COALESCE(${trace_id ?? null}, trace_id)
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
        RETURNING id`)
      return done.length === 1
    },

    cancel,

    /**
     * In the transaction that stores it: false where it was cancelled, deleted or given up, and nobody does so before
     * that transaction has ended.
     */
    async isAwaited({ project_id, id }: Named): Promise<boolean> {
      const held = await db.rows(sql`
        UPDATE background_response SET lease_until = lease_until
        WHERE project_id = ${project_id} AND id = ${id} AND status NOT IN ('cancelled', 'failed') RETURNING id`)
      return held.length === 1
    },

    /** It ends first, so that nobody adds to what is deleted; its row goes last, so that this can be repeated. */
    async remove(row: BackgroundRow, now: number): Promise<boolean> {
      const { project_id, id } = row
      if (!isOver(row.status)) await cancel(row, { ...row.response, status: 'cancelled' }, now)
      await events.removeAll(id)
      const gone = await db.rows(sql`
        DELETE FROM background_response WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return gone.length === 1
    },

    forgetEvents: events.forget,
    addEvents: events.add,
    eventsAfter: events.after,

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const told = await db.rows<{ id: string }>(sql`
        SELECT id FROM background_response WHERE finished_ms <= ${now - EVENTS_KEPT_MS} AND event_bytes > 0
        ORDER BY finished_ms LIMIT ${DELETED_AT_ONCE_ROWS}`)
      for (const { id } of told) {
        await events.removeAll(id)
        await nextTurn()
      }
      const old = await db.rows<{ id: string; bytes: number }>(sql`
        SELECT id, LENGTH(sealed) AS bytes FROM background_response WHERE finished_ms <= ${now - ROWS_KEPT_MS}
        ORDER BY finished_ms LIMIT ${DELETED_AT_ONCE_ROWS}`)
      const some = withinBytes(old, DELETED_AT_ONCE_BYTES)
      const ids = some.map(({ id }) => id)
      if (ids.length > 0)
        await db.transaction(async (tx) => {
          await tx.rows(joined(sql`DELETE FROM background_response WHERE `, isOneOf('id', ids)))
          // Those that nobody counted.
          await tx.rows(joined(sql`DELETE FROM background_events WHERE `, isOneOf('response_id', ids)))
        })
      await nextTurn()
      const is_full = told.length === DELETED_AT_ONCE_ROWS || old.length === DELETED_AT_ONCE_ROWS
      return is_full || some.length < old.length
    },
  }
}

/** `lost`: another has it, or had it until its end. `over`: nobody wants it any more. */
export type Renewed = 'runs' | 'revoked' | 'lost' | 'over'

export interface Ended extends Pick<BackgroundRow, 'trace_id'> {
  status: BackgroundStatus
  response: Json
}
