// Load as rows of a chart: the highest where several fall into one place, and a gap where nothing was told.
import { expect, test } from 'vitest'
import type { ClusterLoad } from '../../api/cluster-calls.ts'
import { loadRows } from './load-rows.ts'

const HOUR = 3_600_000
const load = (at: number, more: Partial<ClusterLoad>): ClusterLoad => ({
  object: 'byoc_cluster.load',
  start: new Date(at).toISOString(),
  running: null,
  waiting: null,
  kv_utilization: null,
  ttft_p95_ms: null,
  ...more,
})

test('R52 an hour has the highest of its five minutes; one in which nothing was told is a gap', () => {
  const loads = [
    load(0, { running: 3, kv_utilization: 0.25 }),
    load(300_000, { running: 8 }),
    load(2 * HOUR, { running: 0 }),
  ]
  const rows = loadRows(loads, [0, HOUR, 2 * HOUR], HOUR)
  expect(rows.running).toEqual([8, null, 0])
  expect(rows.kv_percent).toEqual([25, null, null])
  expect(rows.waiting).toEqual([null, null, null])
})
