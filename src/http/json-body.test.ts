// T-34: how deep a body nests is found out without parsing it.
import { expect, test } from 'vitest'
import { isTooDeep, nestsTooDeep } from './json-body.ts'

const nested = (depth: number, open = '[', close = ']') => Buffer.from(open.repeat(depth) + close.repeat(depth))

test.each([
  ['nothing', Buffer.alloc(0), false],
  ['64 arrays', nested(64), false],
  ['65 arrays', nested(65), true],
  ['64 objects', nested(64, '{"a":', '}'), false],
  ['65 objects', nested(65, '{"a":', '}'), true],
  ['a hundred thousand', nested(100_000), true],
  ['a hundred thousand, never closed', Buffer.from('['.repeat(100_000)), true],
  ['many beside each other', Buffer.from(`[${Array(1_000).fill('[{}]').join(',')}]`), false],
  ['brackets in a text', Buffer.from(JSON.stringify('['.repeat(1_000))), false],
  ['brackets after an escaped quote', Buffer.from(JSON.stringify(`"${'['.repeat(1_000)}`)), false],
  ['brackets after a text that ends in a backslash', Buffer.from(`["\\\\",${'['.repeat(70)}${']'.repeat(71)}`), true],
])('T-34 %s', (_case, json, tooDeep) => {
  expect(isTooDeep(json)).toBe(tooDeep)
})

test.each([
  ['a text', '"a"', false],
  ['64 arrays', '['.repeat(64) + ']'.repeat(64), false],
  ['65 arrays', '['.repeat(65) + ']'.repeat(65), true],
  ['64 objects', `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, false],
  ['65 objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, true],
  ['the deep one beside a flat one', `[1,{"a":[]},${'['.repeat(64)}${']'.repeat(64)}]`, true],
])('T-34 once parsed: %s', (_case, json, tooDeep) => {
  expect(nestsTooDeep(JSON.parse(json))).toBe(tooDeep)
})

test('T-34, R77 more objects and members than any prompt has are found out without parsing them, and a long text is none', () => {
  const body = (parts: number) =>
    Buffer.from(`{"messages":[${Array(parts).fill('{}').join()}],"x":"${'{'.repeat(1e6)}"}`)
  expect([isTooDeep(body(249_996)), isTooDeep(body(249_997))]).toEqual([false, true])
})
