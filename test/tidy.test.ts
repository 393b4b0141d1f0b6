// The house rules, as a test. docs/STYLE.md says why each one is there; test/tidy/ holds the rules themselves.
import { expect, test } from 'vitest'
import { readTree, violations } from './tidy/rules.ts'

test('the house is tidy', () => {
  expect(violations(readTree())).toEqual([])
})
