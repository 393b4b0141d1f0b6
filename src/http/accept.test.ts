// RFC 9110, section 12.5.1: which of two forms a client would rather have.
import { expect, test } from 'vitest'
import { prefers } from './accept.ts'

test.each([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['text/csv', true],
  ['TEXT/CSV', true],
  ['text/csv; charset=utf-8', true],
  ['text/*', true],
  ['text/csv, */*;q=0.1', true],
  ['text/csv, application/json', false],
  ['application/json;q=0.5, text/csv', true],
  ['text/csv;q=0.5, application/json', false],
  ['text/csv;q=0', false],
  ['text/csv;q=0, */*', false],
  ['text/*;q=0.9, text/csv;q=0.1, application/json;q=0.5', false],
  ['text/csv;q=much', false],
  ['text/html,application/xhtml+xml,*/*;q=0.8', false],
])('§8.2.3 Accept: %s asks for CSV: %s', (accept, csv) => {
  expect(prefers(accept, 'text/csv', 'application/json')).toBe(csv)
})
