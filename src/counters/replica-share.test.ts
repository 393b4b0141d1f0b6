// R50: shares add up to the limit, whatever it is and however many share it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ALONE, placeAmong, shareOf } from './replica-share.ts'

test('R50 the shares of all replicas are the limit, and differ by one at the most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), fc.integer({ min: 1, max: 100 }), (limit, replicas) => {
      const shares = Array.from({ length: replicas }, (_, rank) => shareOf(limit, { rank, replicas }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
  expect(shareOf(7, ALONE)).toBe(7)
})

test('R50 every replica finds the same order, each its own place', () => {
  const places = ['b', 'c', 'a'].map((own) => placeAmong(['c', 'a', 'b'], own))
  expect(places).toEqual([
    { rank: 1, replicas: 3 },
    { rank: 2, replicas: 3 },
    { rank: 0, replicas: 3 },
  ])
})

test('R50 one that is not on record yet counts itself in', () => {
  expect(placeAmong([], 'a')).toEqual({ rank: 0, replicas: 1 })
  expect(placeAmong(['a', 'c'], 'b')).toEqual({ rank: 1, replicas: 3 })
})
