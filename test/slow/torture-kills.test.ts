// Torture of idempotency, in the size that every test run can afford: kills, races, clients that leave. `npm run torture`
// has the full ones. Each gate is also shown to catch the bug it is there for.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { disconnect } from '../torture/disconnect.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { kill9 } from '../torture/kill9.ts'
import { race } from '../torture/race.ts'
import { found, table } from '../torture/report.ts'
import { ENGINES } from '../torture/scene.ts'

test.each(ENGINES)('R21 kill -9 under traffic loses, repeats and alters nothing (%s)', async (engine) => {
  expectClean(await kill9({ cycles: sized(4, 2), in_flight: 32, engine, seed }))
})

planted('R21 kill9 catches an effect that is not atomic with its kept answer', async () => {
  const report = await kill9({ cycles: 4, in_flight: 32, engine: 'sqlite', plant: 'non-atomic', seed })
  expect(found(report, 'doubled').length, table(report)).toBeGreaterThan(0)
})

test('§11.5 of 16 identical requests at once exactly one executes, again and again', async () => {
  expectClean(await race({ triples: sized(60), at_once: 16, engine: 'sqlite', seed }))
})

test('§11.5 the same, spread over three servers', async () => {
  expectClean(await race({ triples: sized(60), at_once: 16, engine: 'postgres', replicas: 3, seed }))
})

planted('§11.5 race catches a claim that only looks before it acts', async () => {
  const run = { triples: 50, at_once: 16, engine: 'sqlite', plant: 'check-then-act' } as const
  let report = await race({ ...run, seed })
  // On a quick machine all sixteen may come before the first is done: then there is nothing to be found.
  for (let n = 1; n < 4 && found(report, 'doubled').length === 0; n++) report = await race({ ...run, seed: seed + n })
  expect(found(report, 'doubled').length, table(report)).toBeGreaterThan(0)
})

test('T-20 clients that leave at any moment get one effect and are never locked out', async () => {
  expectClean(await disconnect({ requests: sized(150), engine: 'sqlite', seed }))
})

planted.each([
  ['an answer that is kept only for a client who stays', 'abort-bound', 'doubled'],
  ['a reservation that nobody frees', 'leaked-hold', 'stuck'],
] as const)('T-20 disconnect catches %s', async (_bug, plant, check) => {
  const report = await disconnect({ requests: 120, engine: 'sqlite', plant, seed })
  expect(found(report, check).length, table(report)).toBeGreaterThan(0)
})
