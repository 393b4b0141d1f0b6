// The Reuse page: what is repeated and lost, what to do next, and the way to the cluster that loses it.
import { test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'

withConsole((scene) => {
  test('§8.2.3 says how much is repeated, where it is lost, and what to do next', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const created_at = rfc3339(systemClock.now() - 60_000)
    const own = { cluster_id: 'byc_1', provider: 'atlas', profile: 'byoc_native', resolved_model: 'llama' }
    const lost = {
      input_tokens: 50_000,
      repeated_tokens_est: 40_000,
      cached_tokens: 10_000,
      missed_reuse_tokens: 30_000,
    }
    await usageStore(scene().db()).insert(usageEvent(project_id, { created_at, ...own, ...lost }))
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.goto('/console/reuse')
    await page.getByText('80% of what was sent had been sent before.').waitFor()
    await page.getByText('30,000 tokens were missed.').waitFor()
    await page.getByRole('link', { name: 'See the cluster' }).click()
    await page.waitForURL('**/clusters/byc_1')
    await visit.close()
  })
})
