// The first minutes of a new user: start, paste what is printed, open the printed link, and see the first call in the
// console. The real command, as `npm start` runs it, and a real browser. SHOTS names a folder for pictures of it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { endsWithUs } from '../support/ends-with-us.ts'
import { startChromium } from './chromium.ts'
import { PASSWORD } from './seed.ts'

const PROGRAM = resolve('dist/cli/main.js') // `npm test` builds it
const EMAIL = 'ada@example.com'

let browser: Browser
beforeAll(async () => {
  browser = await startChromium()
})
afterAll(() => browser.close())

/** `npm start` in a folder of its own, once it has printed everything. */
async function firstStart(env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-first-'))
  const settings = { PATH: process.env.PATH ?? '', PORT: '0', SWITCHYARD_DRAIN_MS: '0', LOG_LEVEL: 'info', ...env }
  const child = spawn(process.execPath, [PROGRAM, 'serve'], { cwd: folder, env: settings })
  endsWithUs(child)
  onTestFinished(async () => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  })
  let printed = ''
  await new Promise<void>((heard, failed) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      if (printed.includes('Say hello')) heard()
    })
    child.once('close', (code) => failed(new Error(`the server ended with ${code}`)))
  })
  return { printed, folder, settings }
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    child.once('close', () => done())
    child.kill('SIGKILL')
  })
}

const pasted = async (printed: string) => {
  const [command = ''] = /curl -s [\s\S]*?-d '.*'/.exec(printed) ?? []
  return JSON.parse((await promisify(execFile)('sh', ['-c', command])).stdout)
}

const linkIn = (text: string) => /http\S+\/console\/become-owner#token=\w+/.exec(text)?.[0] ?? ''

async function shot(page: Page, name: string): Promise<void> {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`), fullPage: true })
}

async function fill(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Become the owner' }).click()
}

test('0160 start, paste the call, open the link, and the first call is there', async () => {
  const { printed } = await firstStart()
  const answer = await pasted(printed)
  expect(answer).toMatchObject({ object: 'chat.completion' })

  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await page.goto(linkIn(printed))
  await page.getByRole('heading', { name: 'Become the owner' }).waitFor()
  expect(page.url()).not.toContain('token')
  await shot(page, '1-link')
  await fill(page, EMAIL, 'short')
  await page.getByText('Must have at least 12 characters.').waitFor()
  await fill(page, EMAIL, PASSWORD)

  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor() // signed in, and something was generated
  await page.getByText(EMAIL).waitFor()
  await shot(page, '2-overview')
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await page.getByText('Completed', { exact: true }).last().waitFor()
  await shot(page, '3-requests')
  await page.getByRole('link', { name: 'Get started' }).click()
  await page.getByText('The latest was answered by').waitFor()
  await page.getByText('The project has a key.').waitFor()
  await page.getByRole('heading', { name: 'Connect a provider' }).waitFor()
  await shot(page, '4-start')

  const late = await (await browser.newContext()).newPage()
  await late.goto(linkIn(printed))
  await fill(late, 'eve@example.com', PASSWORD)
  await late.getByRole('alert').getByText('was used, was replaced').waitFor()
  await shot(late, '5-too-late')
  await context.close()
})

test('0160 with sign-up closed and a key of the operator’s, `owner-link` lets the first person in', async () => {
  const key = `svc_live_${'k'.repeat(40)}`
  const { printed, folder, settings } = await firstStart({
    SWITCHYARD_SIGN_UP: 'invited',
    SWITCHYARD_BOOTSTRAP_KEY: key,
  })
  expect(linkIn(printed)).toBe('')
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? []
  const env = { ...settings, SWITCHYARD_URL: url }
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'owner-link'], { cwd: folder, env })

  const page = await (await browser.newContext()).newPage()
  await page.goto(linkIn(stdout))
  await fill(page, EMAIL, PASSWORD)
  await page.getByRole('heading', { name: 'Get started' }).waitFor()
  const again = promisify(execFile)(process.execPath, [PROGRAM, 'owner-link'], { cwd: folder, env })
  await expect(again).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(`can sign in: ${EMAIL}`) })

  const stranger = await (await browser.newContext()).newPage()
  await stranger.goto(`${url}/console/sign-up`)
  await stranger.getByRole('heading', { name: 'Sign-up is closed' }).waitFor()
  await stranger.getByRole('link', { name: 'Sign in' }).click()
  await stranger.getByRole('button', { name: 'Sign in' }).waitFor()
  await stranger.getByRole('link', { name: 'Sign up' }).waitFor({ state: 'detached' }) // once it is known
  await stranger.context().close()
  await page.context().close()
})
