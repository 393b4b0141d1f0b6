// Which refusal is of which kind, which times are asked for, and how counts become a series.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { Refusal, type RefusalName, type RefusedBy } from '../core/refusal.ts'
import { hourOf, kindOf, REFUSAL_KINDS, refusalQuestion, seriesOf } from './refusal-kind.ts'

test.each<[RefusalName, RefusedBy | undefined, string | undefined]>([
  ['rate_limited', 'key', 'key_limit'],
  ['rate_limited', 'project', 'project_limit'],
  ['rate_limited', 'capacity', 'capacity'],
  ['rate_limited', 'upstream', 'upstream'],
  ['rate_limited', 'edge', undefined],
  ['quota_exceeded', undefined, 'budget'],
  ['deadline_exceeded', undefined, 'deadline'],
  ['insufficient_scope', undefined, 'scope'],
  ['idempotency_conflict', undefined, 'idempotency'],
  ['invalid_request', undefined, 'validation'],
  ['body_too_large', undefined, 'validation'],
  ['unsupported_media_type', undefined, 'validation'],
  ['not_found', undefined, 'not_found'],
  ['upstream_failed', undefined, 'upstream'],
  ['unavailable', undefined, 'unavailable'],
  ['fault', undefined, 'fault'],
])('§7 %s by %s is of the kind %s', (name, by, kind) => {
  expect(kindOf(new Refusal(name, 'no', by ? { by } : {}))).toBe(kind)
})

const HALF_PAST = NOON + HOUR_MS / 2

test('what is not said: the last day in hours, the last 30 days in days, this moment included', () => {
  const hours = refusalQuestion({}, HALF_PAST)
  expect([hours.step, seriesOf(hours, []).buckets.length]).toEqual(['hour', 25])
  expect(seriesOf(hours, []).buckets.at(-1)?.start).toBe(rfc3339(NOON))
  const days = seriesOf(refusalQuestion({ step: 'day' }, HALF_PAST), [])
  expect([days.buckets.length, days.buckets.at(-1)?.start]).toEqual([31, '2026-11-15T00:00:00.000Z'])
})

test('a bucket begins with its hour or day, and one that only begins at `to` is not there', () => {
  const { from_ms, to_ms } = refusalQuestion({ from: rfc3339(HALF_PAST), to: rfc3339(NOON + 2 * HOUR_MS) }, 0)
  expect([from_ms, to_ms]).toEqual([NOON, NOON + 2 * HOUR_MS])
  expect(seriesOf({ from_ms, to_ms, step: 'hour' }, []).buckets).toHaveLength(2)
})

test.each([
  ['an end before its beginning', { from: rfc3339(NOON), to: rfc3339(NOON - 1) }, "'from'"],
  ['nothing at all', { from: rfc3339(NOON), to: rfc3339(NOON) }, "'from'"],
  ['too many hours', { from: '2026-01-01T00:00:00Z', to: rfc3339(NOON) }, "'from'"],
  ['no time', { from: 'yesterday' }, "'from'"],
  ['no time as the end', { to: '2026-02-30T00:00:00Z' }, "'to'"],
])('400 on %s, naming the field', (_case, query, field) => {
  expect(() => refusalQuestion(query, NOON)).toThrow(field)
})

test('counts land in their bucket, and those outside in none', () => {
  const at = (hour_ms: number, count: number) => ({ project_id: 'p', hour_ms, kind: 'budget', count }) as const
  const question = { from_ms: NOON, to_ms: NOON + 2 * HOUR_MS, step: 'hour' } as const
  const counts = [at(NOON - HOUR_MS, 1), at(NOON, 2), at(NOON, 4), at(NOON + HOUR_MS, 8), at(NOON + 2 * HOUR_MS, 16)]
  const { buckets, totals } = seriesOf(question, counts)
  expect(buckets.map(({ total, counts }) => [total, counts.budget, counts.scope])).toEqual([
    [6, 6, 0],
    [8, 8, 0],
  ])
  expect([totals.budget, Object.keys(totals)]).toEqual([14, [...REFUSAL_KINDS]])
  expect(hourOf(HALF_PAST)).toBe(NOON)
})
