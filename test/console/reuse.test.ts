// The Reuse page: what is repeated and lost, what to do next, the way to the cluster that loses it,
// and the bundles with their warmth.
import { expect, test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'
import { seedBundles } from './seed-bundles.ts'

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

  test('§8.2.3 where there is no advice, it says that little is lost only where little was missed', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const created_at = rfc3339(systemClock.now() - 60_000)
    const sent = { created_at, provider: 'openai', resolved_model: 'gpt-4o', input_tokens: 60 }
    const add = (tokens: object) => usageStore(scene().db()).insert(usageEvent(project_id, { ...sent, ...tokens }))
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    const notice = async () => {
      await page.goto('/console/reuse')
      return page.locator('p.notice').innerText()
    }
    await add({ repeated_tokens_est: 0, cached_tokens: 0, missed_reuse_tokens: 0 })
    expect(await notice()).toBe('Little is lost: what is repeated is found in caches.')
    await add({ repeated_tokens_est: 40, cached_tokens: 0, missed_reuse_tokens: 40 })
    expect(await notice()).toBe('Too little was missed so far to advise anything.')
    await add({ repeated_tokens_est: 960, cached_tokens: 960, missed_reuse_tokens: 0 })
    expect(await notice()).toBe('Little is lost: what is repeated is found in caches.')
    await visit.close()
  })

  test('§8.2.3 shows each bundle, how often it was used, what was cached, and where it was last seen warm', async () => {
    const owner = await seedOwner(scene().db())
    const [busy = '', idle = ''] = await seedBundles(scene(), owner)
    const visit = await scene().arrive({ cookie: owner.cookie })
    const { page } = visit
    await page.goto('/console/reuse')
    const rows = page.getByRole('table', { name: 'Bundles and their warmth' }).getByRole('row')
    await rows.filter({ hasText: /atlas, llama-3.3-70b: 90% cached \d minutes ago/ }).waitFor()
    await rows.filter({ hasText: /openai, gpt-4o: 80% cached \d minutes ago/ }).waitFor()
    expect(await rows.nth(1).getByRole('cell').allInnerTexts()).toEqual(
      expect.arrayContaining(['support triage', '6', '65%']),
    )
    const second = await rows.nth(2).getByRole('cell').allInnerTexts()
    expect([second[0], ...second.slice(2, 4)]).toEqual(['code review', '–', '–'])
    await rows.nth(2).getByText('Nowhere: no call with it has completed.').waitFor()
    expect(busy).not.toBe(idle)
    await rows.nth(1).getByRole('link', { name: '6', exact: true }).click()
    await page.waitForURL(`**/requests?bundle_id=${busy}&range=7d`)
    await visit.close()
  })

  test('§8.2.3 where there are no bundles, it says what they are for and how to make one', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().arrive({ cookie })
    await visit.page.goto('/console/reuse')
    await visit.page.getByText('No bundles yet.').waitFor()
    await visit.page.getByText('name it in the header Agent-Bundle').waitFor()
    await visit.page.getByText('/v2/artifacts').waitFor()
    await visit.close()
  })
})
