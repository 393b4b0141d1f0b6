// Native shortcuts must say what the plain way says, byte for byte.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOfString, fieldFromEnd, textOf } from './json-bytes.ts'
import { isBeyond } from './json-survey.ts'

const RUNS = { numRuns: 2_000, seed: 20_261_116 }

test.each([
  ['nothing', ''],
  ['ASCII', '{"a":"b\\n"}'],
  ['a NUL', 'a\0b'],
  ['a byte order mark', '\uFEFF{}'],
  ['Latin', 'línea «uno»'],
  ['Chinese', '你好世界'],
  ['beyond the first plane', 'a 🙂 b'],
])('§4 the text of %s is what its bytes say', (_, text) => {
  expect(textOf(Buffer.from(text))).toBe(text)
})

const texts = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text))
const bytesOfAnyKind = fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some))

test('§4 any text, and any bytes that are none, read as they always did', () => {
  fc.assert(
    fc.property(fc.oneof(texts, bytesOfAnyKind), (bytes) => {
      expect(textOf(bytes)).toBe(bytes.toString('utf8'))
    }),
    RUNS,
  )
})

/** Byte by byte. */
function plainEnd(json: Buffer, from: number): number {
  for (let at = from + 1; at < json.length; at++) {
    if (json[at] === 0x5c) at++
    else if (json[at] === 0x22) return at + 1
  }
  return json.length
}

const piece = fc.constantFrom('"', '\\', '\\\\', '\\"', 'x', 'x'.repeat(61), 'x'.repeat(62), 'x'.repeat(63), 'é')
const pieces = fc.array(piece, { maxLength: 40 })

test('§9 a string ends where it ends byte by byte, wherever quotes and backslashes stand', () => {
  fc.assert(
    fc.property(pieces, fc.nat(5), (some, from) => {
      const json = Buffer.from(`${'['.repeat(from)}"${some.join('')}`)
      expect(endOfString(json, from)).toBe(plainEnd(json, from))
    }),
    RUNS,
  )
})

test('§9 planted: a search for quotes that forgets what escapes them is caught', () => {
  const json = Buffer.from(`"${'x'.repeat(100)}\\" more"`)
  expect(json.indexOf('"', 1) + 1).not.toBe(plainEnd(json, 0))
  expect(endOfString(json, 0)).toBe(plainEnd(json, 0))
})

test.each([
  ['at the end', '{"a":[{"usage":1}],"usage":{"b":2}}', { b: 2 }],
  ['before others', '{"usage":{"b":2},"é":"usage","c":[]}', undefined],
  ['before others, spaced', '{ "usage" : { "b" : 2 } , "c" : [] }\n', { b: 2 }],
  ['twice: the last, as ever', '{"usage":1,"usage":2}', 2],
  ['only further in', '{"a":{"usage":1}}', undefined],
  ['further in, after the outermost', '{"usage":1,"a":{"usage":2}}', undefined],
  ['within a text', '{"a":"\\"usage\\":1}"}', undefined],
  ['the end of another name', '{"a\\"usage":1}', undefined],
  ['as a value', '{"a":"usage"}', undefined],
  ['nowhere', '{"a":1}', undefined],
  ['of what is no JSON', '"usage"', undefined],
])('§6.4 a field from the end, %s', (_, json, expected) => {
  expect(fieldFromEnd(Buffer.from(json), 'usage', 1_000)).toEqual(expected)
})

test('§6.4 any object: what is found from the end is what the whole of it says', () => {
  let times = 0
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('usage', 'a', 'b'), fc.jsonValue()), fc.nat(2), (object, indent) => {
      const found = fieldFromEnd(Buffer.from(JSON.stringify(object, null, indent)), 'usage', 10_000)
      if (found === undefined) return
      times++
      expect(found).toEqual(JSON.parse(JSON.stringify(object)).usage)
    }),
    RUNS,
  )
  expect(times).toBeGreaterThan(RUNS.numRuns / 5)
})

test('§4 depth is counted outside of texts only', () => {
  const json = (levels: number) => Buffer.from(`${'['.repeat(levels)}"${'['.repeat(200)}"${']'.repeat(levels)}`)
  const bounds = { levels: 64, parts: 1_000, values: 1_000, width: 1_000 }
  expect([isBeyond(bounds, json(64)), isBeyond(bounds, json(65))]).toEqual([false, true])
})

test('§4 arrays and objects are counted, inside each other or side by side, outside of texts only', () => {
  const json = (parts: number) =>
    Buffer.from(
      `["${'{'.repeat(200)}",${Array(parts - 1)
        .fill('{}')
        .join()}]`,
    )
  const bounds = { levels: 64, parts: 100, values: 1_000, width: 1_000 }
  expect([isBeyond(bounds, json(100)), isBeyond(bounds, json(101))]).toEqual([false, true])
})
