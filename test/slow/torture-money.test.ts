// Torture of budgets, in the size that every test run can afford; `npm run torture` has the full ones. Each gate is also
// shown to catch the bug it is there for.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { budget } from '../torture/budget.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { money } from '../torture/money.ts'
import { MONEY_CHECKS } from '../torture/money-checker.ts'
import { foundBy, table } from '../torture/report.ts'

test('R43 a key with $5.00 pays for exactly 2,500 calls of $0.002, however many come at once', async () => {
  expectClean(await budget({ calls: 3_000, at_once: 300, engine: 'sqlite', seed }))
})

test('F13 money balances through aborts, broken upstreams, deadlines and kill -9', async () => {
  expectClean(await money({ calls: sized(160, 80), kills: sized(4, 2), in_flight: 24, engine: 'sqlite', seed }))
})

planted.each([
  ['a hold that its charge leaves behind', 'hold-kept', 'phantom_holds'],
  ['a retry that is charged again', 'charged-again', 'charged_twice'],
  ['holds of the dead that nobody returns', 'orphans-stay', 'phantom_holds'],
] as const)('F13 money catches %s', async (_bug, plant, check) => {
  const report = await money({ calls: 120, kills: 2, in_flight: 24, engine: 'sqlite', plant, seed })
  expect(foundBy(report, MONEY_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
})
