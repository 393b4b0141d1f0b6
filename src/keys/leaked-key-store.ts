// Whose key a reported hash is, and that its project is told: once a day. R78: an inference key could make children of
// itself and report them all, so of the children of a key one is told of. The key is apart from them: a thief who
// reports a child must not keep the report of its parent from being told.
import { rfc3339 } from '../core/clock.ts'
import { keyLeaked } from '../notifications/happening.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce } from '../storage/telling.ts'

interface Found {
  id: string
  parent_id: string | null
  project_id: string
  name: string
  masked: string
}

export async function tellOfLeak(db: Db, hash: string, where: string | null, now: number): Promise<void> {
  const [key] = await db.rows<Found>(sql`
    SELECT id, parent_id, project_id, name, masked FROM api_key WHERE hash = ${hash} OR previous_hash = ${hash}`)
  if (!key) return
  const which = key.parent_id === null ? key.id : `child of ${key.parent_id}`
  const mark = { mark: `leaked ${which}`, state: rfc3339(now).slice(0, '2026-11-15'.length) }
  await db.transaction((tx) => tellOnce(tx, mark, keyLeaked(key, where), now))
}
