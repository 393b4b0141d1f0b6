// Ways between the pages: back where one came from, with the filters that one had, after signing in too.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { withConsole } from './checks.ts'
import { PASSWORD, seedOwner } from './seed.ts'

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim())

withConsole((scene) => {
  test('§console a link survives signing in, with its filters; one to elsewhere does not', async () => {
    const { email } = await seedOwner(scene().db())
    async function signIn(path: string) {
      const visit = await scene().visit(path)
      const { page } = visit
      await page.getByLabel('E-mail').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'))
      return visit
    }
    const visit = await signIn('/requests?outcome=refused&layer=budget')
    await visit.page.getByText('No request matches').waitFor()
    expect(new URL(visit.page.url()).search).toBe('?outcome=refused&layer=budget')
    await visit.page.getByRole('button', { name: 'Sign out' }).click()
    await visit.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(new URL(visit.page.url()).search).toBe('')
    await visit.close()
    const astray = await signIn('/sign-in?to=//evil.example/x')
    await astray.page.getByRole('heading', { name: 'Get started' }).waitFor()
    expect(astray.page.url()).toContain(scene().address)
    await astray.close()
  })

  test('§console Back leads to the same place of the page; a new page has the focus on its heading', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const now = systemClock.now()
    await scene()
      .db()
      .transaction(async (tx) => {
        for (let n = 0; n < 40; n++)
          await usageStore(tx).insert(usageEvent(project_id, { created_at: rfc3339(now - n * 1_000) }))
      })
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    const row = page.getByRole('table', { name: 'Requests' }).locator('tbody tr').nth(30).getByRole('link').first()
    await row.scrollIntoViewIfNeeded()
    const scrolled = await page.evaluate(() => window.scrollY)
    expect(scrolled).toBeGreaterThan(500)
    await row.click()
    await page.getByText('agent-trace-id').waitFor()
    expect(await page.evaluate(() => window.scrollY)).toBe(0)
    expect(await focused(page)).toBe('Request')
    await page.goBack()
    await row.waitFor()
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(scrolled)
    expect(await focused(page)).toBe('Requests')
    await visit.close()
  })

  test('§console a page whose script cannot be loaded leaves the navigation there, which leads elsewhere', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/overview', { cookie, is_new: true })
    const { page } = visit
    await page.getByText('No requests in the last').waitFor()
    await page.route(/cache-planner.*\.js/, (route) => route.abort())
    await page.getByRole('link', { name: 'Cache planner' }).click()
    await page.getByText('This page could not be shown.').waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('No requests in the last').waitFor()
    await visit.close()
  })

  test('§console another period leaves what is there until its own is', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await usageStore(scene().db()).insert(usageEvent(project_id, { created_at: rfc3339(systemClock.now() - 1_000) }))
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    await page.locator('.panels:not([role=status])').waitFor() // the figures, not what stands there until they come
    const gate: { open?: () => void } = {}
    const opened = new Promise<void>((open) => Object.assign(gate, { open }))
    await page.route('**/v2/usage/timeline*', async (route) => {
      await opened
      await route.continue()
    })
    await page.getByText('30 days', { exact: true }).click()
    await page.locator('[aria-busy=true] .panels').waitFor()
    expect(await page.getByRole('status', { name: 'Loading usage' }).count()).toBe(0)
    gate.open?.()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await visit.close()
  })
})
