// The console as people meet it: the real server with its housekeeping and its outbox, and a real browser. Whatever a
// page logs, throws, or is refused by its content security policy is written down.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { startServer } from '../../src/main.ts'
import { readConfig } from '../../src/start/config.ts'
import { openStore, type Store } from '../../src/start/open-store.ts'
import { freePort, isFree } from '../support/free-port.ts'
import { commonChromium } from './chromium.ts'
import { takePage, type UsedPage } from './spare-pages.ts'

export interface Visit {
  page: Page
  context: BrowserContext
  /** Lines of the page's console, uncaught errors, and violations of the policy. */
  heard: string[]
  close(): Promise<void>
}

export interface VisitOptions extends BrowserContextOptions {
  /** Of somebody who is signed in. */
  cookie?: string
  /** With nothing in its cache: no page that was used before. */
  is_new?: boolean
}

export type ConsoleScene = Awaited<ReturnType<typeof consoleScene>>

let addresses = 0
let usual: number | undefined

/** One suite after the other is at the same address, where pages that were used before are of use. */
async function portOfWorker(): Promise<number> {
  usual ??= await freePort()
  return (await isFree(usual)) ? usual : 0
}

/** `env`: settings beyond those of an empty machine. */
export async function consoleScene(env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-console-'))
  const port = await portOfWorker()
  const config = readConfig({
    SWITCHYARD_DATA_DIR: folder,
    PORT: String(port),
    LOG_LEVEL: 'silent',
    SWITCHYARD_TRUSTED_PROXIES: '127.0.0.0/8',
    ...env,
  })
  let store: Store | undefined
  const open: typeof openStore = async (...settings) => {
    store = await openStore(...settings)
    return store
  }
  const server = await startServer(config, { open, print: () => {} })
  const browser = await commonChromium()

  const db = () => {
    if (!store) throw new Error('the server opened no store')
    return store.db
  }

  const lent = new Set<UsedPage>()

  /** A browser of its own, at an address of its own, so that nobody's attempts count for another. Its page is empty. */
  async function arrive({ cookie, ...options }: VisitOptions = {}): Promise<Visit> {
    const address = `10.1.${addresses >> 8}.${addresses++ & 255}`
    const used = await takePage(browser, { ...options, baseURL: server.address, address })
    lent.add(used)
    const { page, context, heard } = used
    if (cookie !== undefined)
      await context.addCookies([{ name: cookieName(false), value: cookie, url: server.address }])
    async function close(): Promise<void> {
      lent.delete(used)
      await used.giveBack()
    }
    return { page, context, heard, close }
  }

  async function visit(path: string, options: VisitOptions = {}): Promise<Visit> {
    const visit = await arrive(options)
    await visit.page.goto(`/console${path}`)
    return visit
  }

  /** The link in the latest mail to somebody, as a path below the server. Waits until it was sent. */
  async function linkFor(email: string, page: string): Promise<string> {
    const outbox = join(folder, 'outbox')
    for (let attempt = 0; attempt < 100; attempt++) {
      const texts = mailsIn(outbox).filter((text) => text.includes(email) && text.includes(`/console/${page}#`))
      const [link] = texts.at(-1)?.match(new RegExp(`/console/${page}#token=\\w+`)) ?? []
      if (link) return link
      await new Promise((done) => setTimeout(done, 100))
    }
    throw new Error(`no mail to ${email} with a link to ${page}`)
  }

  return {
    address: server.address,
    db,
    arrive,
    visit,
    linkFor,
    async stop() {
      for (const { context } of lent) await context.close() // of tests that failed
      await server.stop(0)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function mailsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8').replace(/=\r\n/g, '').replaceAll('=3D', '='))
  } catch {
    return [] // nothing was sent yet
  }
}
