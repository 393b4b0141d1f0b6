// A real Chromium for the console's tests and pictures: the one that CHROMIUM names, else one on this machine. `npm test`
// has started one already, which all suites share: each has its own contexts in it.
import { type Browser, type BrowserServer, chromium } from 'playwright-core'
import { need } from '../support/provision.ts'

// Without its sandbox, as root cannot have one: it only ever loads our own pages.
const ARGS = ['--no-sandbox', '--disable-dev-shm-usage']

export async function startChromium(): Promise<Browser> {
  const { CHROMIUM: path, CHROMIUM_SERVER: server } = process.env
  if (server) return chromium.connect(server)
  const found = path || (await need('Chromium', (text) => void process.stderr.write(`${text}\n`)))
  return chromium.launch({ executablePath: found, args: ARGS })
}

/** For several processes at once. */
export const serveChromium = (path: string): Promise<BrowserServer> =>
  chromium.launchServer({ executablePath: path, args: ARGS })
