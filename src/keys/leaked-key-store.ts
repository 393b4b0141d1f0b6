// Whose key a reported hash is, and that its project is told: once a day.
import { rfc3339 } from '../core/clock.ts'
import { keyLeaked } from '../notifications/happening.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce } from '../storage/telling.ts'

interface Found {
  id: string
  project_id: string
  name: string
  masked: string
}

export async function tellOfLeak(db: Db, hash: string, where: string | null, now: number): Promise<void> {
  const [key] = await db.rows<Found>(sql`
    SELECT id, project_id, name, masked FROM api_key WHERE hash = ${hash} OR previous_hash = ${hash}`)
  if (!key) return
  const mark = { mark: `leaked ${key.id}`, state: rfc3339(now).slice(0, '2026-11-15'.length) }
  await db.transaction((tx) => tellOnce(tx, mark, keyLeaked(key, where), now))
}
