// 0351: which shard has whose counts.
import { expect, test } from 'vitest'
import { newId } from '../core/ids.ts'
import { SHARDS, SLOTS, shardOf, shardTags, slotOf } from './hash-slot.ts'

test('0351 every home has a shard, whatever its name, and the shards have about as many each', () => {
  const homes = Array.from({ length: 16_000 }, (_, n) => (n % 2 ? newId('prj') : `203.0.${n >> 8}.${n & 255}`))
  const counts = Array.from({ length: SHARDS }, () => 0)
  for (const home of ['', '::1', ...homes]) {
    const shard = shardOf(home)
    expect(Number.isInteger(shard) && shard >= 0 && shard < SHARDS, home).toBe(true)
    counts[shard] = (counts[shard] ?? 0) + 1
  }
  expect(Math.min(...counts)).toBeGreaterThan(700)
  expect(Math.max(...counts)).toBeLessThan(1_300)
})

test('0351 there is one tag in each sixteenth of the slots', () => {
  const parts = shardTags('switchyard').map((tag) => Math.floor((slotOf(tag) * SHARDS) / SLOTS))
  expect(parts).toEqual(Array.from({ length: SHARDS }, (_, n) => n))
})
