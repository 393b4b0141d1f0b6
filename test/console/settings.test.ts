// The settings in a browser: the project, its people, credentials whose secret is seen by nobody, and who did what.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entryOf } from '../../src/audit/audit.ts'
import { auditStore } from '../../src/audit/audit-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { faults, tracesOf, withConsole } from './checks.ts'
import { seedOperator, seedOwner } from './seed.ts'

const SECRET = 'sk-proj-7Qx2mWvRZ9tKp4LhD8sN'

let upstream: TestUpstream
beforeAll(async () => {
  upstream = await startUpstream({ models: ['m'] })
})
afterAll(() => upstream?.close())

withConsole((scene) => {
  async function owner(path: string) {
    const seeded = await seedOwner(scene().db())
    const visit = await scene().visit(path, { cookie: seeded.cookie })
    return { ...seeded, visit, page: visit.page }
  }

  test('R79 a cap that the operator set is what the project is measured by, where it is the lower', async () => {
    const { page, visit, project_id } = await owner('/settings')
    await page.getByText('spent, no limit').waitFor()
    await scene().db().rows(sql`UPDATE project SET operator_cap_micros = 10000000 WHERE id = ${project_id}`)
    await page.reload()
    await page.getByText('caps this project at $10.00').waitFor()
    await page.getByText('of $10.00').waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.locator('.spending').getByText('of $10.00').waitFor()
    await visit.close()
  })

  test('R6 R8 the project is renamed, capped and bound to regions, and each is seen at once', async () => {
    const { page, visit } = await owner('/settings')
    await page.getByLabel('Project name').fill('  ')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Must not be empty.').waitFor()
    await page.getByLabel('Project name').fill('Harbour')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.locator('.project').getByText('Harbour').waitFor()

    await page.getByRole('textbox', { name: 'Cap' }).fill('120')
    await page.getByRole('button', { name: 'Set cap' }).click()
    await page.getByText('of $120.00').waitFor()
    await page.getByLabel('Allow overage').check()
    await page.getByRole('button', { name: 'Set cap' }).click()
    const project = () => page.evaluate(() => fetch('/v2/project').then((told) => told.json()))
    await expect.poll(project).toMatchObject({ cap_micros: 120_000_000, overage_enabled: true })
    await page.getByRole('textbox', { name: 'Cap' }).fill('')
    await page.getByRole('button', { name: 'Lift cap' }).click()
    await page.getByText('no limit').waitFor()

    await page.getByLabel('Own clusters and credentials').selectOption('own_only')
    await page.getByText('Calls stay on own capacity.').waitFor()
    await page.getByRole('textbox', { name: 'Regions' }).fill('local\neu-typo')
    await page.getByRole('button', { name: 'Set regions' }).click()
    await page.getByText("or of a cluster or credential of this project: 'local'").waitFor()
    await page.getByRole('textbox', { name: 'Regions' }).fill('local')
    await page.getByRole('button', { name: 'Set regions' }).click()
    await page.getByText('The allowed regions are set.').waitFor()
    expect(await project()).toMatchObject({ name: 'Harbour', allowed_regions: ['local'], boundary: 'own_only' })
    await page.getByLabel('Record request and answer').click()
    await page.getByText('lets nobody record calls').waitFor()
    expect(await project()).toMatchObject({ recordings_enabled: false })
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R3 somebody is invited, and the invitation is withdrawn; the owner stays', async () => {
    const { page, visit, email } = await owner('/settings/members')
    await page.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail address').fill('not an address')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    await dialog.getByText('Must be an e-mail address').waitFor()
    await dialog.getByLabel('E-mail address').fill('grace@example.com')
    await dialog.getByLabel('Role').selectOption('viewer')
    await dialog.getByRole('button', { name: 'Send invitation' }).click()
    const row = page.getByRole('row', { name: /grace@example\.com/ })
    await row.getByText('invited').waitFor()

    await row.getByRole('button', { name: 'Withdraw' }).click()
    await dialog.getByText('stops working at once').waitFor()
    await dialog.getByRole('button', { name: 'Withdraw invitation' }).click()
    await row.waitFor({ state: 'detached' })

    const own = page.getByRole('row', { name: new RegExp(email) })
    await own.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove member' }).click()
    await dialog.getByRole('alert').getByText('stays its owner').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R20 a credential is typed once, verified, revoked; its secret is nowhere in the page, storage, logs or memory', async () => {
    const { page, visit } = await owner('/settings/credentials')
    await page.getByText('None yet.').waitFor()
    await page.getByRole('button', { name: 'Enter credential' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Provider').fill('openai')
    await dialog.getByLabel('Name').fill('team key')
    await dialog.getByLabel('Secret').fill('with blanks in it')
    await dialog.getByLabel('Address').fill(upstream.base_url)
    await dialog.getByRole('button', { name: 'Enter credential' }).click()
    await dialog.getByText('Must be made of visible ASCII').waitFor()
    await dialog.getByLabel('Secret').fill(SECRET)
    await dialog.getByRole('button', { name: 'Enter credential' }).click()
    const row = page.getByRole('row', { name: /team key/ })
    await row.getByText('sk-p…D8sN').waitFor()
    expect(await tracesOf(SECRET, visit)).toEqual([])

    await row.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The provider accepts team key.').waitFor()
    expect((await upstream.request(1)).headers.authorization).toBe(`Bearer ${SECRET}`)
    upstream.behave({ status: 401, body: { error: { message: 'no' } } })
    await row.getByRole('button', { name: 'Verify' }).click()
    await row.getByText('refused').waitFor()

    await row.getByRole('button', { name: 'Revoke' }).click()
    await dialog.getByText('Its secret is deleted here at once').waitFor()
    await dialog.getByRole('textbox').fill('team key')
    await dialog.getByRole('button', { name: 'Revoke credential' }).click()
    await row.getByText('revoked').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R79 an owner sees the subscriptions that the project was given, and is not offered to add one', async () => {
    const { page, visit } = await owner('/settings/subscriptions')
    await page.getByText('Whoever runs this service adds one.').waitFor()
    expect(await page.getByRole('button', { name: 'Add subscription' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0)
    await visit.close()
  })

  test('R40, R79 in the project that runs the service, a subscription is added and canceled', async () => {
    const { cookie } = await seedOperator(scene().db())
    const visit = await scene().visit('/settings/subscriptions', { cookie })
    const { page } = visit
    await page.getByRole('button', { name: 'Add subscription' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Plan').fill('Team')
    await dialog.getByLabel('Provider').fill('openai')
    await dialog.getByLabel('Off the input price').fill('120')
    await dialog.getByRole('textbox', { name: 'Allowance' }).fill('5,000,000')
    await dialog.getByRole('button', { name: 'Add subscription' }).click()
    await dialog.locator('.field-error').waitFor()
    await dialog.getByLabel('Off the input price').fill('20')
    await dialog.getByRole('button', { name: 'Add subscription' }).click()
    const row = page.getByRole('row', { name: /Team/ })
    await row.getByText('of 5M tokens').waitFor()
    await row.getByRole('button', { name: 'Cancel' }).click()
    await dialog.getByText('5,000,000 tokens of its allowance are left').waitFor()
    await dialog.getByRole('button', { name: 'Cancel subscription' }).click()
    await row.getByText('canceled').waitFor()
    await visit.close()
  })

  test('§8.1 the limits in force and the set-up are shown; the account signs out', async () => {
    const { page, visit } = await owner('/settings/gateway')
    await page.getByText('Tokens a minute').waitFor()
    await page.getByText('50,000,000').waitFor()
    await page.getByText('No provider is configured.').waitFor()
    await page.getByRole('link', { name: 'Your account' }).click()
    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await visit.close()
  })

  test('§8.2 twelve hundred entries of the audit log: page by page, none lost, by deed and person', async () => {
    const { page, visit, project_id, person_id, email } = await owner('/start')
    const now = systemClock.now()
    await scene()
      .db()
      .transaction(async (tx) => {
        for (let at = 0; at < 1_200; at++) {
          const action = at % 100 === 0 ? 'POST /v2/project/cap' : 'POST /v2/api-keys'
          const actor = at % 2 === 0 ? person_id : 'key_automation'
          // Three of them in each millisecond: a page ends in the middle of one.
          const at_ms = now - 60_000 - Math.floor(at / 3)
          await auditStore(tx).insert(entryOf({ project_id, actor, action, request_id: `req_${at}` }, at_ms))
        }
      })
    await page.goto('/console/settings/audit')
    await page.getByText('1–50 of 500').waitFor()
    const older = page.getByRole('button', { name: 'Load older entries' })
    await older.click()
    await page.getByText(/1–50 of 99\d/).waitFor()
    await older.click()
    await page.getByText('1–50 of 1,200').waitFor()
    await older.click()
    await older.waitFor({ state: 'detached' })

    await page.getByLabel('What').selectOption('Set the spending cap of the project')
    await expect.poll(() => page.getByRole('row').count(), { timeout: 60_000 }).toBe(13)
    await page.getByLabel('Who').selectOption(email)
    await page
      .getByRole('row', { name: `${email} set the spending cap of the project` })
      .first()
      .waitFor()
    const { searchParams } = new URL(page.url())
    expect([searchParams.get('action'), searchParams.get('actor')]).toEqual(['POST /v2/project/cap', person_id])
    await page.reload()
    await page
      .getByRole('row', { name: `${email} set the spending cap of the project` })
      .first()
      .waitFor()
    await page.goBack()
    await expect.poll(() => page.getByLabel('Who').inputValue()).toBe('')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('1–50 of 500').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§7 a section that cannot be loaded says why and can be tried again', async () => {
    const { page, visit } = await owner('/start')
    await page.route('**/v2/members', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'The store does not answer.', type: 'server_error' } } }),
    )
    await page.goto('/console/settings/members')
    await page.getByText('Members could not be loaded. The store does not answer.').waitFor()
    await page.unroute('**/v2/members')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('row', { name: /you/ }).waitFor()
    await visit.close()
  })
})
