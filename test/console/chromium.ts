// A real Chromium for the console's tests and pictures: the one that CHROMIUM names, else one on this machine. A worker
// has one for all of its suites. One that several workers share takes a third longer, since its pages are drawn by one
// process.
import { type Browser, chromium } from 'playwright-core'
import { need } from '../support/provision.ts'

export async function startChromium(): Promise<Browser> {
  const path = process.env.CHROMIUM || (await need('Chromium', (text) => void process.stderr.write(`${text}\n`)))
  // Without its sandbox, as root cannot have one: it only ever loads our own pages. Debian's asks for a graphics card to
  // draw with, which would be emulated here.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] })
}

let common: Browser | undefined

/** It ends with the worker. */
export async function commonChromium(): Promise<Browser> {
  if (!common?.isConnected()) common = await startChromium()
  return common
}
