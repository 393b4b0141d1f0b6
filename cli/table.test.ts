// Output for people: alignment, money, and names that try to drive the terminal.
import { expect, test } from 'vitest'
import { card, dollars, table, when } from './table.ts'

test('§2 columns are aligned, numbers to the right, and no line ends in spaces', () => {
  const rows = [
    ['a', '9.5', 'x'],
    ['long name', '-10', ''],
  ]
  expect(table(['NAME', 'MS', 'NOTE'], rows)).toBe('NAME        MS  NOTE\na          9.5  x\nlong name  -10\n')
})

test('§2 wide and combining characters take the columns that a terminal gives them', () => {
  const rows = [
    ['東京', '|'],
    ['e\u0301te', '|'],
  ]
  expect(table(['N', 'X'], rows)).toBe('N     X\n東京  |\ne\u0301te   |\n')
})

test('§2 an empty list still has its headings', () => {
  expect(table(['ID', 'NAME'], [])).toBe('ID  NAME\n')
})

test('R70 a list of any length is a table', () => {
  const text = table(['ID', 'N'], [...Array(200_000).fill(['key', '1']), ['a longer one', '1']])
  expect([text.split('\n').length, text.slice(0, 16)]).toEqual([200_003, 'ID            N\n'])
})

test('§2 escape sequences and line ends in a name are shown, not obeyed', () => {
  expect(card({ Name: 'a\u001b[31mb\nc\u202ed' })).toBe('Name  a\\u{1b}[31mb\\u{a}c\\u{202e}d\n')
})

test.each([
  [0, '$0.00'],
  [1, '$0.000001'],
  [8_200_000, '$8.20'],
  [1_250_000_000, '$1250.00'],
  [123_456_789, '$123.456789'],
  [9_007_199_254_740_991, '$9007199254.740991'],
])('R6 %i micros are shown exactly', (micros, text) => {
  expect(dollars(micros)).toBe(text)
})

test('§2 a time is shown to the second, an absent one as a dash', () => {
  expect([when('2026-11-15T12:00:00.123Z'), when(null), when(undefined)]).toEqual(['2026-11-15 12:00:00 UTC', '-', '-'])
})
