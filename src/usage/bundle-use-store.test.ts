// R78: what bundles were used, of any number of events: in windows, and by their own index.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { countingEvents, insertAll, replayKeyOf, WINDOW_MOST } from '../../test/support/usage-windows.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { sql } from '../storage/db.ts'
import { bundleUse } from './bundle-use-store.ts'

withDb((db) => {
  const made = (project_id: string, id: string) =>
    db().rows(sql`
      INSERT INTO bundle (id, project_id, name, prefix_hash, tokens_est, bytes, created_at, made_by, made_under, sequence)
      VALUES (${id}, ${project_id}, 'b', ${id}, 1, 1, '2026-01-01T00:00:00Z', 'key_1', 'key_1', 1)`)

  test('R78 the busiest bundles first, whatever their number and use; no statement tells of more than a window', async () => {
    const project_id = await projectIn(db())
    const replay = await replayKeyOf(db(), project_id)
    const [BIG, MIDDLE, SMALL] = [4_600, 900, 230]
    const idOf = (n: number) => `bnd_${project_id}_${String(n).padStart(3, '0')}`
    const times = (n: number) => (n === 0 ? BIG : n < 3 ? MIDDLE : 1)
    const events = Array.from({ length: SMALL }, (_, n) => n).flatMap((n) =>
      Array.from({ length: times(n) }, (_, at) =>
        usageEvent(project_id, {
          created_at: rfc3339(NOON + at * 3 + (at % 10 === 0 ? -DAY_MS : 0)),
          key_id: at % 9 === 1 ? replay : 'key_1',
          bundle_id: idOf(n),
          cached_tokens: n,
        }),
      ),
    )
    await insertAll(db(), events)
    for (let n = 0; n < SMALL; n++) if (n !== 2) await made(project_id, idOf(n)) // one of them is deleted
    const expected = [0, 1].map((n) => {
      const used = events.filter(({ bundle_id, created_at, key_id }) => {
        return bundle_id === idOf(n) && created_at >= rfc3339(NOON) && key_id !== replay
      })
      return {
        bundle_id: idOf(n),
        events: used.length,
        cached_tokens: used.length * n,
        input_tokens: used.length * 100,
      }
    })
    const { db: counted, most } = countingEvents(db())
    const span = { from_ms: NOON, to_ms: NOON + DAY_MS }
    expect(await bundleUse(counted, project_id, span, 2)).toMatchObject(expected)
    expect(
      await bundleUse(counted, project_id, { from_ms: NOON - 2 * DAY_MS, to_ms: NOON + DAY_MS }, 300),
    ).toHaveLength(SMALL - 1)
    expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
  })
})
