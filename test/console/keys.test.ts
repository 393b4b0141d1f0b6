// §4.1 to §4.4 in a browser: keys made, seen once, given limits, revoked; by the thousand; over a bad network.
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { faults, tracesOf, withConsole } from './checks.ts'
import type { Visit } from './console-scene.ts'
import { seedKeys, seedOwner, seedUsage } from './seed.ts'

const RAW = /svc_live_[0-9A-Za-z]{42}/

const LISTED = /\/v2\/api-keys\?/

withConsole((scene) => {
  async function owner(path = '/keys') {
    const seeded = await seedOwner(scene().db())
    return { ...seeded, visit: await scene().visit(path, { cookie: seeded.cookie }) }
  }

  async function fillAndCreate(page: Page, name: string, budget = '') {
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Spending limit').fill(budget)
    await dialog.getByRole('button', { name: 'Create key' }).click()
  }

  async function createdKey(page: Page): Promise<string> {
    const shown = page.getByRole('dialog').locator('.secret code')
    await shown.waitFor()
    return (await shown.textContent()) ?? ''
  }

  const stored = (page: Page) => page.getByRole('button', { name: 'I have stored it' }).click()

  test('§2.1.1 a key is shown once, copied, and works; then it is nowhere in the page, its storage, logs or memory', async () => {
    const { visit } = await owner()
    const { page } = visit
    await fillAndCreate(page, 'agent-7', '25')
    const raw = await createdKey(page)
    expect(raw).toMatch(RAW)
    await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('dialog').getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(raw)
    expect(await tracesOf(raw, visit)).toEqual(['page', 'memory'])

    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').isVisible()).toBe(true)
    await stored(page)
    await page
      .getByRole('row', { name: /agent-7/ })
      .getByText('of $25.00')
      .waitFor()
    expect(await tracesOf(raw, visit)).toEqual([])
    expect(faults(visit)).toEqual([])

    const answer = await fetch(`${scene().address}/v1/models`, { headers: { authorization: `Bearer ${raw}` } })
    expect(answer.status).toBe(200)
    await visit.close()
  })

  test('§2.1.1 planted: a page that keeps the key is caught', async () => {
    const { visit } = await owner()
    const raw = `svc_live_${'x'.repeat(42)}`
    await visit.page.evaluate((kept) => {
      localStorage.setItem('last', kept)
      console.log(kept)
    }, raw)
    expect(await tracesOf(raw, visit)).toEqual(expect.arrayContaining(['storage', 'log']))
    await visit.close()
  })

  test('§4.1.2 what is wrong stands at its field, and nothing is made', async () => {
    const { visit } = await owner()
    const { page } = visit
    await fillAndCreate(page, '  ', 'a lot')
    await page.getByText('Must be a number.').waitFor()
    await page.getByLabel('Spending limit').fill('')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Must not be empty.').waitFor()
    expect(await page.getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
    await page.keyboard.press('Escape')
    await page.getByText('No keys yet').waitFor()
    await visit.close()
  })

  describe('§11 one wish, one key', () => {
    /** Clicks twice, loses the first answer, tries again: how many keys there are then. */
    async function keysMade(visit: Visit): Promise<number> {
      const { page } = visit
      let sent = 0
      await page.route('**/v2/api-keys', async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        if (sent++ > 0) return route.continue()
        await route.fetch() // it arrives and is done; only the answer is lost
        return route.abort()
      })
      await page.getByRole('button', { name: 'Create key' }).first().click()
      await page.getByLabel('Name').fill('once')
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).dblclick()
      await page.getByText('The server cannot be reached').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await createdKey(page)
      expect(sent).toBe(2)
      return page.evaluate(() =>
        fetch('/v2/api-keys')
          .then((answer) => answer.json())
          .then(({ data }) => data.length),
      )
    }

    test('§11.4 a double click and a retry after a lost answer make one key, and it is shown', async () => {
      const { visit } = await owner()
      expect(await keysMade(visit)).toBe(1)
      await visit.close()
    })

    test('§11.4 planted: without its idempotency key the retry makes a second one', async () => {
      const { visit } = await owner()
      await visit.page.addInitScript(() => {
        const send = window.fetch
        window.fetch = (input, init) => {
          const headers = { ...(init?.headers as Record<string, string>) }
          delete headers['agent-idempotency-key']
          return send(input, { ...init, headers })
        }
      })
      await visit.page.reload()
      expect(await keysMade(visit)).toBe(2)
      await visit.close()
    })
  })

  test('§4.1 a key whose budget could not be set is shown all the same, with a warning', async () => {
    const { visit } = await owner()
    await visit.page.route('**/budget', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'Away.' } } }),
    )
    await fillAndCreate(visit.page, 'half', '5')
    expect(await createdKey(visit.page)).toMatch(RAW)
    await visit.page.getByText('The spending limit was not set: Away.').waitFor()
    await visit.close()
  })

  test('§4.3 §4.4 budget and limits are changed, revoking names what it does and needs the name', async () => {
    const seeded = await seedOwner(scene().db())
    const [id = ''] = await seedKeys(scene().db(), seeded.project_id, [{ name: 'ci', spent_micros: 9_000_000 }])
    await seedUsage(scene().db(), seeded.project_id, id)
    const visit = await scene().visit('/keys', { cookie: seeded.cookie })
    const { page } = visit
    await page.getByRole('link', { name: 'ci' }).click()
    await page.getByRole('heading', { name: 'ci', exact: true }).waitFor()
    await page.getByRole('radio', { name: 'Spend' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('figure', { name: 'Requests by this key' }).waitFor()

    await page.getByRole('button', { name: 'Spending limit' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('10')
    await page.getByRole('button', { name: 'Set limit' }).click()
    await page.getByText('of $10.00').waitFor()
    await page.getByText('near the limit', { exact: true }).waitFor()
    expect(
      await page.getByRole('button', { name: 'Spending limit' }).evaluate((one) => one === document.activeElement),
    ).toBe(true)

    await page.getByRole('button', { name: 'Rate limits' }).click()
    await page.getByLabel('Requests a minute').fill('60')
    await page.getByLabel('Generations at once').fill('4')
    await page.getByRole('button', { name: 'Set limits' }).click()
    await page.getByText('The rate limits of ci are set.').waitFor()
    const facts = page.getByRole('region', { name: 'Spending and terms' })
    await facts.getByText('Generations at once').waitFor()
    await facts.getByText('Requests a minute').waitFor()

    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('stops working at once, everywhere, and cannot be restored').waitFor()
    const revoke = page.getByRole('button', { name: 'Revoke key' })
    expect(await revoke.isDisabled()).toBe(true)
    await page.getByRole('dialog').getByRole('textbox').fill('ci')
    await revoke.click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2 ten thousand keys: drawn page by page, found by typing, sorted by spend', async () => {
    const seeded = await seedOwner(scene().db())
    const keys = Array.from({ length: 10_000 }, (_, at) => ({ name: `agent-${at}`, spent_micros: at * 1_000 }))
    await seedKeys(scene().db(), seeded.project_id, keys)
    const visit = await scene().visit('/keys', { cookie: seeded.cookie })
    const { page } = visit
    await page.getByText('1–50 of 10,000').waitFor()
    await expect.poll(() => page.getByRole('row').count()).toBe(51)
    await page.getByRole('button', { name: 'Last', exact: true }).click()
    await page.getByRole('link', { name: 'agent-9999', exact: true }).waitFor()
    const started = await page.evaluate(() => performance.now())
    await page.keyboard.press('/')
    await page.keyboard.type('agent-4321')
    await page.getByRole('link', { name: 'agent-4321', exact: true }).waitFor()
    expect((await page.evaluate(() => performance.now())) - started).toBeLessThan(5_000)
    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'Spending', exact: true }).click()
    await page.getByText('1–50 of 10,000').waitFor()
    await page.getByRole('row', { name: /agent-9999/ }).waitFor()
    await visit.close()
  })

  test('§7 a slow list shows that it loads, a failing one says why and can be tried again', async () => {
    const seeded = await seedOwner(scene().db())
    await seedKeys(scene().db(), seeded.project_id, [{ name: 'ci' }])
    const visit = await scene().visit('/start', { cookie: seeded.cookie })
    const { page } = visit
    const gate: { open?: () => void } = {}
    const opened = new Promise<void>((open) => Object.assign(gate, { open }))
    await page.route(LISTED, async (route) => {
      await opened
      await route.fulfill({
        status: 503,
        json: { error: { message: 'The store does not answer.', type: 'server_error' } },
      })
    })
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.locator('.skeleton-row').first().waitFor()
    gate.open?.()
    await page.getByText('Keys could not be loaded. The store does not answer.').waitFor()
    await page.unroute(LISTED)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('link', { name: 'ci' }).waitFor()
    await visit.close()
  })
})
