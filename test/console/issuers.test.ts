// §5.9 in a browser, against a real identity provider: sign in to the end, sign out, and what is refused.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { OIDC_CLIENT, type OidcServer, startOidcServer } from '../support/oidc-server.ts'
import { faults, violations, withConsole } from './checks.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-issuers-'))
let provider: OidcServer

afterAll(async () => {
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function settings() {
  const port = await freePort()
  provider = await startOidcServer(`http://127.0.0.1:${port}`)
  const file = join(folder, 'switchyard.yaml')
  writeFileSync(
    file,
    `sign_in:
  issuers:
    - id: corp
      name: Corp SSO
      issuer: ${provider.issuer}
      client_id: ${OIDC_CLIENT.client_id}
      client_secret: \${CORP_SECRET}
      domains: [corp.example]
    - { id: gone, name: Gone, issuer: 'http://127.0.0.1:9', client_id: x }
`,
  )
  return { PORT: String(port), SWITCHYARD_CONFIG: file, CORP_SECRET: OIDC_CLIENT.client_secret }
}

const CALLBACK = /\/auth\/oidc\/corp\/callback\?/

withConsole((scene) => {
  /** At the provider's own pages: who one is, and that one agrees. */
  async function passThrough(page: Page, login: string): Promise<void> {
    await page.getByPlaceholder('Enter any login').fill(login)
    await page.getByPlaceholder('and password').fill('whatever')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  test('§5.9 sign in to the end, on the page that was wanted, and sign out here and there', async () => {
    const visit = await scene().visit('/settings/account')
    const { page } = visit
    await page.getByRole('link', { name: 'Continue with Corp SSO' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Continue with Corp SSO' }).click()
    await passThrough(page, 'grace')
    await page.getByRole('heading', { name: 'Settings: Your account' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/prj_\w+\/settings\/account$/)
    await page.getByRole('definition').getByText('grace@corp.example').waitFor()
    expect(faults(visit)).toEqual([])

    await page.getByRole('button', { name: 'Sign out here' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click() // of the provider
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(new URL(page.url()).origin).toBe(scene().address)
    await page.goto('/console/keys')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await visit.close()
  })

  test('§5.9 a code that was used before, a way back that was taken before, and one of another browser are refused', async () => {
    const ways: string[] = []
    const visit = await scene().visit('/sign-in')
    const { page } = visit
    page.on('request', (request) => {
      if (CALLBACK.test(request.url())) ways.push(request.url())
    })
    await page.getByRole('link', { name: 'Continue with Corp SSO' }).click()
    await passThrough(page, 'henry')
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    const [used = ''] = ways
    await visit.context.clearCookies()
    await page.goto(used)
    await page.getByRole('alert').getByText('was not begun in this browser').waitFor()

    const other = await scene().visit('/sign-in')
    await other.page.goto(used)
    await other.page.getByRole('alert').getByText('was not begun in this browser').waitFor()
    // A sign-in of its own, with the other's code: the provider itself refuses that.
    const begun = await other.context.request.get('/auth/oidc/corp/start', { maxRedirects: 0 })
    const way = new URL(used)
    way.searchParams.set('state', new URL(begun.headers().location ?? '').searchParams.get('state') ?? '')
    await other.page.goto(way.href)
    await other.page.getByRole('alert').getByText('was used before').waitFor()
    await other.page.goto('/console/keys')
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.close()
    await visit.close()
  })

  test('§5.9 who says no at the provider, who has no verified address, and an issuer that is away are told so', async () => {
    const visit = await scene().visit('/sign-in')
    const { page } = visit
    await page.getByRole('link', { name: 'Continue with Corp SSO' }).click()
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByRole('alert').getByText('did not sign you in').waitFor()
    await page.getByRole('link', { name: 'Continue with Corp SSO' }).click()
    await passThrough(page, 'unverified')
    await page.getByRole('alert').getByText('does not say that your e-mail address is verified').waitFor()
    await page.getByRole('link', { name: 'Continue with Gone' }).click()
    await page.getByRole('alert').getByText('cannot be reached').waitFor()
    expect(await violations(page)).toEqual([])
    await visit.close()
  })

  test('§5.9 a domain that must use its issuer is told so on the page', async () => {
    const visit = await scene().visit('/sign-in')
    const { page } = visit
    await page.getByLabel('E-mail address').fill('grace@corp.example')
    await page.getByLabel('Password', { exact: true }).fill('some password of hers')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('sign in with Corp SSO').waitFor()
    await visit.close()
  })
}, settings)
