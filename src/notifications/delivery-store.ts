// Deliveries at rest: the queue of each channel, which one process sends at a time, and the log that becomes of it.
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Place as At, BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { beginning, type Db, fixed, joined, sql } from '../storage/db.ts'
import { deliveryStem, KEPT_TRYING_MS } from '../storage/telling.ts'
import { testEvent } from './happening.ts'
import { type Delivery, LOG_KEPT_MS, LOG_MAX } from './notification-delivery.ts'

interface Row {
  id: string
  channel_id: string
  event_id: string
  type: string
  subject: string
  sequence: number
  payload: string
  status: Delivery['status']
  attempts: number
  due_at: number
  answer_status: number | null
  answer: string | null
  error: string | null
  created_ms: number
  tried_ms: number | null
}

const COLUMNS = `
  SELECT id, channel_id, event_id, type, subject, sequence, payload, status, attempts, due_at, answer_status, answer,
         error, created_ms, tried_ms
  FROM notification_delivery`
const deliveries = beginning(COLUMNS)
const SWEEP_MAX = 1_000
export const TESTS_MAX = 100 // that wait in one channel
const MARKS_KEPT_MS = 40 * 24 * 60 * 60 * 1_000

export function deliveryStore(db: Db) {
  const of = (status: Delivery['status'] | undefined) => (status === undefined ? sql`` : sql` AND status = ${status}`)
  const page = (project_id: string, channel_id: string, below: At, status?: Delivery['status']) =>
    joined(
      sql` WHERE project_id = ${project_id} AND channel_id = ${channel_id}
        AND (sequence, id) < (${below.sequence}, ${below.id})`,
      of(status),
      sql` ORDER BY sequence DESC, id DESC`,
    )

  async function trim(channel_id: string, until: number): Promise<number> {
    const gone = await db.rows(sql`
      DELETE FROM notification_delivery WHERE status <> 'waiting' AND id IN (
        SELECT id FROM notification_delivery
        WHERE channel_id = ${channel_id} AND status <> 'waiting' AND sequence <= ${until} LIMIT ${SWEEP_MAX})
      RETURNING id`)
    return gone.length
  }

  return {
    /** Newest first. */
    listAll: (project_id: string, channel_id: string, below: At, status?: Delivery['status']) =>
      mapped(
        inBatches(below, (from) =>
          db.rows<Row>(joined(fixed(COLUMNS), page(project_id, channel_id, from, status), sql` LIMIT ${BATCH_ROWS}`)),
        ),
        fromRow,
      ),

    async find(project_id: string, channel_id: string, id: string): Promise<Delivery | undefined> {
      const [row] = await db.rows<Row>(deliveries`
        WHERE project_id = ${project_id} AND channel_id = ${channel_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** Sent once more, to this channel alone, under the same event id; before whatever else waits of its subject. */
    async again(project_id: string, channel_id: string, id: string, now: number): Promise<boolean> {
      const again = await db.rows(sql`
        UPDATE notification_delivery
        SET status = 'waiting', attempts = 0, due_at = ${now}, expires_at = ${now + KEPT_TRYING_MS}
        WHERE project_id = ${project_id} AND channel_id = ${channel_id} AND id = ${id} RETURNING id`)
      return again.length === 1
    },

    /** An event for this channel alone, whatever it listens to. */
    async test(project_id: string, channel_id: string, now: number): Promise<Delivery | undefined> {
      const { type, subject, sentence, data } = testEvent(project_id, channel_id)
      const id = newId('evt')
      const delivery_id = deliveryStem(id) + channel_id.slice(4, 12)
      await db.transaction(async (tx) => {
        const [{ sequence } = { sequence: 0 }] = await tx.rows<{ sequence: number }>(sql`
          UPDATE project SET event_sequence = event_sequence + 1 WHERE id = ${project_id}
          RETURNING event_sequence AS sequence`)
        const payload = JSON.stringify({ type, timestamp: rfc3339(now), id, sequence, subject, sentence, data })
        await tx.rows(sql`
          INSERT INTO notification_delivery (id, project_id, channel_id, event_id, type, subject, sequence, payload,
                                             status, attempts, due_at, expires_at, created_ms)
          VALUES (${delivery_id}, ${project_id}, ${channel_id}, ${id}, ${type}, ${subject}, ${sequence}, ${payload},
                  'waiting', 0, ${now}, ${now + KEPT_TRYING_MS}, ${now})`)
      })
      return this.find(project_id, channel_id, delivery_id)
    },

    /** R70: what is old, and not to be sent again meanwhile. True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const old = await db.rows(sql`
        DELETE FROM notification_delivery WHERE status <> 'waiting' AND id IN (
          SELECT id FROM notification_delivery WHERE status <> 'waiting' AND created_ms <= ${now - LOG_KEPT_MS}
          LIMIT ${SWEEP_MAX})
        RETURNING id`)
      const marks = await db.rows(sql`
        DELETE FROM notification_mark WHERE at_ms <= ${now - MARKS_KEPT_MS} AND (project_id, mark) IN (
          SELECT project_id, mark FROM notification_mark WHERE at_ms <= ${now - MARKS_KEPT_MS} LIMIT ${SWEEP_MAX})
        RETURNING mark`)
      return Math.max(old.length, marks.length) >= SWEEP_MAX
    },

    /** R70: whether so many tests wait there that one more tells nobody anything. Looks at the last ones alone. */
    async hasTestsEnough(channel_id: string): Promise<boolean> {
      const [row] = await db.rows<{ tests: number }>(sql`
        SELECT COUNT(*) AS tests FROM (
          SELECT d.type FROM notification_delivery d WHERE d.channel_id = ${channel_id} AND d.status = 'waiting'
          ORDER BY d.sequence DESC LIMIT ${2 * TESTS_MAX}) AS last
        WHERE last.type = 'test'`)
      return Number(row?.tests ?? 0) >= TESTS_MAX
    },

    /** R70: of each channel what is more than its log holds. A few at a time: others write, too. */
    async trimLogs(): Promise<void> {
      const channels = await db.rows<{ id: string }>(sql`SELECT id FROM notification_channel`)
      for (const { id } of channels) {
        const [last] = await db.rows<{ sequence: number }>(sql`
          SELECT sequence FROM notification_delivery WHERE channel_id = ${id} AND status <> 'waiting'
          ORDER BY sequence DESC LIMIT 1 OFFSET ${LOG_MAX}`)
        if (last) while ((await trim(id, last.sequence)) >= SWEEP_MAX);
      }
    },
  }
}

function fromRow({ created_ms, tried_ms, due_at, ...row }: Row): Delivery {
  return {
    object: 'notification_delivery',
    ...row,
    next_try_at: row.status === 'waiting' ? rfc3339(due_at) : null,
    last_try_at: tried_ms === null ? null : rfc3339(tried_ms),
    created_at: rfc3339(created_ms),
  }
}
