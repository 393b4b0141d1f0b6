// R60, R62, R63: what a key may be bound to, and what that lets through.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { canonicalAddress } from '../core/ip-address.ts'
import { checkedTerms, isFromAllowed, isWithin, mayNameModel } from './key-terms.ts'

test('R60 null clears, absence leaves, everything else is read', () => {
  const none = { expires_at: undefined, allowed_models: undefined, allowed_cidrs: undefined }
  expect(checkedTerms({}, NOON)).toEqual(none)
  expect(checkedTerms({ expires_at: null, allowed_models: null, allowed_cidrs: null }, NOON)).toEqual({
    expires_at: null,
    allowed_models: null,
    allowed_cidrs: null,
  })
  const terms = { expires_at: '2026-11-15T13:00:00+00:30', allowed_models: ['a', 'a*', 'a'] }
  expect(checkedTerms(terms, NOON)).toEqual({ ...none, expires_at: NOON + 1_800_000, allowed_models: ['a', 'a*'] })
})

test.each<[string, string[][] | undefined, string, boolean, boolean]>([
  ['no list', undefined, 'gpt-4o', false, true],
  ['its name', [['gpt-4o']], 'gpt-4o', false, true],
  ['another name', [['gpt-4o']], 'gpt-4o-mini', false, false],
  ['its beginning', [['gpt-4o*']], 'gpt-4o-mini', false, true],
  ['all of it before the asterisk', [['gpt-4o*']], 'gpt-4o', false, true],
  ['another beginning', [['gpt-4o*']], 'gpt-4', false, false],
  ['another case', [['GPT-4o']], 'gpt-4o', false, false],
  ['anything', [['*']], 'claude', false, true],
  ['anything, asked for an alias', [['*', 'f*']], 'fast', true, false],
  ['an alias by name', [['fast']], 'fast', true, true],
  ['both lists', [['a*'], ['ab']], 'ab', false, true],
  ['only one of two lists', [['a*'], ['ab']], 'ac', false, false],
])('R62 with %s', (_case, lists, model, is_alias, expected) => {
  expect(mayNameModel(lists, model, is_alias)).toBe(expected)
})

test('R64 what a child’s list lets through, its parent’s would too', () => {
  const entry = fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 }), fc.boolean())
  const list = fc.array(
    entry.map(([text, open]) => text + (open ? '*' : '')).filter((text) => text !== ''),
    { minLength: 1, maxLength: 3 },
  )
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(list, list, name, fc.boolean(), (parents, childs, model, is_alias) => {
      fc.pre(isWithin(parents, childs) && mayNameModel([childs], model, is_alias) && !is_alias)
      expect(mayNameModel([parents], model, is_alias)).toBe(true)
    }),
  )
})

test('R63 every list must have the address; one that nobody knows is in none', () => {
  const from = (text: string) => () => canonicalAddress(text)
  expect(isFromAllowed(undefined, () => undefined)).toBe(true)
  expect(isFromAllowed([['10.0.0.0/8', '2001:db8::/32']], from('10.1.2.3'))).toBe(true)
  expect(isFromAllowed([['10.0.0.0/8', '2001:db8::/32']], from('2001:db8::1'))).toBe(true)
  expect(isFromAllowed([['10.0.0.0/8'], ['10.1.0.0/16']], from('10.2.0.1'))).toBe(false)
  expect(isFromAllowed([['0.0.0.0/0', '::/0']], () => undefined)).toBe(false)
})
