// Torture of what servers count in Redis, in the size that every test run can afford; `npm run torture` has the full one.
// Both runs mostly wait, so they wait together.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { redis } from '../torture/redis-run.ts'
import { table } from '../torture/report.ts'

test.concurrent('R50 F20 Redis paused, killed and flushed under three servers: nobody notices, no limit is passed', async () => {
  expectClean(await redis({ pause_s: 5, per_second: 12, seed }))
})

planted.concurrent('F7b redis catches servers that each count for themselves', async () => {
  const report = await redis({ pause_s: 5, per_second: 12, seed, plant: 'alone' })
  const passed = report.checks.find(({ name }) => name === 'keys with more than the limit in 60 s')
  expect(passed?.found.length, table(report)).toBeGreaterThan(0)
})
