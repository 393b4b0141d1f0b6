// Background responses at rest: a row with a lease, which any replica runs, and its events. What it asks for is sealed,
// and gone when it has ended.
import { nextSequence } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'
import type { BackgroundStatus, Taken, ToldEvent } from './background-response.ts'
import type { Json } from './response-request.ts'

/** What is to be asked, and how. */
export interface BackgroundWork {
  headers: Readonly<Record<string, string>>
  body: string
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
type EventsRow = { first_number: number; sealed: Uint8Array }

export const LEASE_MS = 60_000
const OF_ONE_PROJECT = 4 // that run at a time, over all replicas
const EVENTS_KEPT_MS = 60 * 60_000
const ROWS_KEPT_MS = 24 * 60 * 60_000
const SWEPT_AT_ONCE = 200

export type BackgroundStore = ReturnType<typeof backgroundStore>

export function backgroundStore(db: Db, { seal, open }: Sealing) {
  const sealed = (project_id: string, id: string, told: Told) =>
    seal(Buffer.from(JSON.stringify(told)), project_id, `background_response ${id}`)
  const opened = ({ sealed: bytes, ...row }: Row): BackgroundRow => {
    const told: Told = JSON.parse(open(bytes, row.project_id, `background_response ${row.id}`).toString('utf8'))
    return { ...row, response: told.response, work: told.work, trace_id: told.trace_id }
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

    async takenBy(project_id: string, now: number): Promise<Taken> {
      const [row] = await db.rows<{ open: number; event_bytes: number | null }>(sql`
        SELECT COUNT(CASE WHEN finished_ms IS NULL THEN 1 END) AS open, SUM(event_bytes) AS event_bytes
        FROM background_response
        WHERE project_id = ${project_id} AND (finished_ms IS NULL OR finished_ms > ${now - EVENTS_KEPT_MS})`)
      return { open: Number(row?.open ?? 0), event_bytes: Number(row?.event_bytes ?? 0) }
    },

    /** Undefined where it is gone. */
    async statusOf({ project_id, id }: Named): Promise<BackgroundStatus | undefined> {
      const [row] = await db.rows<Pick<Row, 'status'>>(sql`
        SELECT status FROM background_response WHERE project_id = ${project_id} AND id = ${id}`)
      return row?.status
    },

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
    async renew({ project_id, id }: Named, owner: string, now: number): Promise<'runs' | 'revoked' | 'over'> {
      const [row] = await db.rows<{ key_status: string | null }>(sql`
        UPDATE background_response SET lease_until = ${now + LEASE_MS}
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
        RETURNING (SELECT k.status FROM api_key k WHERE k.id = background_response.key_id) AS key_status`)
      if (!row) return 'over'
      return row.key_status === 'active' ? 'runs' : 'revoked'
    },

    /** Somebody else tries it again, and not before then. */
    async putBack({ project_id, id }: Named, owner: string, not_before: number): Promise<void> {
      await db.rows(sql`
        UPDATE background_response SET status = 'queued', owner = NULL, lease_until = ${not_before}
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'`)
    },

    /** What it asked for goes with it. False where it had ended, or was another's. */
    async finish({ project_id, id }: Named, owner: string, ended: Ended, now: number) {
      const { response, trace_id } = ended
      const done = await db.rows(sql`
        UPDATE background_response
        SET status = ${ended.status}, owner = NULL, finished_ms = ${now},
            sealed = ${sealed(project_id, id, { response, work: undefined, trace_id })}
        WHERE project_id = ${project_id} AND id = ${id} AND owner = ${owner} AND status = 'in_progress'
        RETURNING id`)
      return done.length === 1
    },

    /** Whoever runs it finds out. False where it had ended. */
    async cancel({ project_id, id }: Named, response: Json, now: number): Promise<boolean> {
      const done = await db.rows(sql`
        UPDATE background_response
        SET status = 'cancelled', owner = NULL, finished_ms = ${now},
            sealed = ${sealed(project_id, id, { response, work: undefined })}
        WHERE project_id = ${project_id} AND id = ${id} AND status IN ('queued', 'in_progress')
        RETURNING id`)
      return done.length === 1
    },

    async remove({ project_id, id }: Named): Promise<boolean> {
      await db.rows(sql`DELETE FROM background_events WHERE project_id = ${project_id} AND response_id = ${id}`)
      const gone = await db.rows(sql`
        DELETE FROM background_response WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return gone.length === 1
    },

    /** A run that begins again says all of it again. */
    async forgetEvents({ project_id, id }: Named): Promise<void> {
      await db.rows(sql`DELETE FROM background_events WHERE project_id = ${project_id} AND response_id = ${id}`)
      await db.rows(sql`
        UPDATE background_response SET event_bytes = 0 WHERE project_id = ${project_id} AND id = ${id}`)
    },

    async addEvents({ project_id, id }: Named, events: readonly ToldEvent[]): Promise<void> {
      const [first] = events
      const last = events.at(-1)
      if (!first || !last) return
      const told = JSON.stringify(events.map(({ number, text }) => [number, text]))
      const bytes = seal(Buffer.from(told), project_id, `background_events ${id} ${first.number}`)
      await db.rows(sql`
        UPDATE background_response SET event_bytes = event_bytes + ${bytes.length}
        WHERE project_id = ${project_id} AND id = ${id}`)
      await db.rows(sql`
        INSERT INTO background_events (response_id, first_number, last_number, project_id, sealed)
        VALUES (${id}, ${first.number}, ${last.number}, ${project_id}, ${bytes})
        ON CONFLICT (response_id, first_number) DO NOTHING`)
    },

    /** Behind a number, in order; not all at once where there are many. */
    async eventsAfter({ project_id, id }: Named, number: number): Promise<[number: number, text: string][]> {
      const rows = await db.rows<EventsRow>(sql`
        SELECT first_number, sealed FROM background_events
        WHERE project_id = ${project_id} AND response_id = ${id} AND last_number > ${number}
        ORDER BY first_number LIMIT 20`)
      const all = rows.flatMap((row) => {
        const told = open(row.sealed, project_id, `background_events ${id} ${row.first_number}`)
        return JSON.parse(told.toString('utf8')) as [number, string][]
      })
      return all.filter(([one]) => one > number)
    },

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const events = await db.rows(sql`
        DELETE FROM background_events
        WHERE response_id IN (
          SELECT b.id FROM background_response b
          WHERE b.finished_ms <= ${now - EVENTS_KEPT_MS} ORDER BY b.finished_ms LIMIT ${SWEPT_AT_ONCE})
        RETURNING response_id`)
      const rows = await db.rows(sql`
        DELETE FROM background_response
        WHERE id IN (
          SELECT b.id FROM background_response b
          WHERE b.finished_ms <= ${now - ROWS_KEPT_MS} ORDER BY b.finished_ms LIMIT ${SWEPT_AT_ONCE})
        RETURNING id`)
      return rows.length === SWEPT_AT_ONCE || (events.length > 0 && rows.length > 0)
    },
  }
}

export interface Ended extends Pick<BackgroundRow, 'trace_id'> {
  status: BackgroundStatus
  response: Json
}

export interface Named {
  project_id: string
  id: string
}
