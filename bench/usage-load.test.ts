// What the loader leaves is what a server would have left: the same events, the same roll-ups, nothing waiting.
import { expect, test } from 'vitest'
import { DAY_MS } from '../src/core/clock.ts'
import { type OpenDb, sql } from '../src/storage/db.ts'
import { usageRollups } from '../src/usage/usage-rollup-store.ts'
import { usageStore } from '../src/usage/usage-store.ts'
import { NOON } from '../test/support/clock.ts'
import { freshDb } from '../test/support/databases.ts'
import { rollEverything } from '../test/support/usage-answers.ts'
import { BENCH_DAYS, BENCH_FACTS, endOfEvent } from './usage-events.ts'
import { benchEvents, loadUsage } from './usage-load.ts'

const owner = { project_id: 'prj_1', keys: ['key_1', 'key_2', 'key_3'] }
const LOAD = { owner, events: 250, end_ms: NOON + 1_234 }

/** Every row as one text. How a spread's keys stand in it depends on the order in which it grew. */
async function contents(db: OpenDb) {
  const events = await db.rows<{ sequence: number }>(sql`SELECT * FROM usage_event ORDER BY created_ms, sequence`)
  const rollups = await db.rows<{ spread: string }>(sql`
    SELECT * FROM usage_rollup ORDER BY cube, start_ms, key_id, model, provider, profile, cluster_id`)
  return {
    events: events.map(({ sequence: _minted, ...event }) => event),
    rollups: rollups.map(({ spread, ...sums }) => ({ ...sums, ...JSON.parse(spread) })),
    waiting: await usageRollups(db).waiting(),
  }
}

test('the loader leaves what the server leaves, on both sides of midnight, and lines for what comes next', async () => {
  const [loaded, served] = [await freshDb(), await freshDb()]
  try {
    await loadUsage(loaded.db, loaded.location, LOAD, 4) // some days in one piece, some in two
    await served.db.transaction(async (tx) => {
      for (const event of benchEvents(LOAD)) await usageStore(tx).insert(event, BENCH_FACTS)
    })
    await rollEverything(served.db)
    const [left, expected] = [await contents(loaded.db), await contents(served.db)]
    expect([left.events.length, left.waiting, new Set(left.rollups.map(({ start_ms }) => start_ms)).size > 90]).toEqual(
      [LOAD.events, 0, true],
    )
    expect(left).toEqual(expected)

    const [next] = benchEvents({ ...LOAD, events: 1, end_ms: LOAD.end_ms + 100 * DAY_MS })
    if (next) await usageStore(loaded.db).insert(next)
    expect(await usageRollups(loaded.db).waiting()).toBe(1)
  } finally {
    await Promise.all([loaded.drop(), served.drop()])
  }
})

test('events end one after another, over all of the days, by day more than by night', () => {
  const ends = Array.from({ length: 9_001 }, (_none, n) => endOfEvent(n / 9_000, NOON))
  expect([ends[0], ends.at(-1)]).toEqual([NOON - BENCH_DAYS * DAY_MS, NOON])
  expect(ends.every((end, at) => at === 0 || end >= (ends[at - 1] as number))).toBe(true)
  const gaps = ends.slice(1, 101).map((end, at) => end - (ends[at] as number))
  expect(Math.max(...gaps) / Math.min(...gaps)).toBeGreaterThan(3)
})
