// Notification channels at rest. Where one leads and what it signs with are sealed under its project and its own id.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'
import { type Channel, type ChannelKind, type MadeChannel, OVERLAP_MS, shownTarget } from './channel.ts'

interface Row {
  id: string
  project_id: string
  kind: ChannelKind
  name: string
  status: Channel['status']
  events: string
  shown: string
  failures: number
  due_at: number
  previous_until: number | null
  created_at: string
}

/** What changes; undefined stays. */
export interface Changes {
  name: string | undefined
  target: string | undefined
  /** Null: all. */
  events: string[] | null | undefined
  status: 'active' | 'paused' | undefined
}

const ALL = '*'
const listed = (events: readonly string[] | null) => (events === null ? ALL : `,${events.join(',')},`)

export function channelStore(db: Db, { seal }: Pick<Sealing, 'seal'>) {
  const sealed = (text: string, project_id: string, place: string) => seal(Buffer.from(text), project_id, place)

  return {
    async insert({ channel: c, target, secret }: MadeChannel, now: number): Promise<void> {
      const sealed_secret = secret === undefined ? null : sealed(secret, c.project_id, `${c.id} secret`)
      await db.rows(sql`
        INSERT INTO notification_channel (id, project_id, kind, name, status, events, shown, sealed_target,
                                          sealed_secret, created_at, sequence)
        VALUES (${c.id}, ${c.project_id}, ${c.kind}, ${c.name}, ${c.status}, ${listed(c.events)}, ${c.target},
                ${sealed(target, c.project_id, c.id)}, ${sealed_secret}, ${c.created_at}, ${nextSequence(now)})`)
    },

    async list(project_id: string): Promise<Channel[]> {
      const rows = await db.rows<Row>(sql`
        SELECT id, project_id, kind, name, status, events, shown, failures, due_at, previous_until, created_at
        FROM notification_channel WHERE project_id = ${project_id} ORDER BY sequence DESC`)
      return rows.map(fromRow)
    },

    async find(project_id: string, id: string): Promise<Channel | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, kind, name, status, events, shown, failures, due_at, previous_until, created_at
        FROM notification_channel WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** What waits is tried at once: whoever changes an address has mended it. */
    async change(channel: Channel, { name, target, events, status }: Changes): Promise<void> {
      const { id, project_id, kind } = channel
      const shown = target === undefined ? channel.target : shownTarget(kind, target)
      const moved = target === undefined ? null : sealed(target, project_id, id)
      const listens = listed(events === undefined ? channel.events : events)
      await db.transaction(async (tx) => {
        await tx.rows(sql`
          UPDATE notification_delivery SET due_at = 0
          WHERE project_id = ${project_id} AND channel_id = ${id} AND status = 'waiting' AND attempts > 0`)
        await tx.rows(sql`
          UPDATE notification_channel
          SET name = ${name ?? channel.name}, events = ${listens}, status = ${status ?? channel.status},
              shown = ${shown}, sealed_target = COALESCE(${moved}, sealed_target), failures = 0, due_at = 0
          WHERE project_id = ${project_id} AND id = ${id}`)
      })
    },

    /** The secret of before signs as well, until the overlap ends. A second rotation within it ends the first. */
    async rotate(project_id: string, id: string, secret: string, now: number): Promise<boolean> {
      const rotated = await db.rows(sql`
        UPDATE notification_channel
        SET sealed_previous = sealed_secret, previous_until = ${now + OVERLAP_MS},
            sealed_secret = ${sealed(secret, project_id, `${id} secret`)}
        WHERE project_id = ${project_id} AND id = ${id} AND kind = 'webhook' RETURNING id`)
      return rotated.length === 1
    },

    /** With all that waits for it, and its log. */
    async remove(project_id: string, id: string): Promise<boolean> {
      return db.transaction(async (tx) => {
        const removed = await tx.rows(sql`
          DELETE FROM notification_channel WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
        if (removed.length === 0) return false
        await tx.rows(sql`
          DELETE FROM notification_delivery WHERE project_id = ${project_id} AND channel_id = ${id}`)
        return true
      })
    },

    /** Whether this is the confirmed address of somebody who belongs to the project. */
    async isMember(project_id: string, email: string): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT p.id FROM person p JOIN membership m ON m.person_id = p.id
        WHERE m.project_id = ${project_id} AND p.email = ${email} AND p.verified_at IS NOT NULL`)
      return found.length > 0
    },
  }
}

function fromRow({ events, shown, due_at, failures, previous_until, ...row }: Row): Channel {
  return {
    object: 'notification_channel',
    ...row,
    events: events === ALL ? null : events.split(',').filter((type) => type !== ''),
    target: shown,
    failures,
    next_try_at: failures > 0 ? rfc3339(due_at) : null,
    previous_secret_until: previous_until === null ? null : rfc3339(previous_until),
  }
}

/** R70: how many a project has. */
export const channelsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM notification_channel WHERE project_id = ${project_id}`
