import fc from 'fast-check'
import { expect, test } from 'vitest'
import { respelled, spliceFields } from './json-splice.ts'

const splice = (text: string, fields: Record<string, unknown>) =>
  spliceFields({ bytes: Buffer.from(text), json: JSON.parse(text) }, fields).toString()

test.each([
  ['{}', { model: 'b' }, '{"model":"b"}'],
  ['{"model":"a"}', { model: 'b' }, '{"model":"b"}'],
  ['{ "model" : "a" , "n" : 1.0 }', { model: 'b' }, '{ "model" : "b" , "n" : 1.0 }'],
  ['{"x":{"model":"a"}}', { model: 'b' }, '{"model":"b","x":{"model":"a"}}'],
  ['{"a":"}\\"{","model":"a"}', { model: 'b' }, '{"a":"}\\"{","model":"b"}'],
  ['{"mod\\u0065l":"a"}', { model: 'b' }, '{"mod\\u0065l":"b"}'],
  ['{"n":12345678901234567890,"model":"a"}', { model: 'b' }, '{"n":12345678901234567890,"model":"b"}'],
  ['{"model":"a","model":"c"}', { model: 'b' }, '{"model":"b","model":"b"}'],
  [
    '{"stream":true}',
    { stream_options: { include_usage: true } },
    '{"stream_options":{"include_usage":true},"stream":true}',
  ],
])('§9 %s: only the named field changes', (text, fields, expected) => {
  expect(splice(text, fields)).toBe(expected)
})

test('§9 any object: the result parses to the same object with the fields set', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 0, max: 3 }), (object, indent) => {
      const { __proto__: _, ...plain } = object
      const result = JSON.parse(splice(JSON.stringify(plain, null, indent), { model: 'b', 'a"b': [1] }))
      expect(result).toEqual({ ...JSON.parse(JSON.stringify(plain)), model: 'b', 'a"b': [1] })
    }),
  )
})

const without = (text: string, names: string[], added = {}) =>
  respelled(Buffer.from(text), new Set(names), added).toString()

test.each([
  ['{}', {}, '{}'],
  ['{}', { v: 1 }, '{"v":1}'],
  ['{"model":"a"}', {}, '{}'],
  ['{"model":"a"}', { v: 1 }, '{"v":1}'],
  ['{ "model" : "a" , "n" : 1.0 }', {}, '{"n" : 1.0 }'],
  ['{"n":1.0 , "model":"a"}', {}, '{"n":1.0}'],
  ['{"a":1, "model":"x", "b":12345678901234567890 }', { v: 1 }, '{"v":1,"a":1, "b":12345678901234567890 }'],
  ['{"model":"a","n":1,"mod\\u0065l":"c"}', {}, '{"n":1}'],
  ['{"x":{"model":"a"}}', { v: 1 }, '{"v":1,"x":{"model":"a"}}'],
])('0302 %s without its model, and with %o', (text, added, expected) => {
  expect(without(text, ['model'], added)).toBe(expected)
})

test('0302 whatever an object holds, it parses to itself without those fields and with the others', () => {
  const names = fc.constantFrom('model', 'stream', 'a', 'b', 'messages', 'm\n')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(names, fc.jsonValue()), { maxLength: 8 }),
      fc.integer({ max: 4, min: 0 }),
      (list, indent) => {
        const object = Object.fromEntries(list)
        const text = JSON.stringify(object, null, indent)
        const { model: _model, stream: _stream, ...kept } = object
        expect(JSON.parse(without(text, ['model', 'stream'], { v: [1] }))).toEqual(
          JSON.parse(JSON.stringify({ v: [1], ...kept })),
        )
      },
    ),
    { numRuns: 200 },
  )
})
