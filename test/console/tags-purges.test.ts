// Two sections of the settings in a browser: budgets of tags, and what is erased with its receipt.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { faults, untilByItself, violations, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'
import { seedTrace } from './traffic.ts'

withConsole((scene) => {
  test('R43 0369 a tag gets a budget, another limit, and none again', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const visit = await scene().visit('/settings/tags', { cookie })
    const { page } = visit
    const dialog = page.getByRole('dialog')
    await page.getByText('None yet. Requests with a tag').waitFor()
    await page.getByRole('button', { name: 'Add budget' }).click()
    await dialog.getByLabel('Tag').fill('search')
    await dialog.getByLabel('Limit').fill('20')
    await dialog.getByRole('button', { name: 'Add budget' }).click()
    await dialog.locator('.field-error').waitFor() // a name and a value
    await dialog.getByLabel('Tag').fill('team=search')
    await dialog.getByRole('button', { name: 'Add budget' }).click()
    const row = page.getByRole('row', { name: /team=search/ })
    await row.getByText('of $20.00').waitFor()
    expect(await violations(page)).toEqual([])
    await row.getByRole('button', { name: 'Limit of team=search' }).click()
    await dialog.getByLabel('Limit').fill('5.50')
    await dialog.getByRole('button', { name: 'Set limit' }).click()
    await row.getByText('of $5.50').waitFor()
    await row.getByRole('button', { name: 'Delete the budget of team=search' }).click()
    await dialog.getByRole('button', { name: 'Delete budget' }).click()
    await page.getByText('None yet. Requests with a tag').waitFor()
    const left = await scene().db().rows(sql`SELECT id FROM tag_budget WHERE project_id = ${project_id}`)
    expect(left).toEqual([])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('0270 0369 a purge is planned, which erases nothing; then carried out, with its receipt', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const trace_id = await seedTrace(scene().db(), project_id)
    const told = () =>
      scene().db().rows<{ said: string }>(sql`SELECT session_id AS said FROM usage_event WHERE trace_id = ${trace_id}`)
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/settings/purges')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Plan a purge' }).click()
    await dialog.getByLabel('Ids').fill('key_1')
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click()
    await dialog.locator('.field-error').getByText('key_1 does not').waitFor()
    await dialog.getByLabel('What').selectOption('Everything in the project')
    await dialog.getByLabel('Name of the project').fill('Other')
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click()
    await dialog.locator('.field-error').waitFor()
    await dialog.getByLabel('What').selectOption('Sessions, answers, requests, artifacts by id')
    await dialog.getByLabel('Ids').fill(trace_id)
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click()
    const row = page.getByRole('row', { name: new RegExp(trace_id) })
    await untilByItself(page, row.getByText('1 trace,'))
    expect(await violations(page)).toEqual([])
    expect(await told()).toEqual([{ said: 'ses_nightly' }])

    await row.getByRole('button', { name: /^Erase/ }).click()
    await dialog.getByText('Nobody can bring it back').waitFor()
    expect(await dialog.getByRole('button', { name: 'Erase', exact: true }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox').fill('erase')
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click()
    await untilByItself(page, row.getByText('succeeded'))
    expect(await told()).toEqual([{ said: null }])
    const download = page.waitForEvent('download')
    await row.getByRole('button', { name: /^Receipt/ }).click()
    const receipt = JSON.parse(readFileSync(await (await download).path(), 'utf8'))
    expect(receipt).toMatchObject({ object: 'purge_receipt', project_id, signature: expect.any(String) })
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
})
