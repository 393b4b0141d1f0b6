// Keys that expire soon: told a week before and a day before, once each.
import { DAY_MS } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce } from '../storage/telling.ts'
import { keyExpiring } from './happening.ts'

const BEFORE_DAYS = [7, 1] as const
const AT_ONCE = 1_000

interface Row {
  id: string
  project_id: string
  name: string
  masked: string
  expires_at: number
}

export const expiryStore = (db: Db) => ({
  /** Of projects that have a channel. Children end as they should, and are not told of (R64). */
  async tellDue(now: number): Promise<void> {
    for (const days of BEFORE_DAYS) {
      const keys = await db.rows<Row>(sql`
        SELECT k.id, k.project_id, k.name, k.masked, k.expires_at FROM api_key k
        WHERE k.expires_at IS NOT NULL AND k.parent_id IS NULL AND k.status = 'active'
          AND k.expires_at > ${now} AND k.expires_at <= ${now + days * DAY_MS}
          AND EXISTS (SELECT 1 FROM notification_channel c WHERE c.project_id = k.project_id AND c.status = 'active')
          AND NOT EXISTS (
            SELECT 1 FROM notification_mark m WHERE m.project_id = k.project_id
              AND m.mark = 'expiry ' || ${String(days)} || ' ' || k.id AND m.state = CAST(k.expires_at AS TEXT))
        ORDER BY k.expires_at LIMIT ${AT_ONCE}`)
      for (const key of keys) {
        const mark = { mark: `expiry ${days} ${key.id}`, state: String(key.expires_at) }
        await db.transaction((tx) => tellOnce(tx, mark, keyExpiring(key, key.expires_at), now))
      }
    }
  },
})
