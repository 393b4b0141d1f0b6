// Three real servers over one PostgreSQL, in the size that every test run can afford; `npm run torture` has the full
// ones. Each gate is also shown to catch the bug it is there for.
import { describe, expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { newSeed } from '../torture/randomness.ts'
import { postmaster } from '../torture/replica-postmaster.ts'
import { revoke } from '../torture/replica-revoke.ts'
import { rolling } from '../torture/replica-rolling.ts'
import { isClean, type Report, table } from '../torture/report.ts'

const seed = newSeed()

const expectClean = (report: Report) => expect(isClean(report), table(report)).toBe(true)
const foundIn = ({ checks }: Report, name: string) => checks.find((check) => check.name === name)?.found ?? []

describe.sequential('three replicas', () => {
  test('F15 no key is accepted anywhere after its revocation was answered', async () => {
    expectClean(await revoke({ revocations: sized(40), per_second: 50, seed }))
  })

  planted('F15 revoke catches a memory of keys that only time ends', async () => {
    const report = await revoke({ revocations: 10, per_second: 30, plant: 'auth-cache', seed })
    expect(foundIn(report, 'accepted after the answer').length, table(report)).toBeGreaterThan(0)
  })

  test('F21 PostgreSQL killed under traffic: nothing lost, nothing twice, nothing hangs, every refusal says so', async () => {
    expectClean(await postmaster({ kills: sized(2), in_flight: 16, seed }))
  })

  test('F22 servers restarted under load and open streams: nothing failed, nothing cut off', async () => {
    expectClean(await rolling({ restarts: sized(3, 2), per_second: 20, streams: 6, seed }))
  })

  planted('F22 rolling catches a server that does not drain', async () => {
    const report = await rolling({ restarts: 3, per_second: 20, streams: 10, plant: 'abrupt-stop', seed })
    expect(foundIn(report, 'streams failed or truncated').length, table(report)).toBeGreaterThan(0)
  })
})
