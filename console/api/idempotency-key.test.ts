// §11 from a browser: the same wish keeps its key, another one has another. And how refusals and addresses are read.
import { expect, test } from 'vitest'
import { matchPath } from '../state/navigation.tsx'
import { secretOf } from '../state/secret.ts'
import { ApiError } from './api-client.ts'
import { attempts } from './idempotency-key.ts'

test('§11.9 every try at one body has one key; another body, or the next after a success, has another', () => {
  const tries = attempts()
  const first = tries.keyFor({ name: 'a' })
  expect(tries.keyFor({ name: 'a' })).toBe(first)
  const second = tries.keyFor({ name: 'b' })
  tries.succeeded()
  const third = tries.keyFor({ name: 'b' })
  expect(new Set([first, second, third]).size).toBe(3)
  expect(third).toMatch(/^[\x21-\x7e]{1,255}$/) // R25
})

test.each([
  ["'name' must not be empty.", 'name'],
  ["'tiers[0].cost' is required.", 'tiers[0].cost'],
  ["'email' must be an e-mail address.", 'email'],
  ['The server cannot be reached.', undefined],
])('R2 %s is about %s', (message, field) => {
  expect(new ApiError(400, { message, type: 'invalid_request_error' }).field).toBe(field)
})

test.each([
  ['/keys', '/keys', {}],
  ['/keys/:id', '/keys/key_1', { id: 'key_1' }],
  ['/keys/:id', '/keys/a%2Fb', { id: 'a/b' }],
  ['/keys/:id', '/keys/%zz', { id: '%zz' }],
  ['/keys/:id', '/keys', undefined],
  ['/keys', '/keys/key_1', undefined],
])('§console %s against %s', (pattern, path, params) => {
  expect(matchPath(pattern, path)).toEqual(params)
})

test('§2.1.1 a secret that was forgotten cannot be read again', () => {
  const secret = secretOf('svc_live_x')
  expect(secret.read()).toBe('svc_live_x')
  secret.forget()
  expect(secret.read()).toBeUndefined()
})
