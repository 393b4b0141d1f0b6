// What `npm run build` rests on: only what changed is built, a build that was killed is none, and two do not mix.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const MODULE = pathToFileURL('scripts/build-parts.mjs').href
/** Two parts that copy a folder each, and stand still in the middle where a file says so. */
const PARTS = `data:text/javascript,${encodeURIComponent(`
import { appendFileSync, cpSync, existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const part = (root, name) => ({
  name,
  inputs: ['in/' + name, 'lock.json'],
  counts: (path) => !path.endsWith('.test'),
  outputs: [name],
  async make(folder) {
    appendFileSync(root + '/made.log', name + '\\n')
    cpSync(root + '/in/' + name, folder + '/' + name, { recursive: true })
    writeFileSync(root + '/begun', '')
    while (existsSync(root + '/hold')) await sleep(5)
    if (existsSync(root + '/break')) throw new Error('broken')
  },
})
export const partsOf = (root) => [part(root, 'server'), part(root, 'pages')]
`)}`
const DRIVER = `
import { build } from '${MODULE}'
import { partsOf } from ${JSON.stringify(PARTS)}
const made = await build(partsOf(process.cwd()), { say: (text) => process.stderr.write(text + '\\n') })
process.stdout.write(made.join())
`

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-build-'))
  put('in/server/main.ts', 'one')
  put('in/server/deep/rule.ts', 'two')
  put('in/server/main.ts.test', 'test')
  put('in/pages/index.html', 'page')
  put('lock.json', '{}')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
const built = (path: string) => readFileSync(join(root, 'dist', path), 'utf8')

function start() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', DRIVER], { cwd: root })
  let [made, said] = ['', '']
  child.stdout.on('data', (text) => (made += text))
  child.stderr.on('data', (text) => (said += text))
  const ended = new Promise<{ code: number | null; made: string; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, made, said })),
  )
  return { child, ended, said: () => said }
}
/** A build in a process of its own, which knows nothing of an earlier one but what lies on the disk. */
const runAlone = async () => (await start().ended).made
/** The same here: it keeps nothing in memory either, and to start a process takes longer than to build. */
async function run(): Promise<string> {
  const [{ build }, { partsOf }] = await Promise.all([import(MODULE), import(PARTS)])
  return (await build(partsOf(root), { root })).join()
}

test('§build the first time everything is built, the second time nothing', async () => {
  expect(await runAlone()).toBe('server,pages')
  expect([built('server/deep/rule.ts'), built('pages/index.html')]).toEqual(['two', 'page'])
  expect(await runAlone()).toBe('')
  expect(await run()).toBe('')
})

test('§build a change builds its part alone; what both rest on, both; a test, none', async () => {
  await run()
  put('in/server/main.ts', 'eno') // of the same size
  expect([await run(), built('server/main.ts')]).toEqual(['server', 'eno'])
  put('in/server/main.ts.test', 'another test')
  expect(await run()).toBe('')
  put('lock.json', '{"new":1}')
  expect(await run()).toBe('server,pages')
})

test('§build new times with the same contents, as after a checkout, build nothing', async () => {
  await run()
  utimesSync(join(root, 'in/server/main.ts'), new Date(1), new Date(1))
  put('lock.json', '{}')
  expect([await run(), await run()]).toEqual(['', ''])
})

test('§build a deleted source is gone from what was built, and so is a whole folder', async () => {
  await run()
  rmSync(join(root, 'in/server/deep'), { recursive: true })
  expect(await run()).toBe('server')
  expect(existsSync(join(root, 'dist/server/deep'))).toBe(false)
})

test('§build what somebody removed from dist, or cut short, is built again', async () => {
  await run()
  rmSync(join(root, 'dist/server/deep/rule.ts'))
  expect([await run(), built('server/deep/rule.ts')]).toEqual(['server', 'two'])
  writeFileSync(join(root, 'dist/pages/index.html'), '')
  expect([await run(), built('pages/index.html')]).toEqual(['pages', 'page'])
})

test('§build one that was killed is not taken for done, and the last whole one stays in place until then', async () => {
  await run()
  put('in/server/main.ts', 'three')
  rmSync(join(root, 'begun'))
  put('hold', '')
  const { child, ended } = start()
  await expect.poll(() => existsSync(join(root, 'begun'))).toBe(true)
  child.kill('SIGKILL')
  await ended
  expect(built('server/main.ts')).toBe('one')
  rmSync(join(root, 'hold'))
  expect([await run(), built('server/main.ts')]).toEqual(['server', 'three'])
})

test('§build one that fails says so, and the next one tries again', async () => {
  put('break', '')
  const { code, said } = await start().ended
  expect([code, said]).toEqual([1, expect.stringContaining('broken')])
  await expect(run()).rejects.toThrow('broken')
  rmSync(join(root, 'break'))
  expect(await run()).toBe('server,pages')
})

test('§build of two at once, one builds and the other waits for it', async () => {
  put('hold', '')
  const first = start()
  await expect.poll(() => existsSync(join(root, 'begun'))).toBe(true)
  const second = start()
  await expect.poll(() => second.said()).toContain('waiting for another build')
  rmSync(join(root, 'hold'))
  expect([(await first.ended).made, (await second.ended).made]).toEqual(['server,pages', ''])
  expect(readFileSync(join(root, 'made.log'), 'utf8')).toBe('server\npages\n')
})

test('§build what changes while it is being built is built again', async () => {
  put('hold', '')
  const first = run()
  await expect.poll(() => existsSync(join(root, 'begun'))).toBe(true)
  put('in/server/main.ts', 'later')
  rmSync(join(root, 'hold'))
  await first
  expect([await run(), built('server/main.ts')]).toEqual(['server', 'later'])
})
