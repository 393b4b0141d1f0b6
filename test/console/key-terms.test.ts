// R60 to R65 in a browser: keys that end, rotate, are bound, have limits by the calendar and children.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { faults, tracesOf, withConsole } from './checks.ts'
import { seedKeys, seedOwner } from './seed.ts'

const RAW = /svc_live_[0-9A-Za-z]{42}/

withConsole((scene) => {
  async function keyed(name = 'ci') {
    const seeded = await seedOwner(scene().db())
    const [id = ''] = await seedKeys(scene().db(), seeded.project_id, [{ name, budget_micros: 10_000_000 }])
    const visit = await scene().visit(`/keys/${id}`, { cookie: seeded.cookie })
    await visit.page.getByRole('heading', { name, exact: true }).waitFor()
    return { ...seeded, id, visit, page: visit.page }
  }

  const deed = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

  async function shownSecret(page: Page): Promise<string> {
    const shown = page.getByRole('dialog').locator('.secret code')
    await shown.waitFor()
    const raw = (await shown.textContent()) ?? ''
    expect(raw).toMatch(RAW)
    return raw
  }

  const status = async (raw: string) =>
    (await fetch(`${scene().address}/v2/project`, { headers: { authorization: `Bearer ${raw}` } })).status

  const told = (page: Page, id: string) =>
    page.evaluate(
      (id) =>
        fetch('/v2/api-keys')
          .then((answer) => answer.json())
          .then(({ data }) => data.find((key: { id: string }) => key.id === id)),
      id,
    )

  test('R60 R62 R63 a key is made with an end, models, networks and a limit by the calendar', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/keys', { cookie })
    const { page } = visit
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('bound')
    await dialog.getByLabel('Limit by the calendar').selectOption('week')
    await dialog.getByLabel('At most').fill('3.50')
    await dialog.getByText('Expiry, models, networks').click()
    await dialog.getByLabel('Expires').fill('2099-01-02T03:04')
    await dialog.getByLabel('Allowed models').fill('gpt-4o*\nfast')
    await dialog.getByLabel('Allowed networks').fill('10.0.0.0/99')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByText('Must list CIDRs').waitFor()
    await dialog.getByLabel('Allowed networks').fill('127.0.0.0/8')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await shownSecret(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    const row = page.getByRole('row', { name: /bound/ })
    await row.getByText('of $3.50').waitFor()
    await row.getByText('this week').waitFor()
    await row.getByText(/expires in [\d,]+ days/).waitFor()
    await page.getByRole('link', { name: 'bound' }).click()
    await page.getByText('gpt-4o*, fast').waitFor()
    await page.getByText('127.0.0.0/8').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('PATCH R60 a key is edited; what was not touched stays, what was emptied is lifted, and one that expired says so', async () => {
    const { page, visit, id } = await keyed()
    await deed(page, 'Edit')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('nightly')
    await dialog.getByLabel('Allowed models').fill('fast')
    await dialog.getByLabel('Expires').fill('2001-01-01T00:00')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Must be in the future.').waitFor()
    await dialog.getByLabel('Expires').fill('2099-01-01T00:00')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { name: 'nightly' }).waitFor()
    const { expires_at } = await told(page, id)

    await deed(page, 'Edit')
    await dialog.getByLabel('Allowed models').fill('')
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.waitFor({ state: 'detached' })
    const after = await told(page, id)
    expect([after.expires_at, after.allowed_models]).toEqual([expires_at, undefined])

    await page.route(`**/v2/api-keys/${id}`, async (route) => {
      const key = await (await route.fetch()).json()
      await route.fulfill({ json: { ...key, expires_at: '2020-01-01T00:00:00.000Z' } })
    })
    await page.reload()
    await page.getByText('expired', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Rotate', exact: true }).count()).toBe(0)
    await visit.close()
  })

  test('R61 a rotation shows the new secret once; both work until the overlap ends, with none only the new one', async () => {
    const { page, visit } = await keyed()
    await deed(page, 'Rotate')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click()
    const first = await shownSecret(page)
    await page.getByText('The previous secret works until').waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByText('Old secret ends').waitFor()
    expect(await tracesOf(first, visit)).toEqual([])

    await deed(page, 'Rotate')
    await page.getByText('An even older secret still works').waitFor()
    await page.getByLabel('Both secrets work for').selectOption('0')
    await page.getByText('gets 401 from their next request on').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click()
    const second = await shownSecret(page)
    await page.getByText('The previous secret no longer works.').waitFor()
    expect([await status(first), await status(second)]).toEqual([401, 200])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R64 a child stands under its parent, who holds its money; revoking the parent names it', async () => {
    const { page, visit } = await keyed('orchestrator')
    await deed(page, 'Child key')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('run-42')
    await dialog.getByLabel('Budget').fill('50')
    await dialog.getByRole('button', { name: 'Create child key' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Budget').fill('2.5')
    await dialog.getByRole('button', { name: 'Create child key' }).click()
    const raw = await shownSecret(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(await status(raw)).toBe(200)
    await page.getByText('$2.50 is carved out').waitFor()
    await page.getByText('1 child holds $2.50').waitFor()

    await page.getByRole('link', { name: 'run-42' }).click()
    await page.getByRole('link', { name: 'orchestrator' }).waitFor()
    expect(await page.getByRole('button', { name: 'Spending limit' }).count()).toBe(0)
    await page.getByRole('link', { name: '← Keys' }).click()
    await page.getByText('child of orchestrator').waitFor()
    const names = await page.getByRole('row').getByRole('link').allTextContents()
    expect(names).toEqual(['orchestrator', 'run-42'])

    await page.getByRole('link', { name: 'orchestrator' }).click()
    await deed(page, 'Revoke')
    await page.getByText('Its child key ends with it').waitFor()
    await dialog.getByRole('textbox').fill('orchestrator')
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('None of them can spend any more.').waitFor()
    expect(await status(raw)).toBe(401)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.1.2 0368 rates of models: refused where wrong, shown to viewers too, and lifted', async () => {
    const { page, visit, id } = await keyed()
    const dialog = page.getByRole('dialog')
    const own = () => page.evaluate((id) => fetch(`/v2/api-keys/${id}/limits`).then((told) => told.json()), id)
    await deed(page, 'Rate limits')
    await dialog.getByRole('button', { name: 'Add model' }).click()
    const first = dialog.getByRole('group', { name: 'Model 1' })
    await first.getByLabel('Model', { exact: true }).fill('gpt-4o*')
    await dialog.getByRole('button', { name: 'Set limits' }).click()
    await dialog.getByRole('alert').getByText("'gpt-4o*' requests_per_minute or tokens_per_minute").waitFor()
    await first.getByLabel('Tokens a minute').fill('0')
    await dialog.getByRole('button', { name: 'Set limits' }).click()
    await first.locator('.field-error').waitFor()
    expect((await own()).models).toBeNull()
    await first.getByLabel('Tokens a minute').fill('100,000')
    await dialog.getByRole('button', { name: 'Add model' }).click()
    const second = dialog.getByRole('group', { name: 'Model 2' })
    await second.getByLabel('Model', { exact: true }).fill('fast')
    await second.getByLabel('Requests a minute').fill('60')
    await dialog.getByRole('button', { name: 'Set limits' }).click()
    await page.getByText('gpt-4o*: 100K tokens').waitFor()
    await page.getByText('fast: 60 requests').waitFor()
    expect((await own()).models).toEqual([
      { model: 'gpt-4o*', tokens_per_minute: 100_000 },
      { model: 'fast', requests_per_minute: 60 },
    ])

    await deed(page, 'Rate limits')
    await dialog.getByRole('button', { name: 'Remove model 2' }).click()
    await dialog.getByRole('button', { name: 'Remove model 1' }).click()
    await dialog.getByRole('button', { name: 'Set limits' }).click()
    await page.getByText('gpt-4o*: 100K tokens').waitFor({ state: 'detached' })
    expect((await own()).models).toBeNull()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R65 a limit by the calendar is set beside the total, and lifted', async () => {
    const { page, visit, id } = await keyed()
    await deed(page, 'Spending limit')
    await page.getByLabel('Limit by the calendar').selectOption('day')
    await page.getByLabel('At most').fill('1')
    await page.getByRole('button', { name: 'Set limit' }).click()
    await page.getByText('today, resets').waitFor()
    expect((await told(page, id)).window).toMatchObject({ period: 'day', limit_micros: 1_000_000 })
    await deed(page, 'Spending limit')
    await page.getByLabel('Limit by the calendar').selectOption('none')
    await page.getByRole('button', { name: 'Set limit' }).click()
    await page.getByText('today, resets').waitFor({ state: 'detached' })
    expect(await told(page, id)).toMatchObject({ budget_micros: 10_000_000 })
    await visit.close()
  })
})
