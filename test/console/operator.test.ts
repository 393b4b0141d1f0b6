// R79: the pages of whoever runs the service, in a browser.
import { expect, test } from 'vitest'
import { faults, tracesOf, withConsole } from './checks.ts'
import { seedKeys, seedOperator, seedOwner, seedUsage } from './seed.ts'

withConsole((scene) => {
  async function operator(path: string) {
    const { cookie } = await seedOperator(scene().db())
    const tenant = await seedOwner(scene().db(), { name: 'Quayside' })
    const [key_id = ''] = await seedKeys(scene().db(), tenant.project_id, [{ name: 'ci' }])
    await seedUsage(scene().db(), tenant.project_id, key_id)
    const visit = await scene().visit(path.replace(':id', tenant.project_id), { cookie })
    return { tenant, visit, page: visit.page }
  }

  test('R79 all projects with state, spending, cap and share; usage by project, of a period, as a table', async () => {
    const { page, visit, tenant } = await operator('/operator')
    const row = page.getByRole('table', { name: 'Projects' }).getByRole('row', { name: new RegExp(tenant.email) })
    await row.getByText('active').waitFor()
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      expect.stringContaining('Quayside'),
      'active',
      expect.stringMatching(/^\$\d/),
      '$0.00',
      'none',
      '1',
      expect.any(String),
    ])
    const usage = page.getByRole('region', { name: 'Usage by project' })
    await usage
      .getByRole('row', { name: /Quayside/ })
      .first()
      .waitFor()
    await usage.getByText('24 hours').click()
    const download = page.waitForEvent('download')
    await usage.getByRole('button', { name: /CSV/ }).click()
    expect((await download).suggestedFilename()).toBe('usage-by-project-24h.csv')
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R79 a project is made; its key is shown once and is nowhere afterwards', async () => {
    const { page, visit } = await operator('/operator')
    await page.getByRole('button', { name: 'Create project' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Drydock')
    await dialog.getByLabel(/e-mail address/).fill('nobody')
    await dialog.getByRole('button', { name: 'Create project' }).click()
    await dialog.getByText('Must be an e-mail address').waitFor()
    await dialog.getByLabel(/e-mail address/).fill('dry@example.com')
    await dialog.getByRole('button', { name: 'Create project' }).click()
    const raw = (await dialog.locator('.secret code').textContent()) ?? ''
    expect(raw).toMatch(/^svc_live_/)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('row', { name: /dry@example\.com/ }).waitFor()
    expect(await tracesOf(raw, visit)).toEqual([])
    await visit.close()
  })

  test('R79 cap, share, quotas, subscription, suspension: each is set, seen at once, and holds', async () => {
    const { page, visit, tenant } = await operator('/operator/:id')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Cap' }).click()
    await dialog.getByRole('textbox', { name: 'Cap' }).fill('120')
    await dialog.getByRole('button', { name: 'Set cap' }).click()
    await page.getByText('of $120.00').waitFor()
    await page.getByRole('button', { name: 'Share' }).click()
    await dialog.getByRole('textbox', { name: 'Share' }).fill('0')
    await dialog.getByRole('button', { name: 'Set share' }).click()
    await dialog.locator('.field-error').waitFor()
    await dialog.getByRole('textbox', { name: 'Share' }).fill('3')
    await dialog.getByRole('button', { name: 'Set share' }).click()
    await page.getByText('The share of Quayside is set.').waitFor()
    await page.getByRole('button', { name: 'Quotas' }).click()
    await dialog.getByRole('textbox', { name: 'Sessions' }).fill('500')
    await dialog.getByRole('button', { name: 'Set quotas' }).click()
    await page.getByText('The quotas of Quayside are set.').waitFor()
    await page.getByRole('button', { name: 'Add subscription' }).click()
    await dialog.getByLabel('Plan').fill('Team')
    await dialog.getByLabel('Provider').fill('openai')
    await dialog.getByLabel('Off the input price').fill('20')
    await dialog.getByRole('textbox', { name: 'Allowance' }).fill('5,000,000')
    await dialog.getByRole('button', { name: 'Add subscription' }).click()
    await page.getByRole('row', { name: /Team/ }).getByText('of 5M tokens').waitFor()

    await page.getByRole('button', { name: 'Suspend' }).click()
    await dialog.getByRole('textbox').fill('Quayside')
    await dialog.getByRole('button', { name: 'Suspend project' }).click()
    await page.getByText('suspended', { exact: true }).waitFor()
    const theirs = await scene().visit('/keys', { cookie: tenant.cookie })
    await theirs.page.getByText('This project is suspended by whoever runs this service').first().waitFor()
    await theirs.page.goto('/console/usage')
    await theirs.page.getByRole('heading', { name: 'Usage', exact: true }).waitFor()
    await theirs.close()
    await page.getByRole('button', { name: 'Resume' }).click()
    await dialog.getByRole('button', { name: 'Resume project' }).click()
    await page.getByText('Quayside is served again.').waitFor()

    const told = (path: string) =>
      page.evaluate(
        (url) => fetch(url).then((answer) => answer.json()),
        `/v2/operator/projects/${tenant.project_id}${path}`,
      )
    expect(await told('')).toMatchObject({ operator_cap_micros: 120_000_000, share: 3, status: 'active' })
    expect(await told('/quotas')).toMatchObject({ sessions: 500, keys: null })
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R79 nobody else is offered the section, and its address shows nothing but the refusal', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/operator', { cookie })
    await visit.page.getByText('This belongs to whoever runs this service').first().waitFor()
    expect(await visit.page.getByRole('link', { name: 'Operator' }).count()).toBe(0)
    await visit.close()
  })
})
