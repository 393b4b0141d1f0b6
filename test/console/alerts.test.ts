// Alerts: there is no channel, a webhook is added, a test arrives, its log tells so, and it ends.
import { afterAll, expect, test } from 'vitest'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'
import { faults, untilByItself, violations, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'
import { seedFleet } from './seed-fleet.ts'

withConsole((scene) => {
  let receiver: Receiver | undefined
  afterAll(() => receiver?.close())

  test('§notifications from nobody to a test that arrived, and to its end', async () => {
    receiver = await webhookReceiver()
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/alerts')
    await page.getByText('No channels yet: alerts go nowhere.').waitFor()
    await page.getByRole('button', { name: 'Add channel' }).click()
    await page.getByLabel('Name').fill('ops')
    await page.getByLabel('Address').fill('ftp://nowhere')
    await page.getByRole('dialog').getByRole('button', { name: 'Add channel' }).click()
    await page.getByText(/be an absolute http or https address/i).waitFor()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('dialog').getByRole('button', { name: 'Add channel' }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('link', { name: 'ops' }).click()
    await page.getByText('Nothing was sent yet.').waitFor()
    await page.getByRole('button', { name: 'Send test' }).click()
    await untilByItself(page, page.getByText('delivered', { exact: true }))
    expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(['test'])
    await page.getByRole('button', { name: 'Send again test' }).click()
    await expect.poll(() => receiver?.received.length).toBe(2)
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('pager')
    await dialog.getByLabel('Tells of').selectOption('Only some')
    await dialog.getByLabel('A key was found in public').uncheck()
    await dialog.getByLabel('A spending limit refuses requests').uncheck()
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { name: 'pager', exact: true }).waitFor()
    await page.getByText(': A cluster goes down').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete channel' }).click()
    await page.getByText('No channels yet: alerts go nowhere.').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§notifications the menu says how many things need attention', async () => {
    const owner = await seedOwner(scene().db())
    await seedFleet(scene().db(), owner.project_id)
    const visit = await scene().visit('/keys', { cookie: owner.cookie })
    const alerts = visit.page.getByRole('link', { name: /^Alerts\s*\d+ need attention$/ })
    await alerts.click()
    await visit.page.getByRole('region', { name: 'Needs attention' }).getByText('vega').first().waitFor()
    await visit.close()
  })
})
