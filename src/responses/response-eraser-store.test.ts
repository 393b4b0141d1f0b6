// How purge jobs walk responses and what is kept of those in the background, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { type OpenDb, sql } from '../storage/db.ts'
import { responseEraser } from './response-eraser-store.ts'

const MIB = 1024 * 1024
const EVENTS_OF_EACH = 3

async function ended(db: OpenDb, project_id: string, n: number): Promise<string> {
  const id = `resp_${project_id}_${n}`
  await db.rows(sql`
    INSERT INTO background_response (id, project_id, key_id, status, lease_until, attempts, created_ms, finished_ms,
                                     sequence, sealed, event_bytes)
    VALUES (${id}, ${project_id}, 'key_1', ${n % 2 === 0 ? 'cancelled' : 'completed'}, 0, 1, ${NOON - 2}, ${NOON - 1},
            ${n}, ${Buffer.alloc(10)}, ${EVENTS_OF_EACH * MIB})`)
  for (let number = 0; number < EVENTS_OF_EACH; number++)
    await db.rows(sql`
      INSERT INTO background_events (response_id, first_number, last_number, project_id, sealed)
      VALUES (${id}, ${number}, ${number}, ${project_id}, ${Buffer.alloc(MIB)})`)
  return id
}

withDb((db) => {
  test('R78 events of background responses are erased some megabytes in a transaction, and what was made counts once', async () => {
    const project_id = await projectIn(db())
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.push(await ended(db(), project_id, n))
    const scope = {
      ...{ job_id: 'prg_1', project_id, key_id: null, is_listed: false },
      ...{ from_ms: 0, until_ms: NOON, as_of_ms: NOON },
    }
    expect(await responseEraser.count(db(), scope)).toBe(3)
    const left = async () => {
      const [row] = await db().rows<{ events: number }>(sql`
        SELECT COUNT(*) AS events FROM background_events WHERE project_id = ${project_id}`)
      return Number(row?.events)
    }
    const steps: number[] = []
    const counted: string[] = []
    for (let from: string | null = null, before = await left(); ; ) {
      const batch = await db().transaction((tx) => responseEraser.erase(tx, scope, from, 500))
      const now = await left()
      steps.push(before - now)
      counted.push(...batch.ids)
      before = now
      from = batch.next
      if (from === null) break
    }
    expect(Math.max(...steps)).toBe(2 * EVENTS_OF_EACH)
    expect([await left(), counted]).toEqual([0, ids.filter((_id, n) => n % 2 === 0)])
    expect(await responseEraser.count(db(), scope)).toBe(0)
  })
})
