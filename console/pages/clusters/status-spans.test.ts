// §3.1: a day of a cluster as stretches of one status each.
import { expect, test } from 'vitest'
import type { ClusterTransition } from '../../api/cluster-calls.ts'
import { DAY_MS, statusSpans, timeIn } from './status-spans.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const HOUR_MS = 3_600_000

const change = (
  from: ClusterTransition['from'],
  to: ClusterTransition['to'],
  hours_ago: number,
): ClusterTransition => ({
  object: 'byoc_cluster.transition',
  cluster_id: 'byc_1',
  from,
  to,
  at: new Date(NOW - hours_ago * HOUR_MS).toISOString(),
  why: 'heartbeat',
})

const hours = (spans: ReturnType<typeof statusSpans>) =>
  spans.map(({ status, from_ms, to_ms }) => [status, (to_ms - from_ms) / HOUR_MS])

test('§3.1 without a transition, the whole day was as it is now', () => {
  expect(statusSpans([], 'active', NOW)).toEqual([{ status: 'active', from_ms: NOW - DAY_MS, to_ms: NOW }])
})

test('§3.1 before its registration a cluster is absent; the stretches fill the day without a gap', () => {
  const told = [change('active', 'down', 1), change('registering', 'active', 3), change(null, 'registering', 4)]
  const spans = statusSpans(told, 'down', NOW)
  expect(hours(spans)).toEqual([
    ['absent', 20],
    ['registering', 1],
    ['active', 2],
    ['down', 1],
  ])
  expect(timeIn(spans).map(({ status }) => status)).toEqual(['absent', 'active', 'registering', 'down'])
})

test('§3.1 a status from before the day begins with the day, and a clock that is ahead moves nothing past now', () => {
  expect(hours(statusSpans([change('draining', 'active', 6)], 'active', NOW))).toEqual([
    ['draining', 18],
    ['active', 6],
  ])
  expect(hours(statusSpans([change('active', 'down', -1)], 'down', NOW))).toEqual([['active', 24]])
})
