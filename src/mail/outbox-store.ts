// The outbox: a letter is written down in the transaction of what it tells of, and sent afterwards, again and again
// until it is gone or of no use any more. What is sent twice after a crash carries the same Message-ID.
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { nextSequence, randomBase62 } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  link?: string
}

export interface Letter extends Mail {
  good_until_ms: number
}

export interface WaitingMail {
  id: string
  attempts: number
  /** It came too late for whoever waited for it. */
  is_stale: boolean
  /** Undefined where the server's secret is not the one that it was sealed with. */
  mail: Mail | undefined
}

const SENDING_MS = 5 * MINUTE_MS // whoever has a mail in hand for longer than this has died with it
const PAUSE_MAX_MS = HOUR_MS

/** 10 s, 20 s, 40 s … and at most an hour. */
export const pauseAfter = (attempts: number) => Math.min(5 * SECOND_MS * 2 ** Math.min(attempts, 20), PAUSE_MAX_MS)

export type OutboxStore = ReturnType<typeof outboxStore>

export function outboxStore(db: Db, { seal, open }: Sealing) {
  function read(sealed: Uint8Array, id: string): Mail | undefined {
    try {
      return JSON.parse(open(sealed, 'mail', id).toString('utf8'))
    } catch {
      return undefined
    }
  }

  return {
    /** What is posted again under its id, after a crash, waits once. */
    async post({ to, subject, text, link, good_until_ms }: Letter, now: number, id = randomBase62(20)): Promise<void> {
      const sealed = seal(Buffer.from(JSON.stringify({ to, subject, text, link })), 'mail', id)
      await db.rows(sql`
        INSERT INTO mail_outbox (id, sealed, attempts, due_at, expires_at, sequence)
        VALUES (${id}, ${sealed}, 0, ${now}, ${good_until_ms}, ${nextSequence(now)})
        ON CONFLICT (id) DO NOTHING`)
    },

    /** The next one that is due, for this process alone. */
    async take(now: number): Promise<WaitingMail | undefined> {
      const due = await db.rows<{ id: string }>(sql`
        SELECT id FROM mail_outbox WHERE due_at <= ${now} ORDER BY due_at, sequence LIMIT 10`)
      for (const { id } of due) {
        const [taken] = await db.rows<{ sealed: Uint8Array; attempts: number; expires_at: number }>(sql`
          UPDATE mail_outbox SET due_at = ${now + SENDING_MS}, attempts = attempts + 1
          WHERE id = ${id} AND due_at <= ${now} RETURNING sealed, attempts, expires_at`)
        if (!taken) continue // another replica was quicker
        const { sealed, attempts, expires_at } = taken
        return { id, attempts, is_stale: expires_at <= now, mail: read(sealed, id) }
      }
      return undefined
    },

    async remove(id: string): Promise<void> {
      await db.rows(sql`DELETE FROM mail_outbox WHERE id = ${id}`)
    },

    async postpone(id: string, due_at: number): Promise<void> {
      await db.rows(sql`UPDATE mail_outbox SET due_at = ${due_at} WHERE id = ${id}`)
    },
  }
}
