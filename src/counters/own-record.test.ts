// R50: what a replica let through, by second; what of it Redis has yet to hear of; and that its memory ends.
import { expect, test } from 'vitest'
import { ownRecord } from './own-record.ts'

const SIZE = 61
const entry = (second: number, cell = 'a', amount = 1) => ({ second, cell, amount })

test('R50 what is told counts as known; when Redis has forgotten, all of the window is told again', () => {
  const record = ownRecord(SIZE)
  record.addKnown(entry(100))
  record.addUnknown(entry(101, 'a', 2))
  record.addUnknown(entry(101, 'b', 3))
  record.addUnknown(entry(101, 'b', 4))
  expect(record.tell(10, 102)).toEqual([entry(101, 'a', 2), entry(101, 'b', 7)])
  expect(record.tell(10, 102)).toEqual([])
  record.forgetKnown(102)
  expect(record.tell(10, 102)).toEqual([entry(100), entry(101, 'a', 2), entry(101, 'b', 7)])
})

test('R50 what has passed out of the window is told to nobody', () => {
  const record = ownRecord(SIZE)
  record.addUnknown(entry(100))
  record.addUnknown(entry(140))
  expect(record.tell(10, 161)).toEqual([entry(140)])
})

test('R50 it is told in parts, none of them twice', () => {
  const record = ownRecord(SIZE)
  for (let n = 0; n < 25; n++) record.addUnknown(entry(100 + (n % 2), `cell ${n}`))
  const parts = [record.tell(10, 110), record.tell(10, 110), record.tell(10, 110), record.tell(10, 110)]
  expect(parts.map(({ length }) => length)).toEqual([10, 10, 5, 0])
  expect(new Set(parts.flat().map(({ cell }) => cell)).size).toBe(25)
})

test('F10 a correction is for whoever has it on record, and leaves nothing below nothing', () => {
  const record = ownRecord(SIZE)
  record.addUnknown(entry(100, 'a', 10))
  expect(record.correctUnknown(entry(100, 'a', -4))).toBe(true)
  expect(record.correctUnknown(entry(100, 'b', -4))).toBe(false)
  expect(record.correctUnknown(entry(99, 'a', -4))).toBe(false)
  expect(record.tell(10, 100)).toEqual([entry(100, 'a', 6)])
  expect(record.correctKnown(entry(100, 'a', -7))).toBe(true)
  record.forgetKnown(100)
  expect(record.tell(10, 100)).toEqual([])
})

test('T-74 however many come, there are never more entries than there may be; the oldest go first', () => {
  const record = ownRecord(SIZE, 100)
  for (let n = 0; n < 1_000; n++) record.addKnown(entry(100 + Math.floor(n / 50), `cell ${n}`))
  record.forgetKnown(119)
  const told = record.tell(1_000, 119)
  expect(told.length).toBeLessThanOrEqual(100)
  expect(told.map(({ second }) => second).every((second) => second >= 118)).toBe(true)
})
