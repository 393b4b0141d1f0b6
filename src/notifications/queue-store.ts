// The queues of the channels, for whoever sends. A channel is taken for a turn; what a turn sent is noted only while
// the turn is its own. Of each subject the next is sent once the one before it is noted: so the order holds, whoever
// dies in between, and what is sent twice carries the same event id.
import type { Sealing } from '../core/sealing.ts'
import { type Db, joined, type Sql, sql } from '../storage/db.ts'
import type { ChannelKind } from './channel.ts'

export const LEASE_MS = 20_000

export interface DueChannel {
  id: string
  project_id: string
  failures: number
}

/** A channel in hand, with what it needs to be sent to. */
export interface Turn {
  id: string
  project_id: string
  kind: ChannelKind
  name: string
  /** Names the turn. */
  lease: string
  failures: number
  target: string
  /** What signs: the secret, and that of before while both do. */
  secrets: readonly string[]
}

export interface Waiting {
  id: string
  event_id: string
  type: string
  subject: string
  payload: string
  attempts: number
  expires_at: number
}

/** What came of an attempt at a delivery. */
export interface Ended {
  id: string
  status: 'delivered' | 'waiting' | 'failed'
  due_at: number
  answer_status: number | null
  answer: string | null
  error: string | null
}

interface Row {
  id: string
  project_id: string
  kind: ChannelKind
  name: string
  failures: number
  sealed_target: Uint8Array
  sealed_secret: Uint8Array | null
  sealed_previous: Uint8Array | null
  previous_until: number | null
}

export type QueueStore = ReturnType<typeof queueStore>

export function queueStore(db: Db, { open }: Pick<Sealing, 'open'>) {
  function secretsOf({ id, project_id, sealed_secret, sealed_previous, previous_until }: Row, now: number): string[] {
    const both = [sealed_secret, (previous_until ?? 0) > now ? sealed_previous : null]
    return both.flatMap((sealed) => (sealed ? [open(sealed, project_id, `${id} secret`).toString()] : []))
  }

  return {
    /** Those that nobody has in hand and something waits for; who was sent to least recently comes first. */
    due: (is_failing: boolean, now: number, limit: number): Promise<DueChannel[]> =>
      is_failing
        ? db.rows(sql`
            SELECT c.id, c.project_id, c.failures FROM notification_channel c
            WHERE c.status = 'active' AND c.failures > 0 AND c.due_at <= ${now} AND c.lease_until <= ${now}
              AND EXISTS (SELECT 1 FROM notification_delivery d WHERE d.channel_id = c.id AND d.status = 'waiting')
            ORDER BY c.lease_until LIMIT ${limit}`)
        : db.rows(sql`
            SELECT c.id, c.project_id, c.failures FROM notification_channel c
            WHERE c.status = 'active' AND c.failures = 0 AND c.lease_until <= ${now}
              AND EXISTS (SELECT 1 FROM notification_delivery d WHERE d.channel_id = c.id AND d.status = 'waiting')
            ORDER BY c.lease_until LIMIT ${limit}`),

    /** Undefined where another was quicker, or it is not to be sent to any more. */
    async take({ id, project_id }: DueChannel, lease: string, now: number): Promise<Turn | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE notification_channel SET lease = ${lease}, lease_until = ${now + LEASE_MS}
        WHERE project_id = ${project_id} AND id = ${id} AND status = 'active' AND lease_until <= ${now}
        RETURNING id, project_id, kind, name, failures, sealed_target, sealed_secret, sealed_previous, previous_until`)
      if (!row) return undefined
      const { kind, name, failures, sealed_target } = row
      const target = open(sealed_target, project_id, id).toString()
      return { id, project_id, kind, name, lease, failures, target, secrets: secretsOf(row, now) }
    },

    async renew({ id, lease }: Turn, now: number): Promise<boolean> {
      const renewed = await db.rows(sql`
        UPDATE notification_channel SET lease_until = ${now + LEASE_MS}
        WHERE id = ${id} AND lease = ${lease} AND status = 'active' RETURNING id`)
      return renewed.length === 1
    },

    async release({ id, lease }: Turn, now: number): Promise<void> {
      await db.rows(sql`
        UPDATE notification_channel SET lease = NULL, lease_until = ${now} WHERE id = ${id} AND lease = ${lease}`)
    },

    /** Only where this process is known to be the only one: whoever had one in hand died with it. */
    async nobodySends(): Promise<void> {
      await db.rows(sql`UPDATE notification_channel SET lease = NULL, lease_until = 0 WHERE lease IS NOT NULL`)
    },

    /** In the order of their events; none of a subject that failed and is not to be tried yet. */
    next: ({ id }: Turn, now: number, limit: number): Promise<Waiting[]> =>
      db.rows(sql`
        SELECT d.id, d.event_id, d.type, d.subject, d.payload, d.attempts, d.expires_at FROM notification_delivery d
        WHERE d.channel_id = ${id} AND d.status = 'waiting' AND NOT EXISTS (
          SELECT 1 FROM notification_delivery f WHERE f.channel_id = ${id} AND f.subject = d.subject
            AND f.status = 'waiting' AND f.attempts > 0 AND f.due_at > ${now})
        ORDER BY d.sequence LIMIT ${limit}`),

    /**
     * In one statement, however many. The ids of those that were noted: none where the turn is over, and then whoever
     * has the channel now sends them again.
     */
    async note({ id: channel_id, lease }: Turn, ended: readonly Ended[], now: number): Promise<ReadonlySet<string>> {
      const statement = joined(
        sql`WITH noted (id, status, due_at, answer_status, answer, error) AS (VALUES `,
        ...ended.map(valuesOf),
        sql`)
          UPDATE notification_delivery
          SET status = noted.status, attempts = attempts + 1, due_at = noted.due_at,
              answer_status = noted.answer_status, answer = noted.answer, error = noted.error, tried_ms = ${now}
          FROM noted
          WHERE notification_delivery.id = noted.id AND notification_delivery.status = 'waiting'
            AND EXISTS (SELECT 1 FROM notification_channel c WHERE c.id = ${channel_id} AND c.lease = ${lease})
          RETURNING notification_delivery.id`,
      )
      // What is forgotten is sent again.
      const done = await db.transaction((tx) => tx.rows<{ id: string }>(statement), { lasting: 'committed' })
      return new Set(done.map(({ id }) => id))
    },

    /** After an attempt: well again, or left alone for a while. */
    async paced({ id, lease }: Turn, failures: number, due_at: number): Promise<void> {
      await db.rows(sql`
        UPDATE notification_channel SET failures = ${failures}, due_at = ${due_at}
        WHERE id = ${id} AND lease = ${lease}`)
    },

    /** The receiver wants nothing more. */
    async disable({ id, lease }: Turn): Promise<void> {
      await db.rows(sql`
        UPDATE notification_channel SET status = 'disabled' WHERE id = ${id} AND lease = ${lease}`)
    },
  }
}

function valuesOf({ id, status, due_at, answer_status, answer, error }: Ended, at: number): Sql {
  const row = sql`(CAST(${id} AS TEXT), CAST(${status} AS TEXT), CAST(${due_at} AS BIGINT),
    CAST(${answer_status} AS BIGINT), CAST(${answer} AS TEXT), CAST(${error} AS TEXT))`
  return at === 0 ? row : joined(sql`, `, row)
}
