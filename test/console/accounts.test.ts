// §5.9 in a browser: from signing up to signing out, by the links that the mails really hold.
import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { ownerLinkStore } from '../../src/accounts/owner-link-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { faults, violations, withConsole } from './checks.ts'
import { PASSWORD, seedOwner } from './seed.ts'

const NEW_PASSWORD = 'another horse, another battery'

withConsole((scene) => {
  const signIn = async (page: import('playwright-core').Page, email: string, password: string) => {
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  test('§5.9 sign up, confirm by the mailed link and be signed in, sign out', async () => {
    const visit = await scene().visit('/sign-up')
    const { page } = visit
    await page.getByLabel('E-mail address').fill('grace@example.com')
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByLabel('Project name').fill('Harbour')
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByText('A link is on its way to grace@example.com').waitFor()

    await page.goto(await scene().linkFor('grace@example.com', 'verify-email'))
    await page.getByRole('button', { name: 'Confirm' }).waitFor()
    expect(page.url()).not.toContain('token')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'Get started' }).waitFor() // signed in, by 0161
    expect(await page.getByText('Harbour').isVisible()).toBe(true)

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto('/console/keys')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§5.9 a link that was used says so, and a page without its link asks for it', async () => {
    const visit = await scene().visit('/verify-email#token=usedbefore')
    await visit.page.getByRole('button', { name: 'Confirm' }).click()
    await visit.page.getByRole('alert').getByText('must be of a link that was neither used').waitFor()
    await visit.page.goto('/console/password-reset')
    await visit.page.getByText('This page needs the link from your mail').waitFor()
    await visit.close()
  })

  test('§5.9 a forgotten password is replaced by the mailed link, and ends every session', async () => {
    const { email, cookie } = await seedOwner(scene().db())
    const elsewhere = await scene().visit('/keys', { cookie })
    const visit = await scene().visit('/sign-in')
    const { page } = visit
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByText(`If ${email} has an account`).waitFor()
    await page.goto(await scene().linkFor(email, 'password-reset'))
    await page.getByLabel('New password').fill('short')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Must have at least 12 characters.').waitFor()
    await page.getByLabel('New password').fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('signed out everywhere').waitFor()

    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, email, PASSWORD)
    await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor()
    await signIn(page, email, NEW_PASSWORD)
    await page.getByRole('heading', { name: 'Get started' }).waitFor()

    // 401 from a page that is open leads to the sign-in page.
    await elsewhere.page.reload()
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await elsewhere.close()
    await visit.close()
  })

  test('§5.9 a second step: set up with an app, asked for at the next sign-in, a recovery code does as well, removed', async () => {
    const { email, cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/settings/account', { cookie })
    const { page } = visit
    await page.getByRole('button', { name: 'Set up second step' }).click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: 'QR code for your app' }).waitFor()
    expect(await violations(page)).toEqual([])
    const shown = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    const device = new TOTP({ secret: shown.replaceAll(' ', '') })
    await page.getByRole('textbox', { name: 'Code' }).fill(device.generate())
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('Two-step sign-in is on').waitFor()
    const [first = '', second = '', third = ''] = (
      (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    ).split(' ')
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await page.getByText('10 of 10 recovery codes are left').waitFor()

    await page.getByRole('button', { name: 'Sign out here' }).click()
    await signIn(page, email, PASSWORD)
    await page.getByRole('textbox', { name: 'Code' }).fill('000000')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Must be one that the device shows now').waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('textbox', { name: 'Code' }).fill(first)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Get started' }).waitFor()

    // 0160: so it is where a link makes the account an owner.
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const [project] = await scene().db().rows<{ id: string }>(sql`SELECT id FROM project WHERE name = 'default'`)
    const { secret } = await ownerLinkStore(scene().db()).mint(project?.id ?? '', systemClock.now())
    await page.goto(`/console/become-owner#token=${secret}`)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Become the owner' }).click()
    await page.getByRole('textbox', { name: 'Code' }).fill(third)
    await page.getByRole('button', { name: 'Become the owner' }).click()
    await page.getByRole('heading', { name: 'Get started' }).waitFor()

    await page.goto('/console/settings/account')
    await page.getByRole('button', { name: 'Remove second step' }).click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('textbox', { name: 'Code' }).fill(second)
    await page.getByRole('dialog').getByRole('button', { name: 'Remove second step' }).click()
    await page.getByRole('button', { name: 'Set up second step' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('0365 a project that requires a second step: who has none sets it up in its place, and goes on', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await scene().db().rows(sql`UPDATE project SET second_factor_required = 1 WHERE id = ${project_id}`)
    const visit = await scene().visit('/keys', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'A second step is required' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Set up second step' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: 'A second step is required' }).waitFor()
    await page.getByRole('button', { name: 'Set up second step' }).click()
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: 'QR code for your app' }).waitFor()
    const shown = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    const device = new TOTP({ secret: shown.replaceAll(' ', '') })
    await page.getByRole('textbox', { name: 'Code' }).fill(device.generate())
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await visit.close()
  })

  test('R3 an invitation asks a newcomer for a password; as a viewer they look, and are spared what is refused', async () => {
    const { cookie } = await seedOwner(scene().db(), { name: 'Lighthouse' })
    const owner = await scene().visit('/keys', { cookie })
    const answer = await owner.page.evaluate(() =>
      fetch('/v2/members/invitations', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'viewer@example.com', role: 'viewer' }),
      }).then((response) => response.status),
    )
    expect(answer).toBe(200)
    const visit = await scene().visit('/sign-in')
    const { page } = visit
    await page.goto(await scene().linkFor('viewer@example.com', 'accept-invitation'))
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByText('Choose a password for your new account.').waitFor()
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByText('has joined the project as viewer').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, 'viewer@example.com', PASSWORD)
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByText('You are a viewer here').waitFor()
    expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0)
    await owner.close()
    await visit.close()
  })

  test('§5.9 while the server cannot be reached, pages say so and recover', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/sign-in')
    const { page, context } = visit
    await page.getByLabel('E-mail address').fill('a@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.route('/auth/login', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor()

    await context.addCookies([{ name: 'switchyard', value: cookie, url: scene().address }])
    await page.route('/auth/me', (route) => route.abort())
    await page.goto('/console/keys')
    await page.getByText('Your session could not be loaded.').waitFor()
    await page.unroute('/auth/me')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await visit.close()
  })
})
