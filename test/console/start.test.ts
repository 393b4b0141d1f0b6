// First-run guidance: it ends in a working request, and the page sees it.
import { expect, test } from 'vitest'
import { accountStore } from '../../src/accounts/account-store.ts'
import { faults, tracesOf, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'

withConsole((scene) => {
  test('§4.1 §5.6 confirm, make a key, send what the page shows, and it turns green', async () => {
    const { cookie, person_id } = await seedOwner(scene().db(), { verified: false })
    const visit = await scene().visit('/', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    const make = page.getByRole('button', { name: 'Make a key' })
    expect(await make.isDisabled()).toBe(true)
    await accountStore(scene().db()).verify(person_id, null, '2026-11-15T12:00:00.000Z')
    await page.getByText('is confirmed.').waitFor() // by itself
    await make.click()
    await page.getByText('Waiting for your first request').waitFor()

    const code = (await page.getByRole('tabpanel').locator('code').textContent()) ?? ''
    const [, url = ''] = /curl -si (\S+)/.exec(code) ?? []
    const [raw = ''] = /svc_live_\w+/.exec(code) ?? []
    const [, body = ''] = /-d '(.*)'/.exec(code) ?? []
    const headers = { authorization: `Bearer ${raw}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    await page.getByText('Your first request arrived.').waitFor()

    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByText('no longer on this page').waitFor()
    await page.getByRole('link', { name: 'Look at the key' }).click()
    await page.getByRole('heading', { name: 'first key' }).waitFor()
    await page.getByText('completed').waitFor()
    expect(await tracesOf(raw, visit)).toEqual([])
    expect(faults(visit)).toEqual([])
    await page.goto('/console')
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await visit.close()
  })

  test('§operations nothing is asked for while the tab is hidden', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    const asked: string[] = []
    page.on('request', (request) => void asked.push(request.url()))
    const hide = (hidden: boolean) =>
      page.evaluate((is) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => is })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await page.clock.install()
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByText('Waiting for your first request').waitFor()
    await hide(true)
    await page.clock.runFor(60_000)
    await expect.poll(() => asked.at(-1)).toContain('/v2/usage')
    const before = asked.length
    await page.clock.runFor(600_000)
    expect(asked.length).toBe(before)
    await hide(false)
    await expect.poll(() => asked.length).toBeGreaterThan(before)
    await visit.close()
  })
})
