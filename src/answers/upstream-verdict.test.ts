import { describe, expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { UpstreamError, type UpstreamFailure } from '../providers/provider.ts'
import { brokenOff, refusalOf, verdictOn, verdictOnFailure } from './upstream-verdict.ts'

test.each([
  [200, 'take'],
  [201, 'take'],
  [400, 'hand_on'],
  [409, 'hand_on'],
  [413, 'hand_on'],
  [415, 'hand_on'],
  [422, 'hand_on'],
])('R47 %i: %s', (status, kind) => {
  expect(verdictOn(status, undefined)).toEqual({ kind })
})

/** status, answered, counted by the breaker, surely not executed */
test.each([
  [301, 502, true, true],
  [307, 502, true, true],
  [401, 502, false, true],
  [402, 502, false, true], // an account without money is the credential's trouble, not the client's
  [403, 502, false, true],
  [404, 404, false, true],
  [408, 502, true, false],
  [429, 429, false, true],
  [500, 502, true, false],
  [502, 502, true, false],
  [503, 502, true, true],
  [529, 502, true, false],
])(
  'R47 %i is tried elsewhere; if nowhere else, answered %i',
  (status, answered, counts_against, surely_not_executed) => {
    const verdict = verdictOn(status, undefined)
    expect(verdict).toMatchObject({ kind: 'try_elsewhere', counts_against, surely_not_executed })
    if (verdict.kind === 'try_elsewhere') expect(refusalOf(verdict, 'main', undefined).status).toBe(answered)
  },
)

test.each([
  [undefined, '1'],
  [0, '1'],
  [30, '30'],
])('R49 the upstream’s own wait is told: %s', (retry_after_s, told) => {
  const verdict = verdictOn(429, retry_after_s)
  if (verdict.kind !== 'try_elsewhere') throw new Error('taken')
  expect(refusalOf(verdict, 'main', undefined).headers).toEqual({ 'retry-after': told })
})

/** failure, counted by the breaker, surely not executed */
test.each([
  ['connect', true, true],
  ['refused_address', false, true],
  ['first_byte_timeout', true, false],
  ['idle_timeout', true, false],
  ['reset', true, false],
  ['too_large', true, false],
] as [UpstreamFailure, boolean, boolean][])('R47 %s', (failure, counts_against, surely_not_executed) => {
  expect(verdictOnFailure(new UpstreamError(failure))).toMatchObject({ failure, counts_against, surely_not_executed })
})

test('R47 what is no failure of the upstream is not its business', () => {
  expect(verdictOnFailure(new TypeError('ours'))).toBeUndefined()
})

describe('R80 the client is told who failed, how, and what it said', () => {
  const told = (status: number, said?: string) => {
    const verdict = verdictOn(status, undefined)
    if (verdict.kind !== 'try_elsewhere') throw new Error('taken')
    return refusalOf(verdict, 'main', said).message
  }

  test.each([
    [
      500,
      'boom at layer 3.',
      "The upstream 'main' failed before it answered: status 500: boom at layer 3. Nothing was charged.",
    ],
    [503, undefined, "The upstream 'main' failed before it answered: status 503. Nothing was charged."],
    [429, 'slow down', "The upstream 'main' is limiting our rate: slow down. Nothing was charged."],
    [404, 'no such model', "The upstream 'main' does not have this model: no such model."],
    [
      401,
      'wrong key',
      "The upstream 'main' refused the credential that this call was sent with: wrong key. Nothing was charged.",
    ],
  ])('%i, %s', (status, said, message) => {
    expect(told(status, said)).toBe(message)
  })

  test('however much it said', () => {
    expect(told(500, 'x'.repeat(2_000))).toHaveLength(told(500, 'x'.repeat(500)).length + 1)
  })

  test('without an address or a system error, which are for the log', () => {
    const error = new UpstreamError('connect', new Error('connect ECONNREFUSED 10.0.0.7:8000'))
    const verdict = verdictOnFailure(error)
    if (!verdict) throw new Error('taken')
    const refusal = refusalOf(verdict, 'main', undefined)
    expect(refusal.message).toBe(
      "The upstream 'main' failed before it answered: no connection to it could be made. Nothing was charged.",
    )
    expect(refusal.cause).toBe(error)
  })

  test('in mid-stream', () => {
    const broken = { said: 'out of memory.', is_charged: false, cause: undefined }
    expect(brokenOff('main', broken).message).toBe("The upstream 'main' broke off: out of memory. Nothing was charged.")
    expect(brokenOff('main', { ...broken, is_charged: true }).message).toMatch(/\. What had come was charged\.$/)
  })

  test.each([
    [new UpstreamError('reset'), "The upstream 'main' broke off. Nothing was charged."],
    [new UpstreamError('too_large'), "The upstream 'main' broke off: its answer was too large. Nothing was charged."],
    [
      new UpstreamError('total_timeout'),
      "The upstream 'main' was cut off: its answer took too long. Nothing was charged.",
    ],
    [new Refusal('unavailable', 'No room. Retry.'), 'No room. Retry. Nothing was charged.'],
  ])('R71 it says who broke off, and why: %s', (cause, message) => {
    expect(brokenOff('main', { said: undefined, is_charged: false, cause }).message).toBe(message)
  })
})
