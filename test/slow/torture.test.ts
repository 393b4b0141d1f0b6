// The torture runs in the size that every test run can afford; `npm run torture` has the full ones. Each gate is also
// shown to catch the bug it is there for.
import { describe, expect, test } from 'vitest'
import { budget } from '../torture/budget.ts'
import { disconnect } from '../torture/disconnect.ts'
import { kill9 } from '../torture/kill9.ts'
import { money } from '../torture/money.ts'
import { MONEY_CHECKS } from '../torture/money-checker.ts'
import { race } from '../torture/race.ts'
import { newSeed } from '../torture/randomness.ts'
import { redis } from '../torture/redis-run.ts'
import { revoke } from '../torture/replica-revoke.ts'
import { found, foundBy, isClean, type Report, table } from '../torture/report.ts'
import { ENGINES } from '../torture/scene.ts'
import { secrets } from '../torture/secrets.ts'
import { streams } from '../torture/streams.ts'
import { STREAM_CHECKS } from '../torture/streams-checker.ts'

const seed = newSeed()

/** Shows the whole table where it is not a pass, with the seed that repeats it. */
const expectClean = (report: Report) => expect(isClean(report), table(report)).toBe(true)

describe.sequential('torture', () => {
  test.each(ENGINES)('R21 kill -9 under traffic loses, repeats and alters nothing (%s)', async (engine) => {
    expectClean(await kill9({ cycles: 10, in_flight: 32, engine, seed }))
  })

  test('R21 kill9 catches an effect that is not atomic with its kept answer', async () => {
    const report = await kill9({ cycles: 5, in_flight: 32, engine: 'sqlite', plant: 'non-atomic', seed })
    expect(found(report, 'doubled').length, table(report)).toBeGreaterThan(0)
  })

  test('§11.5 of 16 identical requests at once exactly one executes, 200 times', async () => {
    expectClean(await race({ triples: 200, at_once: 16, engine: 'sqlite', seed }))
  })

  test('§11.5 the same, spread over three servers', async () => {
    expectClean(await race({ triples: 200, at_once: 16, engine: 'postgres', replicas: 3, seed }))
  })

  test('§11.5 race catches a claim that only looks before it acts', async () => {
    const report = await race({ triples: 50, at_once: 16, engine: 'sqlite', plant: 'check-then-act', seed })
    expect(found(report, 'doubled').length, table(report)).toBeGreaterThan(0)
  })

  test('T-20 clients that leave at any moment get one effect and are never locked out', async () => {
    expectClean(await disconnect({ requests: 500, engine: 'sqlite', seed }))
  })

  test.each([
    ['an answer that is kept only for a client who stays', 'abort-bound', 'doubled'],
    ['a reservation that nobody frees', 'leaked-hold', 'stuck'],
  ] as const)('T-20 disconnect catches %s', async (_bug, plant, check) => {
    const report = await disconnect({ requests: 200, engine: 'sqlite', plant, seed })
    expect(found(report, check).length, table(report)).toBeGreaterThan(0)
  })

  test('F15 no key is accepted after its revocation was answered, although callers are remembered, 200 times', async () => {
    expectClean(await revoke({ revocations: 200, per_second: 100, engine: 'sqlite', seed }))
  })

  test('F15 revoke catches a store that does not tell of changes', async () => {
    const report = await revoke({ revocations: 10, per_second: 30, engine: 'sqlite', plant: 'silent-changes', seed })
    expect(foundBy(report, 'accepted after the answer').length, table(report)).toBeGreaterThan(0)
  })

  test('R43 a key with $5.00 pays for exactly 2,500 calls of $0.002, however many come at once', async () => {
    expectClean(await budget({ calls: 3_000, at_once: 300, engine: 'sqlite', seed }))
  })

  test('F13 money balances through aborts, broken upstreams, deadlines and kill -9', async () => {
    expectClean(await money({ calls: 200, kills: 5, in_flight: 24, engine: 'sqlite', seed }))
  })

  test.each([
    ['a hold that its charge leaves behind', 'hold-kept', 'phantom_holds'],
    ['a retry that is charged again', 'charged-again', 'charged_twice'],
    ['holds of the dead that nobody returns', 'orphans-stay', 'phantom_holds'],
  ] as const)('F13 money catches %s', async (_bug, plant, check) => {
    const report = await money({ calls: 120, kills: 2, in_flight: 24, engine: 'sqlite', plant, seed })
    expect(foundBy(report, MONEY_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
  })

  test('F9 of streams left at a random byte nothing stays open, and keyed ones are replayed', async () => {
    expectClean(await streams({ streams: 300, in_flight: 32, engine: 'sqlite', seed }))
  })

  test.each([
    ['a stream that does not hear its client leave', 'deaf', 'gauge'],
    ['an upstream that is not let go of', 'upstream-kept', 'upstream_open'],
  ] as const)('F9 streams catches %s', async (_bug, plant, check) => {
    const report = await streams({ streams: 60, in_flight: 32, engine: 'sqlite', plant, seed })
    expect(foundBy(report, STREAM_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
  })

  test('R50 F20 Redis paused, killed and flushed under three servers: nobody notices, no limit is passed', async () => {
    expectClean(await redis({ pause_s: 5, per_second: 12, seed }))
  })

  test('F7b redis catches servers that each count for themselves', async () => {
    const report = await redis({ pause_s: 5, per_second: 12, seed, plant: 'alone' })
    const passed = report.checks.find(({ name }) => name === 'keys with more than the limit in 60 s')
    expect(passed?.found.length, table(report)).toBeGreaterThan(0)
  })

  test('R20 no piece of a raw key or of an idempotency key lies in the store, its WAL or the log', async () => {
    expectClean(await secrets({ keys: 1_000, seed }))
  })
})
