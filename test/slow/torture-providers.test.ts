// Providers changed under load on three real servers over PostgreSQL, in the size that every test run can afford;
// `npm run torture -- providers` has the full one. The gate is also shown to catch the bugs that it is there for.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { providers } from '../torture/providers.ts'
import { newSeed } from '../torture/randomness.ts'
import { isClean, type Report, table } from '../torture/report.ts'

const small = { cycles: 1, per_second: 40, streams: 6, projects: 3, dwell_ms: 150, within_ms: 5_000, seed: newSeed() }
const foundIn = ({ checks }: Report, name: string) => checks.find((check) => check.name === name)?.found ?? []

test('0343 a provider added, changed, drained and removed under load on three replicas: no call fails', async () => {
  const report = await providers(small)
  expect(isClean(report), table(report)).toBe(true)
})

planted('0343 planted: servers that do not hear of a change are caught', async () => {
  const report = await providers({ ...small, per_second: 5, streams: 1, within_ms: 300, plant: 'deaf-to-providers' })
  expect(foundIn(report, 'changes that were not on a replica in time').length, table(report)).toBeGreaterThan(0)
})
