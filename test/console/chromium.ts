// A real Chromium for the console's tests: the one that CHROMIUM names, else one on this machine, else Debian's
// package. Never a silent skip: where none can be had, it says how to get one.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

export function startChromium(): Promise<Browser> {
  const path = process.env.CHROMIUM || onMachine() || fromDebian()
  if (!path) {
    const ways = 'set CHROMIUM to its path, or install it (Debian: apt-get install chromium)'
    throw new Error(`The console's tests need a Chromium, and none could be had: ${ways}.`)
  }
  // Without its sandbox, as root cannot have one: it only ever loads our own pages.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

function onMachine(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

function fromDebian(): string | undefined {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).error) return undefined
  process.stdout.write("installing Debian's chromium …\n")
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']])
    if (spawnSync('apt-get', ['-qq', ...args], { env, stdio: 'ignore' }).status !== 0) return undefined
  return onMachine()
}
