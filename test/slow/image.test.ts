// The image, built by following its Dockerfile and started as it would be: as another user, on a folder that it cannot
// write to. What Docker adds is the base image; everything of ours is as in the image.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BuiltStage, buildStages, copyContext, readStages } from '../support/dockerfile.ts'
import { endsWithUs } from '../support/ends-with-us.ts'
import { freePort } from '../support/free-port.ts'

const NOBODY = 65_534
const KEY = `svc_live_${'k'.repeat(40)}`
const is_root = process.getuid?.() === 0
const user = is_root ? { uid: NOBODY, gid: NOBODY } : {}

const folder = mkdtempSync(join(tmpdir(), 'switchyard-image-'))
let image: BuiltStage
let origin: string
let env: Record<string, string>
let said = ''
let stop: () => Promise<unknown> = async () => {}

beforeAll(async () => {
  chmodSync(folder, 0o755)
  const context = join(folder, 'context')
  copyContext('.', context, readFileSync('deploy/Dockerfile.dockerignore', 'utf8'))
  image = await buildStages(readStages(), context, folder, is_root ? `-o ${NOBODY} -g ${NOBODY}` : '')
  spawnSync('chmod', ['-R', 'a-w,a+rX', image.work_dir])

  const key_file = join(folder, 'bootstrap_key')
  writeFileSync(key_file, `${KEY}\n`, { mode: 0o400 })
  if (is_root) chownSync(key_file, NOBODY, NOBODY)
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  const own = { HOST: '127.0.0.1', PORT: String(port), SWITCHYARD_DATA_DIR: join(image.root, 'data') }
  env = { PATH: process.env.PATH ?? '', ...image.env, ...own, SWITCHYARD_BOOTSTRAP_KEY_FILE: key_file }
  const [program = '', ...args] = image.command
  const server = spawn(program, args, { cwd: image.work_dir, env, ...user })
  endsWithUs(server)
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (part) => (said += part))
  const ended = new Promise((resolve) => server.once('exit', resolve))
  stop = () => {
    server.kill('SIGTERM')
    return ended
  }
}, 300_000)
afterAll(async () => {
  await stop()
  spawnSync('chmod', ['-R', 'u+w', folder])
  spawnSync('rm', ['-rf', folder]) // thousands of files, which Node would take longer for
})

test('§operations the image starts as nobody on a folder that it cannot write to, and is healthy', async () => {
  const alive = () =>
    fetch(`${origin}/readyz`).then(
      (answer) => answer.status,
      () => said,
    )
  await expect.poll(alive, { timeout: 60_000 }).toBe(200)
  const touch = spawnSync('sh', ['-c', 'touch dist/written package.json.new'], { cwd: image.work_dir, ...user })
  expect(touch.status).not.toBe(0)
  const [program = '', ...args] = image.health_check
  expect(spawnSync(program, args, { cwd: image.work_dir, env, ...user }).status).toBe(0)
})

test('§console the image has the console: its page, and what the page loads', async () => {
  const page = await fetch(`${origin}/console`)
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const loaded = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path)
  expect(loaded.length).toBeGreaterThan(1)
  for (const path of loaded) expect((await fetch(`${origin}${path}`)).status, path).toBe(200)
})

test('§operations the image has the reference with its style, and answers a chat with the key from a file', async () => {
  for (const path of ['/docs', '/docs/reference.css', '/docs/reference-filter.js'])
    expect((await fetch(`${origin}${path}`)).status, path).toBe(200)
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }),
  })
  expect([answer.status, answer.headers.get('agent-execution-mode')]).toEqual([200, 'placeholder'])
  expect(said).not.toContain(KEY)
})

test('§operations the command line is on the PATH of the image, and finds the store of the server beside it', () => {
  const path = `${join(image.root, 'usr/local/bin')}:${env.PATH}`
  const { stdout, stderr, status } = spawnSync('switchyard', ['owner-link'], { env: { ...env, PATH: path }, ...user })
  expect([status, stderr.toString()]).toEqual([0, ''])
  expect(stdout.toString()).toMatch(/^Open this to own the project default\. [\s\S]*become-owner#token=/)
})

test('§operations the image says what it is made of, and has nothing that only a developer needs', () => {
  const bill = JSON.parse(readFileSync(join(image.work_dir, 'sbom.cdx.json'), 'utf8'))
  const names: string[] = bill.components.map(({ name }: { name: string }) => name)
  expect([bill.bomFormat, bill.metadata.component.name]).toEqual(['CycloneDX', 'switchyard'])
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'ioredis']))
  const absent = ['vite', 'typescript', 'vitest', 'react']
  expect(names.filter((name) => absent.includes(name))).toEqual([])
  const installed = spawnSync('ls', ['node_modules', 'dist', 'dist/.build'], { cwd: image.work_dir }).stdout.toString()
  expect(installed.split('\n').filter((name) => absent.includes(name) || name.endsWith('.json'))).toEqual([])
})
