// §7, R2: one table of everything the API refuses with.
import { expect, test } from 'vitest'
import { Refusal, type RefusalName, refusalNameFor } from './refusal.ts'

const TABLE: [RefusalName, number, string, string | undefined][] = [
  ['invalid_request', 400, 'invalid_request_error', undefined],
  ['invalid_api_key', 401, 'invalid_api_key', 'invalid_api_key'],
  ['invalid_credentials', 401, 'invalid_credentials', 'invalid_credentials'],
  ['insufficient_scope', 403, 'insufficient_scope', 'insufficient_scope'],
  ['not_found', 404, 'invalid_request_error', undefined],
  ['model_not_found', 404, 'invalid_request_error', 'model_not_found'],
  ['method_not_allowed', 405, 'invalid_request_error', undefined],
  ['request_timeout', 408, 'invalid_request_error', undefined],
  ['idempotency_conflict', 409, 'idempotency_conflict', undefined],
  ['body_too_large', 413, 'invalid_request_error', undefined],
  ['unsupported_media_type', 415, 'invalid_request_error', undefined],
  ['expectation_failed', 417, 'invalid_request_error', undefined],
  ['rate_limited', 429, 'rate_limit_error', 'rate_limit_exceeded'],
  ['quota_exceeded', 429, 'quota_exceeded', 'quota_exceeded'],
  ['headers_too_large', 431, 'invalid_request_error', undefined],
  ['fault', 500, 'server_error', undefined],
  ['upstream_failed', 502, 'server_error', 'upstream_error'],
  ['unavailable', 503, 'server_error', 'unavailable'],
  ['deadline_exceeded', 504, 'deadline_exceeded', 'deadline_exceeded'],
]

test.each(TABLE)('§7 %s is %d %s, code %s', (name, status, type, code) => {
  const refusal = new Refusal(name, 'Said to the caller.', { cause: 'kept to ourselves' })
  expect(refusal.status).toBe(status)
  expect(JSON.stringify(refusal.body)).toBe(JSON.stringify({ error: { message: 'Said to the caller.', type, code } }))
})

test('R2 a status that something else decided on finds its row; an unknown one is 400 or 500', () => {
  const names = [413, 415, 404, 418, 599].map(refusalNameFor)
  expect(names).toEqual(['body_too_large', 'unsupported_media_type', 'not_found', 'invalid_request', 'fault'])
})
