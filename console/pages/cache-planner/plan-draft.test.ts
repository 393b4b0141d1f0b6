// §4.9: a plan as it is typed becomes a request once everything in it is a number.
import { expect, test } from 'vitest'
import { draftOf, exampleDraft, longestOf, newTier, numberIn, requestOf } from './plan-draft.ts'

test.each([
  ['12', 12],
  [' 1,250.5 ', 1250.5],
  ['.5', 0.5],
  ['', undefined],
  ['-1', undefined],
  ['1e3', undefined],
  ['ten', undefined],
])('§4.9 %j is %s', (text, number) => {
  expect(numberIn(text)).toBe(number)
})

test('§4.9 a request is a draft and a draft is a request', () => {
  const draft = exampleDraft()
  const request = requestOf(draft)
  expect(request?.tiers.map(({ name }) => name)).toEqual(['host_ram', 'local_nvme', 'remote_object'])
  expect(request && requestOf(draftOf(request))).toEqual(request)
})

test('§4.9 nothing is asked while a figure or a name is missing, or where there is no tier', () => {
  const draft = exampleDraft()
  const [first, ...others] = draft.tiers
  expect(requestOf({ ...draft, expected_recompute_ms: '' })).toBeUndefined()
  expect(requestOf({ ...draft, tiers: [{ ...first!, transfer_ms: 'x' }, ...others] })).toBeUndefined()
  expect(requestOf({ ...draft, tiers: [{ ...first!, name: ' ' }, ...others] })).toBeUndefined()
  expect(requestOf({ ...draft, tiers: [] })).toBeUndefined()
  expect(requestOf({ ...draft, tiers: [...draft.tiers, newTier(draft.tiers)] })?.tiers).toHaveLength(4)
})

test('§4.9 bars are drawn to the longest of them or to the recompute line, and never to nothing', () => {
  expect(longestOf(exampleDraft())).toBe(232)
  expect(longestOf({ ...exampleDraft(), expected_recompute_ms: '500' })).toBe(500)
  expect(longestOf({ expected_recompute_ms: '', tiers: [] })).toBe(1)
})
