import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LastBytes } from './last-bytes.ts'

test('R77 in whatever parts bytes come, the last of them are there', () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)))
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 20 }), (all, most) => {
      const last = new LastBytes(most)
      for (const part of all) last.add(part)
      expect(last.bytes()).toEqual(Buffer.concat(all).subarray(-most))
    }),
  )
})
