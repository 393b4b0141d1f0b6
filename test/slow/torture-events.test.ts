// Torture of notifications, in the size that every test run can afford; `npm run torture -- events` has the full one.
import { expect, test } from 'vitest'
import { EVENT_CHECKS, events } from '../torture/events.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { foundBy, table } from '../torture/report.ts'
import { ENGINES } from '../torture/scene.ts'

test.each(ENGINES)(
  '§notifications through kills and a bad receiver each event is told, in order (%s)',
  async (engine) => {
    expectClean(await events({ events: 1_000, kills: 2, clusters: 20, engine, seed }))
  },
)

test.each([
  ['an event that is written down after what it tells of', 'told-later', 'lost', 2],
  ['a retry that is overtaken', 'overtaking', 'disordered', 1],
] as const)('§notifications events catches %s', async (_bug, plant, check, kills) => {
  const report = await events({ events: 600, kills, clusters: 10, engine: 'sqlite', plant, seed })
  expect(foundBy(report, EVENT_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
})
