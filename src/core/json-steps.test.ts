// R77: what is parsed in steps is what JSON.parse says, and no step takes long.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BeyondBudget, BUDGETS, jsonWithin } from './foreign.ts'
import { jsonInSteps } from './json-steps.ts'
import { atOnce, inTurns } from './turns.ts'

const RUNS = { numRuns: 400, seed: 20_261_117 }
const WIDE = { levels: 1_000, parts: 1e9, values: 1e9, width: 1e9 }
const beyond = () => new BeyondBudget('too much')

/** With runs of so few bytes that nearly everything counts as large. */
const inSteps = (text: string | Buffer, run_bytes: number, bounds = WIDE) =>
  atOnce(jsonInSteps(Buffer.from(text), bounds, beyond, run_bytes))

type Outcome = { value: unknown } | 'no JSON'

function outcome(parse: () => unknown): Outcome {
  try {
    return { value: parse() }
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return 'no JSON'
  }
}

/** To compare is quicker than to expect, which thousands of times is most of what a test takes. */
function same(found: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted)
}

const texts = fc.string({ unit: 'binary', maxLength: 60 })
const names = fc.oneof(texts, fc.constantFrom('', '__proto__', 'constructor', 'a', '7'))
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(texts, fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(names, tie('value'), { maxKeys: 6 }),
  ),
}))
const sizes = fc.constantFrom(8, 9, 12, 16, 24, 40, 100)

test('R77 any value that is parsed in steps is the one that JSON.parse makes, names and their order too', () => {
  fc.assert(
    fc.property(values, fc.nat(2), sizes, (value, indent, run_bytes) => {
      const text = JSON.stringify(value, null, indent)
      const parsed = inSteps(text, run_bytes)
      same(parsed, JSON.parse(text))
      same(JSON.stringify(parsed), JSON.stringify(JSON.parse(text)))
    }),
    RUNS,
  )
})

test('R77 what JSON.parse refuses is refused, wherever a value was damaged', () => {
  const damage = fc.constantFrom('', ',', ':', '"', '\\', '[', ']', '{', '}', '0', ' ', '\u0001', 'x', '\\u12', 'é')
  let refused = 0
  fc.assert(
    fc.property(values, fc.nat(), damage, fc.tuple(fc.nat(2), sizes), (value, place, what, [cut, run_bytes]) => {
      const text = JSON.stringify(value)
      const at = place % (text.length + 1)
      const damaged = Buffer.from(text.slice(0, at) + what + text.slice(at + cut))
      const expected = outcome(() => JSON.parse(damaged.toString()))
      const found = outcome(() => inSteps(damaged, run_bytes))
      if (expected === 'no JSON') refused++
      same(found, expected)
    }),
    RUNS,
  )
  expect(refused).toBeGreaterThan(RUNS.numRuns / 4)
})

test.each([
  '[]',
  '{}',
  '""',
  ' [ ] ',
  '[1,]',
  '[,1]',
  '[1,,2]',
  '[1 2]',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  '[[1,2,3,4,5,6,7,8] [1]]',
  '[[1,2,3,4,5,6,7,8]}',
  '[[1,2,3,4,5,6,7,8],]',
  '[[1,2,3,4,5,6,7,8]]]',
  '[[1,2,3,4,5,6,7,8]',
  '{"a":[1,2,3,4,5,6,7,8] "b":1}',
  '{"a":[1,2,3,4,5,6,7,8],}',
  '{[1,2,3,4,5,6,7,8]:1}',
  '{"a much longer name than the others have":1,"b":2}',
  '["\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\ud83d\\ude42\\ud83d\\ude42\\\\\\\\\\\\"]',
  '["🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂"]',
  '["a\nb and a text that goes on for a while after it"]',
])('R77 %s is to both what it is', (text) => {
  for (const run_bytes of [8, 9, 10, 12, 20])
    expect(outcome(() => inSteps(text, run_bytes))).toEqual(outcome(() => JSON.parse(text)))
})

describe('R77 bounds', () => {
  const bounds = { levels: 4, parts: 20, values: 100, width: 9 }
  test.each([
    ['4 levels', '[[[["some text"]]]]', false],
    ['5 levels', '[[[[["some text"]]]]]', true],
    ['20 arrays', `[${Array(19).fill('[]').join()}]`, false],
    ['21 arrays', `[${Array(20).fill('[]').join()}]`, true],
    ['an object of 9 members', `{${Array(9).fill('"a":1').join()}}`, false],
    ['an object of 10 members', `{${Array(10).fill('"a":1').join()}}`, true],
    [
      'objects of 9 members within each other',
      `{${Array(8).fill('"a":1').join()},"b":{${Array(9).fill('"a":1').join()}}}`,
      false,
    ],
    ['one of 10 members behind another', `[{},{${Array(10).fill('"a":1').join()}}]`, true],
    ['21 objects and members', `[${Array(10).fill('{"a":1}').join()}]`, true],
    ['100 numbers', `[${Array(100).fill('7').join()}]`, false],
    ['101 numbers', `[${Array(101).fill('7').join()}]`, true],
    ['a text of brackets and commas', `["${'[{:,'.repeat(500)}"]`, false],
  ])('%s', (_what, text, is_beyond) => {
    const parse = () => inSteps(text, 8, bounds)
    if (is_beyond) expect(parse).toThrow(BeyondBudget)
    else expect(parse()).toEqual(JSON.parse(text))
  })
})

const MIB = 1024 * 1024
const filled = (piece: (n: number) => string, bytes: number) => {
  const pieces: string[] = []
  for (let n = 0, length = 0; length < bytes; n++) {
    const next = piece(n)
    pieces.push(next)
    length += next.length + 1
  }
  return pieces.join()
}

// The values that cost native code most for their bytes, each as large as its budget lets it be.
const COSTLY: [string, () => string][] = [
  ['a text', () => `{"a":"${'some words '.repeat(1.4 * MIB)}"}`],
  ['a text of escapes', () => `{"a":"${'\\u4e2d\\n'.repeat(1.9 * MIB)}"}`],
  ['a text of escaped quotes', () => `{"a":"${'\\"'.repeat(7.9 * MIB)}"}`],
  ['a text of backslashes', () => `{"a":"${'\\\\'.repeat(7.9 * MIB)}"}`],
  ['an object of names that differ', () => `{${Array.from({ length: 249_000 }, (_, n) => `"k${n}":${n}`).join()}}`],
  ['an object of numbers as names', () => `{${Array.from({ length: 249_000 }, (_, n) => `"${n * 7}":0`).join()}}`],
  ['objects of names that differ', () => `[${Array.from({ length: 124_000 }, (_, n) => `{"k${n}":1}`).join()}]`],
  ['a million numbers', () => `[${filled((n) => `${n}.5e-${n % 9}`, 10 * MIB)}]`],
  ['a million texts', () => `[${filled((n) => `"${n}"`, 8 * MIB)}]`],
  ['blanks', () => `${' '.repeat(15 * MIB)}[1]`],
  [
    'towers',
    () =>
      `[${Array(900)
        .fill(`${'['.repeat(60)}"${'x'.repeat(17_000)}"${']'.repeat(60)}`)
        .join()}]`,
  ],
]

test.each(COSTLY)('R77 no step over %s is long, and the value is right', (what, text) => {
  const json = Buffer.from(text())
  expect(json.length).toBeLessThanOrEqual(BUDGETS.answer.bytes)
  const steps = jsonInSteps(json, { ...BUDGETS.answer, width: 1e9 }, beyond)
  const spent: number[] = []
  for (;;) {
    const before = process.cpuUsage()
    const step = steps.next()
    const { user, system } = process.cpuUsage(before)
    spent.push((user + system) / 1_000)
    if (!step.done) continue
    expect(isDeepStrictEqual(step.value, JSON.parse(json.toString()))).toBe(true)
    break
  }
  const longest_ms = Math.max(...spent)
  process.stdout.write(`${what}: ${spent.length} steps, the longest ${longest_ms.toFixed(1)} ms of CPU\n`)
  expect(longest_ms).toBeLessThan(2_000)
})

test.each([
  ['a number without end', `[${'7'.repeat(MIB)}]`],
  ['arrays that never close', `[${'[],'.repeat(200_000)}`],
])('R77 %s is no JSON, and native code never sees it', (_what, text) => {
  expect(() => atOnce(jsonInSteps(Buffer.from(text), WIDE, beyond))).toThrow('no JSON')
})

test('R77 blanks before and after are skipped, however many; within, as many as anybody means', () => {
  const [many, some] = [' '.repeat(2 * MIB), ' '.repeat(60_000)]
  const text = `${many}{${some}"a"${some}:${some}[${some}1${some},${some}2${some}]${some}}${many}`
  expect(atOnce(jsonInSteps(Buffer.from(text), WIDE, beyond))).toEqual({ a: [1, 2] })
  expect(atOnce(jsonInSteps(Buffer.from(`${many}7${many}`), WIDE, beyond))).toBe(7)
  expect(() => atOnce(jsonInSteps(Buffer.from(`[${many}7]`), WIDE, beyond))).toThrow('no JSON at byte')
})

test('R77 a value beyond its budget is never parsed, and one within it is there at once where it is small', async () => {
  expect(jsonWithin(BUDGETS.answer, Buffer.from('{"a":1}'))).toEqual({ a: 1 })
  expect(() => jsonWithin(BUDGETS.said, Buffer.alloc(BUDGETS.said.bytes + 1, ' '))).toThrow(BeyondBudget)
  const read = async (text: string) => jsonWithin(BUDGETS.answer, Buffer.from(text))
  for (const more of [0, 5_000_000])
    await expect(read(`{"a":"${'x'.repeat(more)}","choices":[${Array(250_001).fill('[]').join()}]}`)).rejects.toThrow(
      BeyondBudget,
    )
  await expect(read(`[${'1,'.repeat(50_000)}`)).rejects.toThrow(SyntaxError)
  expect(await read(`[${'1,'.repeat(50_000)}1]`)).toHaveLength(50_001)
})

test('R77 however many are parsed in steps at once, each turn of the loop has one step', async () => {
  const order: string[] = []
  function* work(name: string): Generator<void, string> {
    for (let n = 0; n < 3; n++) {
      order.push(name)
      yield
    }
    return name
  }
  const turns: number[] = []
  let is_over = false
  const watch = () => {
    turns.push(order.length)
    if (!is_over) setImmediate(watch)
  }
  setImmediate(watch)
  expect(await Promise.all([inTurns(work('a')), inTurns(work('b'))])).toEqual(['a', 'b'])
  is_over = true
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  const most = Math.max(...turns.map((count, at) => count - (turns[at - 1] ?? 0)))
  expect(most).toBe(1)
})
