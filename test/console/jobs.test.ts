// What people come for, click by click, with how long it takes: why a request failed, a leaked key revoked, a release
// rolled back, money compared. Real calls to the real server; whoever reads this can do the same by hand.
// `npm run console:jobs` says the clicks and seconds.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { DAY_MS, HOUR_MS, rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { faults, tracesOf, violations, withConsole } from './checks.ts'
import { work } from './counted-clicks.ts'
import { seedKeys, seedOwner } from './seed.ts'
import { seedFleet, seedRouting } from './seed-fleet.ts'
import { seedFailed } from './traffic.ts'

withConsole((scene) => {
  /** As the owner does over the API: a key, with its secret. */
  async function makeKey(cookie: string, body: object): Promise<{ id: string; key: string }> {
    const answer = await fetch(`${scene().address}/v2/api-keys`, {
      method: 'POST',
      headers: {
        cookie: `${cookieName(false)}=${cookie}`,
        'content-type': 'application/json',
        origin: scene().address,
      },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(200)
    return (await answer.json()) as { id: string; key: string }
  }

  const chat = (key: string, body: object) =>
    fetch(`${scene().address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const HELLO = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }

  const palette = (page: Page) => page.getByRole('dialog', { name: 'Search everything' })
  async function search(page: Page, typed?: string) {
    await page.keyboard.press('ControlOrMeta+k')
    await palette(page).waitFor()
    if (typed !== undefined) await page.keyboard.type(typed)
  }
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim())

  test.each([
    ['a 400', {}, { model: 'gpt-4o' }, 400, /'messages' must/, 'Try it in the playground'],
    ['a 429', { limit_usd: 0 }, HELLO, 429, /spending limit/, 'Raise the key’s spending limit'],
  ])(
    'R80 why did a request fail? From the home page in two clicks, for %s',
    async (which, terms, body, status, reason, mends) => {
      const { cookie } = await seedOwner(scene().db())
      const { key } = await makeKey(cookie, { name: 'nightly', ...terms })
      const refused = await chat(key, body)
      expect(refused.status).toBe(status)
      const visit = await scene().visit('/', { cookie })
      const { page } = visit
      const job = work(page, `why did a request fail, ${which}`)
      await job.click(page.getByRole('link', { name: 'Requests' }))
      await job.click(page.getByText(reason))
      await page.getByRole('heading', { name: 'Why it was refused' }).waitFor()
      job.done(2)
      await page.locator('.failure-message', { hasText: reason }).waitFor()
      await page.getByText(`Answered with ${status}`).waitFor()
      await page
        .getByText(refused.headers.get('agent-trace-id') ?? '')
        .first()
        .waitFor()
      await page.getByRole('link', { name: mends }).waitFor()
      expect(faults(visit)).toEqual([])
      await visit.close()
    },
  )

  test('0327 roll back: to what was active before, which is no lower version', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const cluster_id = (await seedFleet(scene().db(), project_id)).at(-1) ?? ''
    await seedRouting(scene().db(), project_id, cluster_id) // of three releases the third was active, and now the second
    const visit = await scene().visit('/routing', { cookie })
    const { page } = visit
    const job = work(page, 'roll back to what was active before')
    await job.click(page.getByRole('link', { name: 'research/long' }))
    await job.click(page.getByRole('button', { name: 'Return to release 3' }))
    await page.getByText('goes to release 3 instead of release 2').waitFor()
    await job.click(page.getByRole('dialog').getByRole('button', { name: 'Return to release 3' }))
    await page.getByRole('heading', { name: 'Release 3 is active' }).waitFor()
    job.done(3)
    await page.getByRole('button', { name: 'Return to release 2' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2.3 cost before and after, over days that include today: as long before as after', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const now = systemClock.now()
    const at = (time_ms: number, charged_micros: number) =>
      usageStore(scene().db()).insert(usageEvent(project_id, { created_at: rfc3339(time_ms), charged_micros }))
    await at(now - 1_000, 3_000_000)
    await at(now - 2 * DAY_MS - 1_000, 2_000_000) // as late in its day
    await at(now - DAY_MS - (now % DAY_MS) - 1, 50_000_000) // later in the day before yesterday than it is now, or nearly
    const day = (time_ms: number) => rfc3339(time_ms).slice(0, 10)
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const job = work(page, 'cost before and after, custom days')
    await job.click(page.getByRole('link', { name: 'Usage', exact: true }))
    await job.click(page.getByRole('group', { name: 'Period' }).getByText('Days', { exact: true }))
    await page.getByLabel('From').fill(day(now - DAY_MS))
    await page.getByLabel('to', { exact: true }).fill(day(now))
    await job.click(page.getByText('Compare with the period before'))
    const row = page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name: /gpt-4o/ })
    await row.getByText('+50%').waitFor()
    job.done(3)
    await visit.close()
  })

  test('R80 an error of last night is found from a chart', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const night = systemClock.now() - 9 * HOUR_MS
    for (let n = 0; n < 20; n++)
      await usageStore(scene().db()).insert(usageEvent(project_id, { created_at: rfc3339(night - n * HOUR_MS) }))
    const trace_id = await seedFailed(scene().db(), project_id, night)
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const job = work(page, 'an error of last night, from a chart')
    const plot = page.getByRole('figure', { name: 'Requests' }).getByRole('slider')
    await plot.waitFor()
    const box = await plot.boundingBox()
    // Nine hours ago: of 24 places the last but nine.
    await job.click(plot, { position: { x: ((14.5 / 24) * (box?.width ?? 0)) | 0, y: 40 } })
    await job.click(page.getByRole('link', { name: /CUDA out of memory/ }))
    await page.getByRole('heading', { name: 'Why it failed' }).waitFor()
    expect(page.url()).toContain(trace_id)
    job.done(2)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2 who spent most this week', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const [busy = '', calm = ''] = await seedKeys(scene().db(), project_id, [{ name: 'busy' }, { name: 'calm' }])
    for (const [key_id, charged_micros] of [
      [busy, 9_000_000],
      [calm, 1_000_000],
    ] as const)
      await usageStore(scene().db()).insert(
        usageEvent(project_id, { key_id, charged_micros, created_at: rfc3339(systemClock.now() - DAY_MS) }),
      )
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const job = work(page, 'who spent most this week')
    await job.click(page.getByRole('link', { name: 'Usage', exact: true }))
    await job.click(page.getByRole('group', { name: 'Period' }).getByText('7 days', { exact: true }))
    await job.choose(page.getByLabel('Group by'), 'Key')
    const first = page.getByRole('table', { name: 'Usage by key' }).locator('tbody tr').first()
    await first.getByText('busy').waitFor()
    await first.getByText('$9.00').waitFor()
    job.done(4)
    await visit.close()
  })

  test('R65 a budget is raised', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await seedKeys(scene().db(), project_id, [{ name: 'nightly', spent_micros: 10_000_000, budget_micros: 10_000_000 }])
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const job = work(page, 'a budget raised, from what needs attention')
    await job.click(page.getByRole('link', { name: 'Open nightly' }))
    await job.click(page.getByRole('button', { name: 'Spending limit' }))
    await page.getByRole('dialog').getByRole('textbox').first().fill('25')
    await job.click(page.getByRole('button', { name: 'Set limit' }))
    await page.getByText('of $25.00').waitFor()
    job.done(3)
    await visit.close()
  })

  test('0281 a leaked key is revoked by pasting it; the secret is never sent, and nowhere afterwards', async () => {
    const { cookie } = await seedOwner(scene().db())
    const { id, key } = await makeKey(cookie, { name: 'nightly' })
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await page.evaluate((text) => navigator.clipboard.writeText(text), `OPENAI_API_KEY="${key}"`)
    const job = work(page, 'a leaked key revoked by pasting it')
    await search(page)
    await page.keyboard.press('ControlOrMeta+v')
    await palette(page).getByText('This is the secret of nightly. It was not sent.').waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Enter') // the first is: Revoke nightly
    await page.getByRole('heading', { name: 'Revoke nightly?' }).waitFor()
    await page.getByLabel('Type nightly to confirm').fill('nightly')
    await job.click(page.getByRole('button', { name: 'Revoke key' }))
    await page.getByText('nightly is revoked.').waitFor()
    job.done(1)
    expect((await chat(key, HELLO)).status).toBe(401)
    expect(page.url()).toContain(id)
    expect(sent.some((line) => line.includes('sha256='))).toBe(true)
    expect(sent.filter((line) => line.includes(key))).toEqual([])
    await page.evaluate(() => navigator.clipboard.writeText(''))
    expect(await tracesOf(key, visit)).toEqual([])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('0281 a secret of nobody here, and one that is revoked, are said to be', async () => {
    const [{ cookie }, other] = [await seedOwner(scene().db()), await seedOwner(scene().db())]
    const { key } = await makeKey(other.cookie, { name: 'theirs' })
    const visit = await scene().visit('/keys', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.evaluate((text) => navigator.clipboard.writeText(text), key)
    await search(page)
    await page.keyboard.press('ControlOrMeta+v')
    await palette(page).getByText('No key of this project has this secret.').waitFor()
    await visit.close()
  })

  test('§console ⌘K: by the keyboard alone to a page, a key, a deed; said to screen readers', async () => {
    const { cookie, project_id, email } = await seedOwner(scene().db())
    await seedKeys(scene().db(), project_id, [{ name: 'nightly' }, { name: 'ci' }])
    const visit = await scene().visit('/keys', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await search(page, 'raise the limit of night')
    await palette(page).getByRole('option', { name: 'Raise the limit of nightly' }).waitFor()
    const box = palette(page).getByRole('combobox')
    const active = await box.getAttribute('aria-activedescendant')
    expect(await page.locator(`[id="${active}"]`).textContent()).toContain('Raise the limit of nightly')
    await palette(page).getByRole('status').getByText('1 result').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Spending limit of nightly' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await search(page, email.slice(0, 4))
    await palette(page).getByRole('option', { name: email }).waitFor()
    await page.keyboard.press('Escape')
    await palette(page).waitFor({ state: 'detached' })
    await search(page, 'audit')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Settings: Audit log' }).waitFor()
    await expect.poll(() => focused(page)).toBe('Settings: Audit log')
    await search(page, 'nothing like this')
    await palette(page).getByText('Nothing matches.').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
})
