// Torture of notifications, in the size that every test run can afford; `npm run torture -- events` has the full one.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { EVENT_CHECKS, events } from '../torture/events.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { foundBy, table } from '../torture/report.ts'
import { ENGINES } from '../torture/scene.ts'

const RUNS = 4

test.each(ENGINES)(
  '§notifications through kills and a bad receiver each event is told, in order (%s)',
  async (engine) => {
    expectClean(await events({ events: sized(600), kills: sized(2, 2), clusters: 20, engine, seed }))
  },
)

planted.each([
  ['an event that is written down after what it tells of', 'told-later', 'lost', 2],
  ['a retry that is overtaken', 'overtaking', 'disordered', 1],
] as const)('§notifications events catches %s', async (_bug, plant, check, kills) => {
  const run = { events: 600, kills, clusters: 10, engine: 'sqlite', plant } as const
  let report = await events({ ...run, seed })
  // By chance what is refused has nothing behind it: then there is nothing to be found.
  for (let n = 1; n < RUNS && foundBy(report, EVENT_CHECKS[check]).length === 0; n++)
    report = await events({ ...run, seed: seed + n })
  expect(foundBy(report, EVENT_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
})
