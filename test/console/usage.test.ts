// Usage in a browser: grouped, narrowed, compared, from a bar to its requests to one trace, and into a file.
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { HOUR_MS, rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { faults, withConsole } from './checks.ts'
import { seedKeys, seedOwner } from './seed.ts'
import { seedTraffic } from './traffic.ts'

withConsole((scene) => {
  const hoursAgo = (hours: number) => rfc3339(systemClock.now() - hours * HOUR_MS)

  async function project(events: readonly Parameters<typeof usageEvent>[1][]) {
    const owner = await seedOwner(scene().db())
    await scene()
      .db()
      .transaction(async (tx) => {
        for (const event of events) await usageStore(tx).insert(usageEvent(owner.project_id, event))
      })
    return owner
  }

  const requests = (page: Page) => page.getByRole('table', { name: 'Requests', exact: true })
  const rowsToBe = (page: Page, rows: number) =>
    expect.poll(() => requests(page).locator('tbody tr:not(.skeleton-row)').count(), { timeout: 60_000 }).toBe(rows)

  async function download(page: Page, name: string): Promise<string[]> {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    return (await text(await file.createReadStream())).trimEnd().split('\r\n')
  }

  test('§tags by the values of a tag, down to the requests of one', async () => {
    const at = { created_at: hoursAgo(1), charged_micros: 1_000_000 }
    const owner = await project([
      { ...at, tags: { team: 'search', run: '1' } },
      { ...at, tags: { team: 'search', run: '2' } },
      { ...at, tags: { team: 'core' } },
      at,
    ])
    const visit = await scene().visit('/usage?range=24h&by=tag', { cookie: owner.cookie })
    const { page } = visit
    const by_tag = page.getByRole('table', { name: 'Usage by tag' })
    await by_tag.getByRole('row', { name: /team=search.*\$2\.00/ }).waitFor()
    await page.getByLabel('Name of the tag').fill('run')
    await page.getByLabel('Name of the tag').press('Enter')
    await by_tag.getByRole('row', { name: /run=2.*\$1\.00/ }).waitFor()
    await by_tag.getByRole('row', { name: /without this tag.*\$2\.00/ }).waitFor()
    await by_tag.getByRole('button', { name: 'run=2' }).click()
    await page.getByRole('list', { name: 'Only what matches' }).getByText('run=2').waitFor()
    await rowsToBe(page, 1)
    await page.goto('/console/requests?tag=team%3Dsearch')
    await page.getByRole('list', { name: 'Only what matches' }).getByText('team=search').waitFor()
    await rowsToBe(page, 2)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2.3 from a model to its keys to a bar to its requests to one trace; and back', async () => {
    const owner = await seedOwner(scene().db())
    const keys = await seedKeys(scene().db(), owner.project_id, [{ name: 'ci' }, { name: 'eval' }])
    for (const [at, key_id] of keys.entries())
      for (const hours of [1, 26, 27])
        for (const resolved_model of ['gpt-4o', 'small'])
          await usageStore(scene().db()).insert(
            usageEvent(owner.project_id, {
              key_id,
              resolved_model,
              created_at: hoursAgo(hours),
              charged_micros: 1_000_000 * (at + 1),
            }),
          )
    const visit = await scene().visit('/usage?range=7d', { cookie: owner.cookie })
    const { page } = visit
    const models = page.getByRole('table', { name: 'Usage by model' })
    await models.getByRole('row', { name: /small.*\$9\.00/ }).waitFor()
    await models.getByRole('button', { name: 'gpt-4o' }).click()
    const by_key = page.getByRole('table', { name: 'Usage by key' })
    await by_key.getByRole('row', { name: /eval.*\$6\.00/ }).waitFor()
    await page.getByRole('figure').getByText('eval').waitFor()
    await by_key.getByRole('button', { name: 'eval' }).click()
    await page.getByRole('list', { name: 'Only what matches' }).getByText('eval').waitFor()
    await rowsToBe(page, 3)

    await page.getByRole('slider').focus()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByText('Only those from').waitFor()
    await rowsToBe(page, 1)
    await requests(page).getByRole('link').click()
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor()
    await page.getByText('It was answered in full.').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Show all of the period' }).click()
    await rowsToBe(page, 3)
    await page.getByRole('button', { name: 'Drop the filter Model gpt-4o' }).click()
    await rowsToBe(page, 6)
    expect(new URL(page.url()).searchParams.get('key_id')).toBe(keys[1])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2.3 a period is compared with the one before, in sums and step by step', async () => {
    const day = 24
    const { cookie } = await project([
      { created_at: hoursAgo(1), charged_micros: 3_000_000 },
      { created_at: hoursAgo(30 * day + 1), charged_micros: 2_000_000 },
      { created_at: hoursAgo(1), charged_micros: 1_000_000, resolved_model: 'newcomer' },
    ])
    const visit = await scene().visit('/usage', { cookie })
    const { page } = visit
    await page.getByText('Compare with the period before').click()
    const models = page.getByRole('table', { name: 'Usage by model' })
    await models.getByRole('row', { name: /gpt-4o.*\$3\.00.*\$2\.00\s*\+50%/ }).waitFor()
    await models.getByRole('row', { name: /newcomer.*\$0\.00\s*new/ }).waitFor()
    await page.getByRole('figure').getByText('before', { exact: true }).waitFor()
    await page.reload()
    await models.getByRole('row', { name: /newcomer.*new/ }).waitFor()
    await visit.close()
  })

  test('§8.2.3 filters are typed too; days can be chosen; what makes no sense is said', async () => {
    const { cookie } = await project([
      { created_at: hoursAgo(1), session_id: 'ses_a' },
      { created_at: hoursAgo(2), session_id: 'ses_b', resolved_model: 'other' },
    ])
    const visit = await scene().visit('/usage', { cookie })
    const { page } = visit
    await rowsToBe(page, 2)
    await page.getByLabel('Filter by').selectOption('Session')
    await page.getByLabel('Session to show').fill('ses_b')
    await page.keyboard.press('Enter')
    await rowsToBe(page, 1)
    await page.getByRole('group', { name: 'Period' }).getByText('Days', { exact: true }).click()
    await page.getByLabel('From').fill('2026-02-02')
    await page.getByLabel('to', { exact: true }).fill('2026-02-01')
    await page.getByText('The last day must not be before the first').waitFor()
    await page.getByLabel('to', { exact: true }).fill('2026-02-03')
    await page.getByText('Feb 2, 00:00 to Feb 4, 00:00 UTC, by the hour').waitFor()
    await page.getByText('No request in this period matches.').first().waitFor()
    await visit.close()
  })

  test('§8.2.3 what fails most is drawn first, whatever else is dearer; its number leads to the requests', async () => {
    const models = { dear: 0, frail: 3, a: 0, b: 0, c: 0, d: 0 }
    const { cookie } = await project(
      Object.entries(models).flatMap(([resolved_model, failed], at) =>
        Array.from({ length: 4 }, (_, n) => ({
          created_at: hoursAgo(1),
          resolved_model,
          charged_micros: resolved_model === 'frail' ? 0 : 1_000_000 * (10 - at),
          status: n < failed ? 'failed' : 'completed',
        })),
      ),
    )
    const visit = await scene().visit('/usage?measure=errors', { cookie })
    const { page } = visit
    await page.getByRole('figure', { name: 'Failed' }).getByText('frail').waitFor()
    const row = page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name: /frail/ })
    await row.getByText(/^2\d\d ms$/).waitFor()
    await row.getByRole('link', { name: /3 \(75%\) of frail/ }).click()
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await rowsToBe(page, 3)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2.3 thousands of requests come page by page, and each only once', async () => {
    const owner = await seedOwner(scene().db())
    const events = await seedTraffic(scene().db(), owner.project_id, ['key_1'], 20)
    expect(events).toBeGreaterThan(1_500)
    const visit = await scene().visit('/usage', { cookie: owner.cookie })
    const { page } = visit
    const pages = page.getByRole('navigation', { name: 'Pages of requests' })
    const traces = () => requests(page).locator('code').allTextContents()
    await pages.getByText('1–25, and more').waitFor()
    const first = await traces()
    await pages.getByRole('button', { name: 'Older' }).click()
    await pages.getByText('26–50, and more').waitFor()
    await expect.poll(async () => new Set([...first, ...(await traces())]).size).toBe(50)
    await pages.getByRole('button', { name: 'Newer' }).click()
    await pages.getByText('1–25, and more').waitFor()
    await expect.poll(traces).toEqual(first)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2.3 sums and requests as files, as they are filtered', async () => {
    const { cookie } = await project([
      { created_at: hoursAgo(1), charged_micros: 7 },
      { created_at: hoursAgo(2), charged_micros: 5 },
      { created_at: hoursAgo(2), resolved_model: '=other', charged_micros: 11 },
    ])
    const visit = await scene().visit('/usage', { cookie })
    const { page } = visit
    await rowsToBe(page, 3)
    const [head, ...sums] = await download(page, 'CSV of the sums, to download')
    expect(head).toMatch(/^model,events,/)
    expect(sums.map((line) => line.split(',').slice(0, 2))).toEqual([
      ['gpt-4o', '2'],
      ["'=other", '1'],
    ])
    await page.getByRole('button', { name: 'gpt-4o' }).click()
    await rowsToBe(page, 2)
    const lines = await download(page, 'CSV of the requests, to download')
    expect(lines).toHaveLength(3)
    await page.route('**/v2/usage?*', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'The store does not answer.', type: 'server_error' } } }),
    )
    await page.getByRole('button', { name: 'CSV of the requests, to download' }).click()
    await page.getByRole('alert').getByText('The store does not answer.').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§7 what fails says so where it failed, and can be tried again', async () => {
    const { cookie } = await project([{ created_at: hoursAgo(1) }])
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    const failing = { status: 503, json: { error: { message: 'The store does not answer.', type: 'server_error' } } }
    await page.route('**/v2/usage*', (route) => route.fulfill(failing))
    await page.route('**/v2/usage/timeline?*', (route) => route.fulfill(failing))
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await page.getByText('Usage could not be loaded. The store does not answer.').waitFor()
    await page.getByText('Usage by model could not be loaded.').waitFor()
    await page.getByText('Requests could not be loaded.').waitFor()
    await page.unrouteAll()
    await page.locator('.notice-danger', { hasText: 'Requests' }).getByRole('button', { name: 'Try again' }).click()
    await rowsToBe(page, 1)
    await visit.close()
  })
})
