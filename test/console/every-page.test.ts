// Every page, light and dark, wide and at 360 pixels: axe finds nothing above minor, nothing is cut off, the policy holds.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'
import { faults, overflow, violations, withConsole } from './checks.ts'
import { modelUpstream } from './model-upstream.ts'
import { phoneFindings } from './phone-checks.ts'
import { seedKeys, seedOperator, seedOwner, seedUsage } from './seed.ts'
import { seedBundles } from './seed-bundles.ts'
import { seedFleet, seedRouting } from './seed-fleet.ts'
import { seedChannels, seedProvider, seedPurges, seedReplays, seedTagBudgets } from './seed-jobs.ts'
import { seedSettings } from './seed-settings.ts'
import { seedRefusals, seedTrace } from './traffic.ts'

const BUILT = 'dist/console/assets'
const FIRST_MAX_BYTES = 90 * 1024 // what every visit loads before anything is drawn
const SCRIPTS_MAX_BYTES = 220 * 1024 // of all pages together, though each is loaded on demand

const OPEN = ['sign-in', 'sign-up', 'forgot-password', 'verify-email#token=x', 'password-reset#token=x'].concat(
  'accept-invitation#token=x',
  'become-owner#token=x',
  'password-reset',
)
type Whose = 'full' | 'empty' | 'operator'
/** Each page, of a project that has everything or of one that has nothing, with the dialogs that are opened on it. */
const PAGES: [path: string, whose: Whose, ...dialogs: string[]][] = [
  ['/start', 'full'],
  ['/keys', 'full', 'Create key', 'Keyboard shortcuts', 'Search'],
  ['/keys', 'empty'],
  ['/overview', 'full'],
  ['/overview', 'empty'],
  ['/usage?compare=yes&range=custom&from=2026-02-02&to=2026-02-01', 'full'],
  ['/usage?compare=yes&by=key_id&model=gpt-4o', 'full'],
  ['/usage', 'empty'],
  ['/reuse?range=90d', 'full'],
  ['/reuse', 'empty'],
  ['/requests', 'full'],
  ['/requests?outcome=refused&key_id=:id&min_ttft_ms=2000&error=x', 'full'],
  ['/requests', 'empty'],
  ['/traces/:trace_id', 'full'],
  ['/traces/trc_nowhere', 'full'],
  ['/keys/:id', 'full', 'Spending limit', 'Rate limits', 'Revoke', 'Edit', 'Rotate', 'Child key'],
  ['/alerts', 'full', 'Add channel'],
  ['/alerts', 'empty'],
  ['/alerts/:channel_id', 'full', 'Edit', 'Delete'],
  ['/alerts/:failing_id', 'full'],
  ['/alerts/nch_nowhere', 'full'],
  ['/replays', 'full', 'Plan a replay'],
  ['/replays', 'empty'],
  ['/replays/:replay_id', 'full'],
  ['/replays/:planned_id', 'full', 'Execute'],
  ['/replays/:cancelled_id', 'full'],
  ['/replays/rpl_nowhere', 'full'],
  ['/playground', 'full'],
  ['/settings', 'full'],
  ['/settings/members', 'full', 'Invite'],
  ['/settings/credentials', 'full', 'Enter credential'],
  ['/settings/subscriptions', 'full'],
  ['/settings/tags', 'full', 'Add budget', 'Limit of', 'Delete the budget'],
  ['/settings/tags', 'empty'],
  ['/settings/purges', 'full', 'Plan a purge', 'Erase', 'Cancel'],
  ['/settings/purges', 'empty'],
  ['/settings/gateway', 'full'],
  ['/settings/audit', 'full'],
  ['/settings/account', 'full', 'Set up second step'],
  ['/clusters', 'full', 'Register cluster'],
  ['/clusters', 'empty'],
  ['/clusters/:cluster_id', 'full', 'Deregister'],
  ['/cache-planner', 'full'],
  ['/routing', 'full', 'Create alias'],
  ['/routing', 'empty'],
  ['/routing/research%2Flong', 'full', 'New release', 'Return to release', 'Activate', 'Delete'],
  ['/nowhere', 'full'],
  ['/operator', 'operator', 'Create project'],
  ['/operator/:project_id', 'operator', 'Cap', 'Share', 'Quotas', 'Suspend', 'Add subscription'],
  ['/operator/prj_nowhere', 'operator'],
  ['/providers', 'operator', 'Add provider'],
  ['/providers/spare', 'operator', 'Change', 'Drain', 'Remove'],
  ['/providers/atlas', 'operator'],
  ['/providers/nowhere', 'operator'],
]
const PHONES_MAX_PX = 768
const LOOKS = [
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
] as const
/** Of each page. With fewer than there are, one page is looked at in this way and the next in that. */
const LOOKS_EACH = Number(process.env.CONSOLE_LOOKS ?? LOOKS.length)

let upstream: Awaited<ReturnType<typeof modelUpstream>> | undefined
let receiver: Receiver | undefined
afterAll(async () => {
  await upstream?.close()
  await receiver?.close()
})

async function settings() {
  upstream = await modelUpstream({ records: true })
  return upstream.env
}

withConsole((scene) => {
  async function seeded() {
    const owner = await seedOwner(scene().db())
    const keys = [
      { name: 'ci', spent_micros: 9_000_000, budget_micros: 100_000_000 },
      { name: 'old', revoked: true },
    ]
    const [id = ''] = await seedKeys(scene().db(), owner.project_id, keys)
    await seedUsage(scene().db(), owner.project_id, id)
    await seedSettings(scene(), owner.cookie, id)
    const cluster_id = (await seedFleet(scene().db(), owner.project_id)).at(-1) ?? ''
    await seedRouting(scene().db(), owner.project_id, cluster_id)
    await seedRefusals(scene().db(), owner.project_id)
    await seedBundles(scene(), owner)
    return { ...owner, id, cluster_id, trace_id: await seedTrace(scene().db(), owner.project_id, id) }
  }

  /** With jobs in each state, which take a while. */
  async function busy() {
    const owner = await seeded()
    receiver = await webhookReceiver()
    await seedTagBudgets(scene(), owner.cookie)
    await seedPurges(scene(), owner.cookie)
    const channels = await seedChannels(scene(), owner.cookie, receiver.url)
    return { ...owner, ...channels, ...(await seedReplays(scene(), owner.cookie)) }
  }

  async function operator() {
    const operator = await seedOperator(scene().db())
    await seedProvider(scene(), operator.cookie, upstream?.base_url ?? '')
    return operator
  }

  // They are looked at only, so every page may be of the same two projects.
  let founded: ReturnType<typeof found> | undefined
  const found = async () => ({
    full: await busy(),
    empty: await seedOwner(scene().db()),
    operator: await operator(),
  })
  const projects = () => (founded ??= found())
  const addressOf = (path: string, ids: Readonly<Record<string, string>>) =>
    path.replace(/:(\w+)/, (_, name: string) => ids[name] ?? name)

  async function findings(page: Page, within?: Locator): Promise<string[]> {
    await page.waitForLoadState('networkidle')
    const on_phone = (page.viewportSize()?.width ?? 0) < PHONES_MAX_PX && !(await page.getByRole('dialog').count())
    const phone = on_phone ? await phoneFindings(page) : []
    const wide = await overflow(page)
    return [...phone, ...(await violations(page, within)), ...(wide > 0 ? [`${wide} px too wide`] : [])]
  }

  async function opens(page: Page, button: string) {
    const menu = page.getByRole('button', { name: 'Menu', expanded: false })
    if (['Keyboard shortcuts', 'Search'].includes(button) && (await menu.isVisible())) await menu.click()
    await page.getByRole('button', { name: button }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    // What is behind it was looked at before, and is nobody's while it is open.
    expect(await findings(page, dialog), button).toEqual([])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }

  /** As it opens on a phone, and then as a large screen shows it. */
  async function keepsNobodyOut(path: string, cookie?: string, dialogs: readonly string[] = []) {
    const visit = await scene().arrive({ reducedMotion: 'reduce', ...(cookie && { cookie }) })
    const { page } = visit
    for (const [look, { colorScheme, viewport }] of LOOKS.entries()) {
      if ((path.length + look) % LOOKS.length >= LOOKS_EACH) continue
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      if (page.url() === 'about:blank') await page.goto(`/console${path}`)
      await page.getByRole('heading').first().waitFor()
      expect(await findings(page), colorScheme).toEqual([])
      // Dialogs are all of the same parts: half of them are opened in each look.
      for (const [at, button] of dialogs.entries())
        if (LOOKS_EACH === 1 || (at + path.length) % LOOKS.length === look) await opens(page, button)
    }
    expect(faults(visit)).toEqual([])
    await visit.close()
  }

  // A page mostly waits for its browser, so several wait together.
  describe.concurrent('light and dark, wide and narrow', () => {
    test.each(OPEN)('§console %s keeps nobody out', (path) => keepsNobodyOut(`/${path}`))

    test.each(PAGES)(
      '§console %s of the %s project keeps nobody out, nor do its dialogs',
      async (path, whose, ...dialogs) => {
        const all = await projects()
        await keepsNobodyOut(addressOf(path, all.full), all[whose].cookie, dialogs)
      },
    )
  })

  test('§console planted: what is inaccessible, too wide, or against the policy is found', async () => {
    const visit = await scene().visit('/sign-in', LOOKS[0])
    await visit.page.getByRole('heading').first().waitFor()
    await visit.page.evaluate(() => {
      const image = document.createElement('img')
      const wide = document.createElement('div')
      Object.assign(wide.style, { minWidth: '900px', minHeight: '9px' })
      const long = document.createElement('p')
      long.style.minHeight = '3000px'
      const small = document.createElement('button')
      Object.assign(small.style, { display: 'block', width: '20px', height: '20px', padding: '0' })
      document.querySelector('main')?.append(image, wide, long, small)
      const script = document.createElement('script')
      try {
        script.text = 'window.planted = true'
      } catch {
        // Trusted types refuse the text; the attempt is reported all the same.
      }
      document.body.append(script)
    })
    const found = (await findings(visit.page)).join()
    expect(found).toContain('image-alt')
    expect(found).toContain('px too wide')
    expect(found).toContain('screens long')
    expect(found).toContain('under 24 px: <button')
    expect(faults(visit).join()).toContain('policy: ')
    await visit.close()
  })

  test('§console keys of the keyboard: g k, g s, ?', async () => {
    const { cookie } = await seeded()
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Create a key').waitFor()
    await visit.close()
  })

  test('§console the choice of colours is kept, and nothing else is', async () => {
    const visit = await scene().visit('/keys', { cookie: (await seeded()).cookie, colorScheme: 'light' })
    const { page } = visit
    await page.getByText('Dark').click()
    await page.reload()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(15, 17, 19)')
    expect(await page.evaluate(() => Object.entries({ ...localStorage, ...sessionStorage }))).toEqual([
      ['switchyard.theme', 'dark'],
    ])
    await visit.close()
  })
}, settings)

test('§console all scripts together stay small', () => {
  const scripts = existsSync(BUILT) ? readdirSync(BUILT).filter((name) => name.endsWith('.js')) : []
  expect(scripts.length, 'run npm run build first').toBeGreaterThan(5)
  const bytesOf = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + readFileSync(join(BUILT, `${name}.gz`)).length, 0)
  expect(bytesOf(scripts)).toBeLessThan(SCRIPTS_MAX_BYTES)
  const [...named] = readFileSync(join(BUILT, '../index.html'), 'utf8').matchAll(/assets\/([\w.-]+\.js)"/g)
  const first = named.map(([, name = '']) => name)
  expect(first.length).toBeGreaterThan(0)
  expect(bytesOf(first)).toBeLessThan(FIRST_MAX_BYTES)
})
