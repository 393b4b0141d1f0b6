// The console's files over HTTP: who gets what, how small, for how long, under which policy.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildTestService, startService, type TestService } from '../../test/support/service.ts'
import { contentCoding } from '../core/content-coding.ts'
import { SECURITY_HEADERS } from '../http/answers.ts'
import { builtConsole } from './built-console.ts'
import { CONSOLE_POLICY } from './console-routes.ts'

const INDEX = '<!doctype html><title>Switchyard</title>'
const SCRIPT = 'export const answer = 42\n'.repeat(100)

const folder = mkdtempSync(join(tmpdir(), 'switchyard-built-'))
let service: TestService

beforeAll(async () => {
  mkdirSync(join(folder, 'assets'))
  for (const [name, text] of [
    ['index.html', INDEX],
    ['assets/main-abc123.js', SCRIPT],
  ] as const) {
    writeFileSync(join(folder, name), text)
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text))
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text))
  }
  service = await buildTestService({ parts: { console: builtConsole([join(folder, 'nowhere'), folder]) } })
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

const ask = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  service.app.inject({ method, url, headers })

test.each(['/console', '/console/', '/console/keys', '/console/keys/key_1', '/console/verify-email'])(
  '§console %s is the page, never stored, under the policy and the standing headers',
  async (url) => {
    const { statusCode, headers, payload } = await ask(url)
    expect([statusCode, headers['content-type'], payload]).toEqual([200, 'text/html; charset=utf-8', INDEX])
    expect(headers).toMatchObject({ ...SECURITY_HEADERS, 'content-security-policy': CONSOLE_POLICY })
    expect(CONSOLE_POLICY).not.toMatch(/unsafe|https?:|\*/)
  },
)

test('§console a file with a hash in its name may be kept for good, and is sent as small as the browser takes it', async () => {
  const url = '/console/assets/main-abc123.js'
  const [br, gzip, plain] = await Promise.all(
    ['gzip, deflate, br', 'gzip;q=0.5', 'identity'].map((accept) => ask(url, { 'accept-encoding': accept })),
  )
  expect(br?.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    'content-encoding': 'br',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  })
  expect(brotliDecompressSync(br?.rawPayload ?? '').toString()).toBe(SCRIPT)
  expect(gzip?.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(gzip?.rawPayload ?? '').toString()).toBe(SCRIPT)
  expect([plain?.headers['content-encoding'], plain?.payload]).toEqual([undefined, SCRIPT])
})

test('§console HEAD has the headers and no body', async () => {
  const { statusCode, headers, payload } = await ask('/console', {}, 'HEAD')
  expect([statusCode, headers['content-length'], payload]).toEqual([200, String(INDEX.length), ''])
})

test.each([
  '/console/assets/gone-000000.js',
  '/console/assets/main-abc123.js.br',
  '/console/..%2f..%2fpackage.json',
  '/console/%2e%2e/package.json',
])('§console %s: 404 in the envelope, never the page', async (url) => {
  const { statusCode, headers, payload } = await ask(url)
  expect([statusCode, headers['cache-control']]).toEqual([404, 'no-store'])
  expect(JSON.parse(payload).error.type).toBe('invalid_request_error')
})

test('§console nothing else than looking: 405', async () => {
  const { statusCode, headers } = await ask('/console', {}, 'POST')
  expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('§console GET / leads people there', async () => {
  const { statusCode, headers } = await ask('/')
  expect([statusCode, headers.location]).toEqual([302, '/console'])
})

test('§console without a build it says what to do, and the API is not affected', async () => {
  expect(builtConsole([join(folder, 'nowhere')])).toBeUndefined()
  const { get } = await startService()
  const { status, body } = await get('/console')
  expect([status, body.error.message]).toEqual([503, 'The console was not built. Run npm run build, then start again.'])
  expect((await get('/v2/project')).status).toBe(200)
})

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['GZIP, BR', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.0, gzip;q=0', 'identity'],
  ['zstd, deflate', 'identity'],
])('§console accept-encoding %j is answered with %s', (accept, coding) => {
  expect(contentCoding(accept)).toBe(coding)
})

test('§8.1 accept-encoding takes as long to read as it is long: no spaces in it keep anybody waiting', () => {
  expect(contentCoding(`a${' '.repeat(2_000_000)}b, br`)).toBe('br') // by squares, this would take hours
})
