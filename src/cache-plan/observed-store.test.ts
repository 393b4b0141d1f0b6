// What is read of a project's calls on its clusters: as many as it may be, while everybody else is served.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { usageStore } from '../usage/usage-store.ts'
import { observedStore, prefillRates } from './observed-store.ts'

const CLUSTERS = ['byc_1', 'byc_2', 'byc_3']
const CALLS = 600 // of each
const SUMMED = 500 // of each, at the most

withDb((db) => {
  async function used(): Promise<string> {
    const project_id = await projectIn(db())
    await db().transaction(async (tx) => {
      for (const cluster_id of CLUSTERS)
        for (let n = 0; n < CALLS; n++) {
          const input_tokens = 1_000 + 100 * n
          const told = { cluster_id, resolved_model: 'm', cached_tokens: 0, attempts: [], queue_ms: 0, input_tokens }
          const event = { created_at: rfc3339(NOON + n * 1_000), ttft_ms: 20 + input_tokens / 10, ...told }
          await usageStore(tx).insert(usageEvent(project_id, event), {
            stream: true,
            keyed: false,
            fallback_used: false,
          })
        }
    })
    return project_id
  }

  test('R77 a summary reads the latest calls of each cluster, and others have turns of the event loop meanwhile', async () => {
    const project_id = await used()
    const { value: rates, turns } = await turnsDuring(db(), (on) =>
      prefillRates(on, project_id, CLUSTERS, NOON + DAY_MS),
    )
    expect([...rates.values()]).toEqual([0.1, 0.1, 0.1])
    expect(turns).toBeGreaterThanOrEqual((CLUSTERS.length * SUMMED) / 100)
    const calls = await observedStore(db()).calls(project_id, 'byc_1', { since_ms: NOON, most: 3 })
    expect(calls.map(({ input_tokens }) => input_tokens)).toEqual([60_900, 60_800, 60_700])
  })
})
