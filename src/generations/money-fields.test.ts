// R76 as tables: what is refused before anybody is called, and what is not mistaken for it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkMoneyFields } from './money-fields.ts'

const BEFORE = '{"model":"m","messages":[{"role":"user","content":"hello"}]'

const check = (text: string) => checkMoneyFields({ bytes: Buffer.from(text), json: JSON.parse(text) })
const refusal = (named: string) =>
  expect.objectContaining({ kind: 'invalid_request', message: expect.stringContaining(`'${named}'`) })

const COUNTS = ['n', 'best_of', 'max_tokens', 'max_completion_tokens', 'max_output_tokens']
const NO_COUNTS = ['"4000"', '0', '-5', '1.5', 'true', '[]', '{}', '1e300', '""']

test.each(COUNTS.flatMap((name) => NO_COUNTS.map((value) => [name, value])))('R76 %s: %s is none', (name, value) => {
  expect(() => check(`${BEFORE},"${name}":${value}}`)).toThrow(refusal(name))
})

test.each(COUNTS)('R76 %s: 1 and null are fine', (name) => {
  for (const value of ['1', 'null', '1.0', '1e0']) check(`${BEFORE},"${name}":${value}}`)
})

test.each(['n', 'best_of'])('R76 %s: 128 is the most', (name) => {
  check(`${BEFORE},"${name}":128}`)
  expect(() => check(`${BEFORE},"${name}":129}`)).toThrow(refusal(name))
})

// An upstream that reads 1 as true would answer with a stream that nobody expects (R9).
test.each([
  ['"stream":1', 'stream'],
  ['"stream":"true"', 'stream'],
  ['"stream":{}', 'stream'],
  ['"stream_options":"x"', 'stream_options'],
  ['"stream_options":[1]', 'stream_options'],
  ['"stream_options":{"include_usage":1}', 'stream_options.include_usage'],
])('R76 %s is no switch', (field, name) => {
  expect(() => check(`${BEFORE},${field}}`)).toThrow(refusal(name))
})

// The one parser keeps the first, the other the last: held for the one, sent for the other.
test.each([
  ['"max_tokens":1,"max_tokens":4000', 'max_tokens'],
  ['"max_tokens":1,"max\\u005ftokens":4000', 'max_tokens'],
  ['"\\u006dax_tokens":1,"\\u006Dax_tokens":4000', 'max_tokens'],
  ['"n":1,"\\u006e":64', 'n'],
  ['"n" : 1 , "n" : 1', 'n'],
  ['"max_completion_tokens":null,"max_completion_tokens":5', 'max_completion_tokens'],
  ['"stream":false,"x":"}\\"{","stream":true', 'stream'],
  ['"model":"other"', 'model'],
  ['"stream":true,"stream_options":{},"stream_options":{}', 'stream_options'],
  ['"stream_options":{"include_usage":false,"include_usage":true}', 'stream_options.include_usage'],
  ['"stream_options":{"include_usage":false,"\\u0069nclude_usage":true}', 'stream_options.include_usage'],
])('R76 given twice: %s', (fields, name) => {
  expect(() => check(`${BEFORE},${fields}}`)).toThrow(refusal(name))
  const long = `"x":"${'long '.repeat(20_000)}"` // where nothing is searched for first
  expect(() => check(`${BEFORE},${long},${fields}}`)).toThrow(refusal(name))
})

test.each([
  ['Max_Tokens', 'max_tokens'],
  ['MAX_TOKENS', 'max_tokens'],
  ['N', 'n'],
  ['Stream', 'stream'],
  ['\\u004d\\u006fdel', 'model'],
  ['max_to\u212aens', 'max_tokens'], // the Kelvin sign is a k to some parsers
  ['max_token\u017f', 'max_tokens'], // and the long s an s
])('R76 in another case: %s', (name, right) => {
  expect(() => check(`${BEFORE},"${name}":1}`)).toThrow(refusal(right))
})

test.each([
  ['the same name deeper down', '"max_tokens":1,"tools":[{"max_tokens":{"model":1}}],"n":1,"metadata":{"n":"1"}'],
  ['the same name as a text', '"max_tokens":1,"stop":["max_tokens","stream","model"]'],
  ['a text that quotes it', '"max_tokens":1,"user":"\\"max_tokens\\": 5, \\"max_tokens\\": 6"'],
  ['escapes of other letters', '"max_tokens":1,"user":"\\u00e9\\u00e9\\u0041\\u0061"'],
  ['names that begin or end like it', '"max_tokens":1,"max_tokens_":5,"xmax_tokens":6,"Nn":1'],
  ['usage that somebody else includes', '"stream_options":{"include_usage":true},"x":{"include_usage":[]}'],
])('R76 is not mistaken for: %s', (_what, fields) => {
  check(`${BEFORE},${fields}}`)
})

test('R76 any body with one such field twice is refused, however it is spelled; with none, never', () => {
  const names = fc.constantFrom('model', 'n', 'max_tokens', 'stream', 'max_output_tokens')
  const spelled = (name: string, escapes: readonly boolean[]) =>
    [...name].map((letter, at) => (escapes[at] ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter)).join('')
  const others = fc.dictionary(
    fc
      .string()
      .filter(
        (name) => name !== '__proto__' && !/^(?:model|n|max_tokens|stream|stream_options|best_of|max_.*)$/i.test(name),
      ),
    fc.jsonValue(),
    { maxKeys: 5 },
  )
  const run = fc.property(names, fc.array(fc.boolean(), { maxLength: 20 }), others, (name, escapes, more) => {
    const rest = JSON.stringify(more).slice(1, -1)
    const field = `"${name}":null`
    const tail = rest === '' ? '' : `,${rest}`
    check(`{${field}${tail}}`)
    expect(() => check(`{${field}${tail},"${spelled(name, escapes)}":null}`)).toThrow(refusal(name))
  })
  fc.assert(run, { numRuns: 500 })
})
