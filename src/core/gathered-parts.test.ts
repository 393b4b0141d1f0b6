// Parts that wait until they are wanted: none is lost, none is copied without need, and tiny ones do not pile up.
import { expect, test } from 'vitest'
import { GatheredParts } from './gathered-parts.ts'

test('T-86 a million parts of a byte each are kept as a few thousand', () => {
  const gathered = new GatheredParts()
  const all = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => at % 251))
  for (let at = 0; at < all.length; at++) gathered.add(all.subarray(at, at + 1))
  expect(gathered.bytes).toBe(all.length)
  const parts = gathered.take()
  expect(parts.length).toBeLessThan(3_000)
  expect(Buffer.concat(parts).equals(all)).toBe(true)
})

test('T-86 parts without bytes are not kept at all', () => {
  const gathered = new GatheredParts()
  for (let at = 0; at < 10; at++) gathered.add(Buffer.alloc(0))
  expect(gathered.take()).toEqual([])
})

test('R26 a few parts are handed back as they came, and once', () => {
  const gathered = new GatheredParts()
  const [one, two] = [Buffer.from('one'), Buffer.from('two')]
  gathered.add(one)
  gathered.add(two)
  const parts = gathered.take()
  expect([parts[0] === one, parts[1] === two, parts.length]).toEqual([true, true, 2])
  expect([gathered.bytes, gathered.take()]).toEqual([0, []])
})
