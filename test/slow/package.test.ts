// 0353: what is published, packed as a release packs it and started as people start it: `npx` in an empty folder.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const PACKED_MAX = 3_000_000
let packed: { path: string; files: string[]; bytes: number }
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchyard-npx-'))
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'pipe' })
  const said = execFileSync(process.execPath, ['scripts/pack.mjs'], { encoding: 'utf8' })
  const path = resolve(/^(dist\/\S+\.tgz)/.exec(said)?.[1] ?? '')
  const lines = execFileSync('tar', ['-tvzf', path], { encoding: 'utf8' }).trim().split('\n')
  const files = lines.map((line) => line.replace(/^.*? package\//, ''))
  packed = { path, files, bytes: statSync(path).size }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const inPackage = (name: string) =>
  execFileSync('tar', ['-xOzf', packed.path, `package/${name}`], { encoding: 'utf8', maxBuffer: 1 << 27 })

test('0353 the package has the bundled server, console and command, its licence and its parts list; nothing else', () => {
  const top = [...new Set(packed.files.map((file) => file.split('/')[0]))].toSorted()
  expect(top).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'THIRD-PARTY.txt',
    'dist',
    'package.json',
    'sbom.cdx.json',
    'switchyard.example.yaml',
  ])
  expect(packed.files).toEqual(expect.arrayContaining(['dist/cli/main.js', 'dist/console/index.html']))
  const stray = packed.files.filter((file) => /\.(tsx?|map)$|\.test\.|node_modules|\/\.|planted|data\//.test(file))
  expect(stray).toEqual([])
  expect(packed.bytes).toBeLessThan(PACKED_MAX)
})

test('0353 it needs the two packages with machine code, in the versions that are tested here; the rest is named', () => {
  const { dependencies, devDependencies, scripts, private: is_private, bin } = JSON.parse(inPackage('package.json'))
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const version = (name: string) => packages[`node_modules/${name}`].version
  expect(dependencies).toEqual(
    Object.fromEntries(['@node-rs/argon2', '@photostructure/sqlite'].map((name) => [name, version(name)])),
  )
  expect([devDependencies, scripts, is_private]).toEqual([undefined, undefined, undefined])
  expect(bin).toEqual({ switchyard: 'dist/cli/main.js' })
  const { components } = JSON.parse(inPackage('sbom.cdx.json'))
  const named = components.map(({ name, group }: { name: string; group?: string }) =>
    group ? `${group}/${name}` : name,
  )
  expect(named).toEqual(expect.arrayContaining(['fastify', 'pg', 'ioredis', '@photostructure/sqlite']))
  expect(named).not.toContain('vitest')
  for (const name of ['fastify', 'pg', 'ioredis'])
    expect(inPackage('THIRD-PARTY.txt')).toContain(`${name} ${version(name)}`)
})

test('0353 npx in an empty folder: it serves on the embedded store, says welcome, and answers a call', async () => {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, PORT: '0', npm_config_prefer_offline: 'true', npm_config_yes: 'true' }
  const child = spawn('npx', [`file:${packed.path}`], { cwd: folder, env, detached: true })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
  try {
    await expect.poll(() => said, { timeout: 120_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+.*svc_live_\w{20}/s)
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
    const [key = ''] = /svc_live_\w+/.exec(said) ?? []
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }),
    })
    expect([answer.status, answer.headers.get('agent-execution-mode')]).toEqual([200, 'placeholder'])
    const page = await fetch(`${url}/console/`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')])
    expect(readdirSync(folder)).toEqual(['data'])
  } finally {
    const ended = new Promise((done) => child.once('close', done))
    if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM')
    if (child.exitCode === null) await ended
  }
})
