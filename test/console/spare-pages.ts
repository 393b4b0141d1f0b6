// Pages that are used again. A page in a new browser takes four times as long to load as one that has been used, and
// who visits next cannot tell: cookies, storage, routes, listeners and what was heard are as in the beginning.
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

export interface UsedPage {
  page: Page
  context: BrowserContext
  heard: string[]
  /** Leaves it to the next, unless something was done to it that cannot be undone. */
  giveBack(): Promise<void>
}

export interface Wanted extends BrowserContextOptions {
  baseURL: string
  /** Where the browser seems to be. */
  address: string
  /** Nothing may be in its cache. */
  is_new?: boolean
}

const PATIENCE_MS = 60_000 // a busy machine may take a while
const VIEWPORT = { width: 1280, height: 720 }
const EVENTS = ['request', 'response', 'requestfinished', 'requestfailed', 'dialog', 'download', 'popup']
const spares = new Map<string, UsedPage[]>()

export async function takePage(browser: Browser, { address, ...wanted }: Wanted): Promise<UsedPage> {
  const { baseURL, viewport, colorScheme, reducedMotion, is_new = false, ...odd } = wanted
  const is_plain = !is_new && Object.keys(odd).length === 0
  const used = (is_plain ? spares.get(baseURL)?.pop() : undefined) ?? (await newPage(browser, baseURL, odd, is_plain))
  await used.context.setExtraHTTPHeaders({ 'x-forwarded-for': address })
  await used.page.setViewportSize(viewport ?? VIEWPORT)
  await used.page.emulateMedia({ colorScheme: colorScheme ?? null, reducedMotion: reducedMotion ?? null })
  used.heard = []
  return used
}

async function newPage(browser: Browser, baseURL: string, odd: BrowserContextOptions, is_plain: boolean) {
  const permissions = ['clipboard-read', 'clipboard-write']
  const context = await browser.newContext({ baseURL, permissions, ...odd })
  context.setDefaultTimeout(PATIENCE_MS)
  context.on('weberror', (error) => void used.heard.push(`thrown: ${error.error().message}`))
  context.on('console', (line) => void used.heard.push(`${line.type()}: ${line.text()}`))
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    )
  })
  const page = await context.newPage()
  const was = spoiling(page)
  const used: UsedPage = {
    ...{ page, context, heard: [] },
    async giveBack() {
      if (!is_plain || was.spoiled || page.isClosed()) return context.close()
      try {
        await clean(page, context, baseURL)
        spares.set(baseURL, [...(spares.get(baseURL) ?? []), used])
      } catch {
        await context.close()
      }
    },
  }
  return used
}

/** A script that runs before a page's own, and a clock that is held, stay for good. */
function spoiling(page: Page): { spoiled: boolean } {
  const was = { spoiled: false }
  const note =
    <Args extends unknown[], Result>(done: (...args: Args) => Result) =>
    (...args: Args) => {
      was.spoiled = true
      return done(...args)
    }
  page.addInitScript = note(page.addInitScript.bind(page)) as typeof page.addInitScript
  page.clock.install = note(page.clock.install.bind(page.clock))
  return was
}

async function clean(page: Page, context: BrowserContext, baseURL: string): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close()
  for (const event of EVENTS) page.removeAllListeners(event)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  await context.clearCookies()
  if (!page.url().startsWith(baseURL)) await page.goto('/healthz')
  await page.evaluate(() => {
    localStorage.clear()
    sessionStorage.clear()
  })
  await page.goto('about:blank')
}
