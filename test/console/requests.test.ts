// Requests in a browser: every outcome in one list, each filter in the address, page by page and back to the same place.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { faults, untilByItself, withConsole } from './checks.ts'
import { seedKeys, seedMember, seedOwner } from './seed.ts'
import { seedFailed, seedRefused, seedTrace } from './traffic.ts'

withConsole((scene) => {
  const rows = (page: Page) => page.getByRole('table', { name: 'Requests' }).locator('tbody tr:not(.skeleton-row)')
  const search = (page: Page) => new URL(page.url()).search
  const reasons = (page: Page) => page.locator('.request-reason').allTextContents()

  /** One that was answered, one that failed, one that was refused. */
  async function busy() {
    const db = scene().db()
    const owner = await seedOwner(db)
    const [key_id = '', other_id = ''] = await seedKeys(db, owner.project_id, [{ name: 'nightly' }, { name: 'ci' }])
    await seedTrace(db, owner.project_id, other_id)
    await seedFailed(db, owner.project_id)
    const refused = await seedRefused(db, owner.project_id, key_id)
    return { ...owner, key_id, other_id, refused }
  }

  test('R80 every outcome in one list with its key and its reason; filters stand in the address and survive a reload', async () => {
    const { cookie, key_id } = await busy()
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    await expect.poll(() => rows(page).count()).toBe(3)
    await page.getByRole('link', { name: 'nightly' }).waitFor()
    await page.getByText('Budget, 429, 17 times').waitFor()
    await page.getByText('Went wrong').click()
    await expect.poll(() => rows(page).count()).toBe(2)
    expect((await reasons(page)).sort()).toEqual([
      "The key's budget is used up.",
      expect.stringContaining('CUDA out of memory'),
    ])
    await page.getByLabel('Layer').selectOption('upstream')
    await expect.poll(() => rows(page).count()).toBe(1)
    await page.getByLabel('Layer').selectOption('')
    await page.getByRole('combobox', { name: 'Key' }).click()
    await page.getByRole('combobox', { name: 'Key' }).pressSequentially('night')
    await page.getByRole('option', { name: 'nightly' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: `Drop the filter Key ${key_id}` }).waitFor()
    await expect.poll(() => reasons(page)).toHaveLength(1)
    expect(new URLSearchParams(search(page)).get('key_id')).toBe(key_id)
    await page.reload()
    await page.getByText("The key's budget is used up.").waitFor()
    expect(await rows(page).count()).toBe(1)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('names of any length and large numbers stay inside the table; a long call took whole minutes', async () => {
    const owner = await seedOwner(scene().db())
    const [key_id = ''] = await seedKeys(scene().db(), owner.project_id, [{ name: 'evaluation-'.repeat(20) }])
    await usageStore(scene().db()).insert(
      usageEvent(owner.project_id, {
        key_id,
        created_at: rfc3339(systemClock.now()),
        resolved_model: 'meta-llama-'.repeat(16),
        provider: 'a-provider-'.repeat(5),
        charged_micros: 912_345_678_901,
        input_tokens: 1_987_654_321,
        output_tokens: 123_456_789,
        ttft_ms: 123_456,
        duration_ms: 899_999,
        status: 'upstream_failed',
      }),
    )
    const visit = await scene().visit('/requests', { cookie: owner.cookie, viewport: { width: 1280, height: 800 } })
    const { page } = visit
    await page.getByText('15 min', { exact: true }).waitFor()
    const { height } = (await rows(page).boundingBox()) ?? { height: Number.POSITIVE_INFINITY }
    expect(height).toBeLessThan(120)
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('0328 a view is saved under a name, shown by a click, the person’s own, and deleted', async () => {
    const { cookie, project_id } = await busy()
    const visit = await scene().visit('/requests?outcome=refused&layer=budget', { cookie })
    const { page } = visit
    const views = page.getByRole('navigation', { name: 'Saved views' })
    await views.getByRole('button', { name: 'Save this view' }).click()
    await page.getByLabel('Name').fill('out of money')
    await page.getByRole('button', { name: 'Save view' }).click()
    await views.getByRole('link', { name: 'out of money' }).waitFor()
    await page.goto('/console/requests')
    await expect.poll(() => rows(page).count()).toBe(3)
    await views.getByRole('link', { name: 'out of money' }).click()
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(search(page)).toBe('?outcome=refused&layer=budget')
    expect(await views.getByRole('link', { name: 'out of money' }).getAttribute('aria-current')).toBe('true')
    const other = await scene().visit('/requests', { cookie: (await seedMember(scene().db(), project_id)).cookie })
    await expect.poll(() => rows(other.page).count()).toBe(3)
    expect(await other.page.getByText('out of money').count()).toBe(0)
    await other.close()
    await views.getByRole('button', { name: 'Delete the view out of money' }).click()
    await views.getByRole('link', { name: 'out of money' }).waitFor({ state: 'detached' })
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§console cost is typed in dollars, the first token in seconds; what is neither is said', async () => {
    const { cookie } = await busy()
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    await page.getByLabel('Filter by').selectOption('Cost from')
    await page.getByRole('combobox', { name: 'Cost from' }).fill('much')
    await page.keyboard.press('Enter')
    await page.getByText('Dollars, such as 0.05, please.').waitFor()
    await page.getByRole('combobox', { name: 'Cost from' }).fill('0.02')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows(page).count()).toBe(1)
    expect(search(page)).toBe('?min_charged_micros=20000')
    await page.locator('.filter-chip', { hasText: 'Cost from $0.02' }).waitFor()
    await page.goto('/console/requests?min_ttft_ms=2000')
    await page.getByText('No request matches').waitFor()
    await page.locator('.filter-chip', { hasText: 'First token from 2 s' }).waitFor()
    await visit.close()
  })

  test('§console page two, a request, and back: the same page, the same filters', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const now = systemClock.now()
    await scene()
      .db()
      .transaction(async (tx) => {
        for (let n = 0; n < 120; n++)
          await usageStore(tx).insert(usageEvent(project_id, { created_at: rfc3339(now - n * 1_000) }))
      })
    const visit = await scene().visit('/requests?model=gpt-4o', { cookie })
    const { page } = visit
    const ids = () => rows(page).locator('code').allTextContents()
    await expect.poll(() => rows(page).count()).toBe(50)
    const first = await ids()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('Older requests').waitFor()
    await expect.poll(async () => (await ids())[0]).not.toBe(first[0])
    const [second, address] = [await ids(), page.url()]
    await rows(page).nth(7).getByRole('link').first().click()
    await page.getByText('agent-trace-id').waitFor()
    await page.goBack()
    await expect.poll(ids).toEqual(second)
    expect(page.url()).toBe(address)
    await rows(page).nth(7).getByRole('link').first().click()
    await page.getByRole('link', { name: '← Requests' }).click()
    await expect.poll(ids).toEqual(second)
    await page.getByRole('button', { name: 'Newer' }).click()
    await expect.poll(ids).toEqual(first)
    await visit.close()
  })

  test('§console the newest come by themselves', async () => {
    const { cookie, project_id } = await busy()
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/requests')
    await expect.poll(() => rows(page).count()).toBe(3)
    await seedRefused(scene().db(), project_id)
    await untilByItself(page, rows(page).nth(3))
    await visit.close()
  })

  test('§console what mends it is a click away: the limit of the key is open', async () => {
    const { cookie, refused } = await busy()
    const visit = await scene().visit(`/traces/${refused}`, { cookie })
    const { page } = visit
    await page.getByRole('link', { name: 'Raise the key’s spending limit' }).click()
    await page.getByRole('heading', { name: 'Spending limit of nightly' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(search(page)).toBe('')
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
})
