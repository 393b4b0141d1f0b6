// A hostile tenant beside a victim, in the size that every test run can afford; `npm run torture -- hostile` has every
// attack, on both stores, and judges latencies too.
import { expect, test } from 'vitest'
import { expectClean, seed } from '../torture/gates.ts'
import { hostile } from '../torture/hostile.ts'

test('R76 R77 a tenant with giant answers and lax money fields gains nothing and disturbs nobody', async () => {
  const run = await hostile({ engine: 'sqlite', seconds: 4, attacks: ['giant-answer', 'lax-money'], seed })
  expectClean(run)
  for (const { trial, outcomes } of run.tried) {
    expect(trial.under.length).toBeGreaterThan(100)
    expect(outcomes.every(({ statuses }) => Object.keys(statuses).length > 0)).toBe(true)
  }
})
