// F9: leases stay for as long as their stream is open here, and no longer.
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { streamAsk } from '../../test/support/counters-suite.ts'
import { slidingWindow } from '../limits/sliding-window.ts'
import type { Counters } from './counters.ts'
import { leaseRenewal } from './lease-renewal.ts'
import { memoryCounters } from './memory.ts'

function scene() {
  const clock = heldClock()
  const counters = memoryCounters(slidingWindow)
  const told: number[] = []
  const renewal = leaseRenewal(counters, clock, (open) => void told.push(open))
  const isFull = async () => (await counters.take([], clock.now(), [streamAsk('another', 1)])).kind === 'refused'
  const take = async () => {
    const one = streamAsk('one', 1)
    await counters.take([], clock.now(), [one])
    renewal.hold(one.lease)
    return one.lease
  }
  return { clock, counters, renewal, told, isFull, take }
}

test('F9 a lease is renewed while it is held, and free once it is given back', async () => {
  const { clock, renewal, told, isFull, take } = scene()
  const lease = await take()
  for (let n = 0; n < 100; n++) {
    clock.advance(10_000)
    await renewal.renewAll()
    expect(await isFull()).toBe(true)
  }
  await renewal.release(lease)
  await renewal.release(lease)
  expect(await isFull()).toBe(false)
  expect(told).toEqual([1, 0])
})

test('F9 what is older than any stream may be has lost its owner, and is let go of', async () => {
  const { clock, renewal, told, isFull, take } = scene()
  await take()
  clock.advance(40 * 60_000 + 1)
  await renewal.renewAll()
  expect([told, renewal.open(), await isFull()]).toEqual([[1, 0], 0, false])
})

test('F9 a lease that is given back is not brought back by the renewal that was under way', async () => {
  const { counters, clock } = scene()
  const calls: string[] = []
  const slow: Counters = {
    ...counters,
    async renew(leases) {
      calls.push(`renew ${leases.length}`)
    },
    async release() {
      calls.push('release')
    },
  }
  const renewal = leaseRenewal(slow, clock, () => {})
  const { lease } = streamAsk('one', 1)
  renewal.hold(lease)
  const renewing = renewal.renewAll()
  await renewal.release(lease)
  await renewing
  await renewal.renewAll()
  expect(calls).toEqual(['renew 1', 'release', 'renew 0'])
})
