// R52: the load that heartbeats tell is kept as the highest of each five minutes, for a week, in its own project.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { LOAD_KEPT_MS, LOAD_STEP_MS, loadRange, sampleOf } from './cluster-load.ts'
import { loadStore } from './load-store.ts'

const told = (load: object) => ({ load, reported_at: rfc3339(NOON) })
const ALL = { from_ms: 0, to_ms: Number.MAX_SAFE_INTEGER }

withDb((db) => {
  const note = async (project_id: string, load: object, at: number) => {
    const sample = sampleOf(told(load), at)
    if (sample) await loadStore(db()).note(project_id, 'byc_1', sample)
  }

  test('R52 each five minutes have the highest of what was told, whatever was left out', async () => {
    const project_id = await projectIn(db())
    await note(project_id, { running: 3, kv_utilization: 0.5 }, NOON)
    await note(project_id, { running: 9, waiting: 2 }, NOON + MINUTE_MS)
    await note(project_id, { running: 4, waiting: 0, ttft_p95_ms: 81.6 }, NOON + 2 * MINUTE_MS)
    await note(project_id, { running: 1 }, NOON + LOAD_STEP_MS)
    await note(project_id, { itl_p50_ms: 7 }, NOON + 2 * LOAD_STEP_MS) // tells nothing that is kept
    const loads = await loadStore(db()).list(project_id, 'byc_1', ALL)
    const start = rfc3339(NOON - (NOON % LOAD_STEP_MS))
    expect(loads).toEqual([
      { object: 'byoc_cluster.load', start, running: 9, waiting: 2, kv_utilization: 0.5, ttft_p95_ms: 82 },
      expect.objectContaining({ running: 1, waiting: null, kv_utilization: null, ttft_p95_ms: null }),
    ])
    expect(await loadStore(db()).list(project_id, 'byc_1', { from_ms: NOON + MINUTE_MS, to_ms: ALL.to_ms })).toEqual([
      loads[1],
    ])
    expect(await loadStore(db()).list(await projectIn(db()), 'byc_1', ALL)).toEqual([])
  })

  test('R52 what is a week old goes, and nothing else', async () => {
    const project_id = await projectIn(db())
    await note(project_id, { running: 1 }, NOON - LOAD_KEPT_MS)
    await note(project_id, { running: 2 }, NOON)
    expect(await loadStore(db()).sweep(NOON)).toBe(false)
    const loads = await loadStore(db()).list(project_id, 'byc_1', ALL)
    expect(loads.map(({ running }) => running)).toEqual([2])
  })

  test('R52 a range that ends before it begins is refused', () => {
    expect(() => loadRange({ from: rfc3339(NOON), to: rfc3339(NOON) }, NOON)).toThrow("'to' must be later")
    expect(() => loadRange({ from: 'soon' }, NOON)).toThrow("'from'")
  })
})
