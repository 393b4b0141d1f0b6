// R77: whether bytes are text, however they were cut into parts, and without keeping anybody waiting.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mediaTypeOf } from './media-type.ts'

const isTaken = (parts: readonly Buffer[]) => {
  try {
    return mediaTypeOf('text', 'text/plain', parts) === 'text/plain'
  } catch {
    return false
  }
}

/** As the standard's own decoder says of it as a whole. */
function isText(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return false
  }
  return !bytes.includes(0)
}

const characters = fc.array(fc.constantFrom('a', 'é', '漢', '😀', '\0', '\n'), { maxLength: 12 })
const spoiled = fc.uint8Array({ maxLength: 6 })
const cuts = fc.array(fc.nat(60), { maxLength: 8 })

test('R77 bytes are text or not, wherever they are cut', () => {
  fc.assert(
    fc.property(characters, spoiled, cuts, (words, noise, at) => {
      const bytes = Buffer.concat([Buffer.from(words.join('')), noise])
      const places = [0, ...at.filter((cut) => cut <= bytes.length).sort((a, b) => a - b), bytes.length]
      const parts = places.slice(1).map((to, n) => bytes.subarray(places[n], to))
      expect(isTaken(parts)).toBe(isText(bytes))
    }),
  )
})
