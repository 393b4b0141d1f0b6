// Torture of streams and of what remembers keys, in the size that every test run can afford; `npm run torture` has the
// full ones. Each gate is also shown to catch the bug it is there for.
import { expect, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { revoke } from '../torture/replica-revoke.ts'
import { foundBy, table } from '../torture/report.ts'
import { secrets } from '../torture/secrets.ts'
import { streams } from '../torture/streams.ts'
import { STREAM_CHECKS } from '../torture/streams-checker.ts'

test('F9 of streams left at a random byte nothing stays open, and keyed ones are replayed', async () => {
  expectClean(await streams({ streams: sized(100), in_flight: 32, engine: 'sqlite', seed }))
})

planted.each([
  ['a stream that does not hear its client leave', 'deaf', 'gauge'],
  ['an upstream that is not let go of', 'upstream-kept', 'upstream_open'],
] as const)('F9 streams catches %s', async (_bug, plant, check) => {
  const report = await streams({ streams: 40, in_flight: 32, engine: 'sqlite', plant, seed })
  expect(foundBy(report, STREAM_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
})

test('F15 no key is accepted after its revocation was answered, although callers are remembered', async () => {
  expectClean(await revoke({ revocations: sized(60), per_second: 100, engine: 'sqlite', seed }))
})

planted('F15 revoke catches a store that does not tell of changes', async () => {
  const report = await revoke({ revocations: 10, per_second: 30, engine: 'sqlite', plant: 'silent-changes', seed })
  expect(foundBy(report, 'accepted after the answer').length, table(report)).toBeGreaterThan(0)
})

test('R20 no piece of a raw key or of an idempotency key lies in the store, its WAL or the log', async () => {
  expectClean(await secrets({ keys: sized(150), seed }))
})
