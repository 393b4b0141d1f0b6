import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spliceFields } from './json-splice.ts'

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
