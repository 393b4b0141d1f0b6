// First-run guidance: it ends in a working request, and the page sees it.
import type { Request, Route } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { accountStore } from '../../src/accounts/account-store.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { startUpstream } from '../support/upstream.ts'
import { faults, tracesOf, untilByItself, withConsole } from './checks.ts'
import type { ConsoleScene } from './console-scene.ts'
import { seedOwner } from './seed.ts'

const UPSTREAM_SECRET = 'sk-own-0123456789abcdef'

withConsole((scene) => {
  test('§4.1 §5.6 confirm, make a key, send what the page shows, and it turns green', async () => {
    const { cookie, person_id } = await seedOwner(scene().db(), { verified: false })
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/')
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    const make = page.getByRole('button', { name: 'Make a key' })
    expect(await make.isDisabled()).toBe(true)
    await accountStore(scene().db()).verify(person_id, null, '2026-11-15T12:00:00.000Z')
    await untilByItself(page, page.getByText('is confirmed.'))
    await make.click()
    await page.getByText('Waiting for your first request').waitFor()

    const code = (await page.getByRole('tabpanel').locator('code').textContent()) ?? ''
    const [, url = ''] = /curl -si (\S+)/.exec(code) ?? []
    const [raw = ''] = /svc_live_\w+/.exec(code) ?? []
    const [, body = ''] = /-d '(.*)'/.exec(code) ?? []
    const headers = { authorization: `Bearer ${raw}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    await untilByItself(page, page.getByText('Your first request arrived.'))

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

  test('§console a provider is connected by its address and tested; the first answer is real; then the menu is without it', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    const upstream = await startUpstream({ text: 'Hello from a model of your own.' })
    onTestFinished(() => upstream.close())
    const side = page.getByRole('navigation', { name: 'Project' })
    await side.getByRole('link', { name: 'Get started' }).waitFor()
    await page.getByText('An address', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Address' }).fill(upstream.base_url)
    await page.getByLabel('Model', { exact: true }).fill('Own Model')
    await page.getByLabel('Key, where it needs one').fill(UPSTREAM_SECRET)
    upstream.behave({ status: 401, body: { error: { message: 'no' } } })
    await page.getByRole('button', { name: 'Connect and test' }).click()
    await page.getByText('Must be one that own-server takes: it refused it.').waitFor()
    upstream.behave({ text: 'Hello from a model of your own.' })
    await page.getByRole('button', { name: 'Connect and test' }).click()
    await page.getByText('own-server is connected, and took the key.').waitFor()
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByRole('button', { name: 'Send it from this page' }).click()
    await page.getByText('Hello from a model of your own.').waitFor()
    await page.getByText('Your first request arrived.').waitFor()
    expect(await page.getByText('placeholder').count()).toBe(0)
    await page.getByRole('link', { name: 'Look at the request' }).click()
    await page.getByText('It was answered in full.').waitFor()
    await side.getByRole('link', { name: 'Get started' }).waitFor({ state: 'detached' })
    expect(await tracesOf(UPSTREAM_SECRET, visit)).toEqual([])
    await page.reload()
    await page.getByText('It was answered in full.').waitFor()
    await side.getByRole('link', { name: 'Overview' }).waitFor()
    expect(await side.getByRole('link', { name: 'Get started' }).count()).toBe(0)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§operations nothing is asked for while the tab is hidden', async () => {
    const { visit, asked, ended, makeKey } = await starting(scene())
    const { page } = visit
    const hide = (hidden: boolean) =>
      page.evaluate((is) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => is })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await makeKey()
    await hide(true)
    await expect.poll(() => ended.length).toBe(asked.length) // one that is under way is none that was asked for
    await page.clock.runFor(60_000)
    const before = asked.length
    await page.clock.runFor(600_000)
    expect(asked.length).toBe(before)
    await hide(false)
    await expect.poll(() => asked.length).toBeGreaterThan(before)
    await visit.close()
  })

  test('§operations a machine that slept over a question asks again soon after', async () => {
    const { visit, asked, ended, makeKey } = await starting(scene())
    const { page } = visit
    const held: Route[] = []
    await page.route('**/v2/usage*', (route) => void held.push(route), { times: 1 })
    await makeKey()
    await expect.poll(() => held.length).toBe(1)
    await page.clock.fastForward(8 * HOUR_MS)
    await expect.poll(() => ended.length).toBeGreaterThan(0) // and the next may have ended, too
    await page.clock.fastForward(5 * MINUTE_MS)
    await expect.poll(() => asked.length).toBeGreaterThan(1)
    await visit.close()
  })
})

/** The first page of somebody without a key, with what it asks for once there is one. */
async function starting(scene: ConsoleScene) {
  const { cookie } = await seedOwner(scene.db())
  const visit = await scene.visit('/start', { cookie })
  const { page } = visit
  await page.getByRole('button', { name: 'Make a key' }).waitFor()
  await page.waitForLoadState('networkidle') // how far the project has come is asked for once
  const asked: string[] = []
  const ended: string[] = []
  const noteIn = (urls: string[]) => (request: Request) =>
    void (request.url().includes('/v2/usage') && urls.push(request.url()))
  page.on('request', noteIn(asked))
  page.on('requestfinished', noteIn(ended))
  page.on('requestfailed', noteIn(ended))
  await page.clock.install()
  const makeKey = async () => {
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByText('Waiting for your first request').waitFor()
  }
  return { visit, asked, ended, makeKey }
}
