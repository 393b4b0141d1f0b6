// R47: which failures let the same target be asked again, and how soon.
import { expect, test } from 'vitest'
import { UpstreamError, type UpstreamFailure } from '../providers/provider.ts'
import { pauseOf, type Retry, retryOf } from './retry-rule.ts'
import { type Elsewhere, verdictOn, verdictOnFailure } from './upstream-verdict.ts'

const ofStatus = (status: number, retry_after_s?: number) => retryOf(verdictOn(status, retry_after_s) as Elsewhere, 5)
const ofFailure = (failure: UpstreamFailure, took_ms = 5) =>
  retryOf(verdictOnFailure(new UpstreamError(failure)) as Elsewhere, took_ms)

test('R47 a connection that failed quickly is tried again at once; a slow one once nobody else is left', () => {
  expect(ofFailure('connect')).toMatchObject({ is_next: true })
  expect(ofFailure('connect', 5_000)).toMatchObject({ is_next: false })
})

test.each([
  [429, 0, { is_next: false, pause_ms: 0 }],
  [429, 2, { is_next: false, pause_ms: 2_000 }],
  [503, 1, { is_next: false, pause_ms: 1_000 }],
])('R47 %i that asks for %i s is waited for, behind all other targets', (status, wait_s, retry) => {
  expect(ofStatus(status, wait_s)).toMatchObject(retry)
})

test.each<[string, Retry | undefined]>([
  ['429 that asks for 3 s', ofStatus(429, 3)],
  ['429 that asks for nothing', ofStatus(429)],
  ['503 that asks for nothing', ofStatus(503)],
  ...[301, 401, 403, 404, 408, 500, 502, 504, 529].map((status): [string, Retry | undefined] => [
    `${status} that asks for 1 s`,
    ofStatus(status, 1),
  ]),
  ...(
    [
      'reset',
      'first_byte_timeout',
      'idle_timeout',
      'total_timeout',
      'too_large',
      'not_taken',
      'refused_address',
    ] as const
  ).map((failure): [string, Retry | undefined] => [failure, ofFailure(failure)]),
])('R47 never again: %s', (_case, retry) => {
  expect(retry).toBeUndefined()
})

test('R47 pauses are spread by chance, grow where nobody asked for one, and are never shorter than what was asked for', () => {
  const connection = ofFailure('connect') as Retry
  expect([0, 1, 2].map((n) => [pauseOf(connection, n, 0), pauseOf(connection, n, 0.999)])).toEqual([
    [25, 75],
    [50, 150],
    [100, 300],
  ])
  const asked = ofStatus(429, 2) as Retry
  for (const n of [0, 1, 2]) expect([pauseOf(asked, n, 0), pauseOf(asked, n, 0.999)]).toEqual([2_000, 2_250])
})
