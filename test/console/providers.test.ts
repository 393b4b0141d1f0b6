// 0343: providers added, tested on the spot, changed, drained and removed in a browser; and no secret left in the page.
import { afterAll, expect, test } from 'vitest'
import { startUpstream } from '../support/upstream.ts'
import { faults, tracesOf, withConsole } from './checks.ts'
import { seedOperator } from './seed.ts'

const SECRET = 'sk-typed-into-the-page-WXYZ'
const upstream = await startUpstream({ body: { data: [{ id: 'mine' }] } })
afterAll(() => upstream.close())

withConsole((scene) => {
  test('0343 a provider from the form to its end, on a phone too', async () => {
    const { cookie } = await seedOperator(scene().db())
    const visit = await scene().visit('/providers', { cookie })
    const { page } = visit
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add provider' }).click()
    await dialog.getByLabel('Id').fill('spare')
    await dialog.getByLabel(/^Address/).fill(upstream.base_url)
    await dialog.getByLabel(/^Secret/).fill(SECRET)
    await dialog.getByLabel(/^Models/).fill('mine 0.5')
    await dialog.getByRole('button', { name: 'Test provider' }).click()
    await dialog.getByText(/must have lines such as/i).waitFor()
    await dialog.getByLabel(/^Models/).fill('mine 0.5 1.5 8192')
    await dialog.getByRole('button', { name: 'Test provider' }).click()
    await dialog.getByText('It lists 1 model.').waitFor()
    await dialog.getByRole('button', { name: 'Add provider' }).click()
    await page.getByRole('heading', { name: 'spare', exact: true }).waitFor()
    await page.getByRole('row', { name: /mine.*\$0\.50.*\$1\.50/ }).waitFor()
    await page.getByText('api_key …WXYZ').waitFor()
    expect(await tracesOf(SECRET, visit)).toEqual([])

    await page.getByRole('button', { name: 'Change', exact: true }).click()
    expect(await dialog.getByLabel(/^Models/).inputValue()).toBe('mine 0.5 1.5 8192')
    await dialog.getByLabel(/^Calls at once/).fill('7')
    await dialog.getByRole('button', { name: 'Change provider' }).click()
    await page.getByText('spare is changed.').waitFor()
    await page.getByRole('row', { name: /changed/ }).waitFor()
    await page.getByRole('button', { name: 'Drain', exact: true }).click()
    await dialog.getByRole('button', { name: 'Drain provider' }).click()
    await page.getByText('draining', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await dialog.getByRole('button', { name: 'Resume provider' }).click()
    await page.getByText('spare takes calls again.').waitFor()
    await page.getByRole('button', { name: 'Return to version 1' }).click()
    await dialog.getByRole('button', { name: 'Return to it' }).click()
    await page.getByText('spare has the settings of version 1 again.').waitFor()

    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await dialog.getByRole('textbox').fill('spare')
    await dialog.getByRole('button', { name: 'Remove provider' }).click()
    await dialog.getByText('is the last one').waitFor()
    await dialog.getByLabel('Remove it all the same').check()
    await dialog.getByRole('button', { name: 'Remove provider' }).click()
    await page.getByText('spare is removed.').waitFor()
    await page.getByRole('heading', { name: 'Providers', exact: true }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
})
