// config check, backup, restore and secret adopt as commands, on the embedded store and beside a running server.
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test as sequential, type TestContext } from 'vitest'
import { compiledCommand } from '../test/support/command.ts'

// Each test has a folder of its own, so they may as well run side by side.
const test = sequential.concurrent
const { workplace } = compiledCommand()

const KEY = `svc_live_${'k'.repeat(40)}`
const SETTINGS = { SWITCHYARD_BOOTSTRAP_KEY: KEY }

function newWorkplace({ onTestFinished }: TestContext) {
  const place = workplace(SETTINGS)
  onTestFinished(place.leave)
  return place
}

async function createKey(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}/v2/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: 'worker', scopes: ['admin'] }),
  })
  const replayed = answer.headers.get('agent-idempotent-replay')
  return { ...((await answer.json()) as { id: string; key: string }), replayed }
}

const statusWith = async (url: string, key: string) =>
  (await fetch(`${url}/v2/api-keys`, { headers: { authorization: `Bearer ${key}` } })).status

test('R2 config check says whether there is a file, and what a start without one would do', async (context) => {
  const { run, folder } = newWorkplace(context)
  const check = async (env = {}) => (await run(['config', 'check'], env)).stdout
  expect(await check()).toMatch(/^There is no file: .* No provider is configured: the placeholder would answer\.\n$/)
  const fromEnvironment = await check({ OPENAI_API_KEY: 'sk-none' })
  expect(fromEnvironment).toMatch(/^There is no file: .* The environment makes one provider\.\n\nPROVIDER/)
  writeFileSync(join(folder, 'switchyard.yaml'), 'fees: {}\n')
  expect(await check()).toBe('The file is good. No provider is configured: the placeholder would answer.\n')
  const issuer = "{ id: okta, name: Okta, issuer: 'https://acme.okta.com', client_id: x }"
  writeFileSync(join(folder, 'switchyard.yaml'), `sign_in: { issuers: [${issuer}] }\n`)
  expect(await check({ SWITCHYARD_PUBLIC_URL: 'https://switchyard.example' })).toContain(
    'Register at Okta, as the redirect address: https://switchyard.example/auth/oidc/okta/callback\n',
  )
})

test('§2 config check tells each problem of a file in a line of its own, and a file that is none by its name', async (context) => {
  const { run, folder } = newWorkplace(context)
  writeFileSync(join(folder, 'bad.yaml'), 'feas: {}\nlimits:\n  key: { requests_per_minute: lots }\n')
  const { code, stderr } = await run(['config', 'check', 'bad.yaml'])
  expect({ code, lines: stderr.split('\n') }).toEqual({
    code: 2,
    lines: [
      'switchyard: 2 problems:',
      "  bad.yaml:1: 'feas' is not a field that is known here.",
      "  bad.yaml:3: 'limits.key.requests_per_minute' must be an integer.",
      '',
    ],
  })
  const none = await run(['config', 'check', '.'])
  expect(none).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^switchyard: \.: the file cannot be read: EISDIR/),
  })
})

test('§4 a backup taken while serving brings back what was there then; another secret must be adopted', async (context) => {
  const { serve, run, folder } = newWorkplace(context)
  const first = await serve()
  const before = await createKey(first.url, { 'agent-idempotency-key': 'once' })
  const backup = await run(['backup', 'monday'])
  expect(backup).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^Wrote monday, \d+ bytes\.\nThe server secret is not in it/),
  })
  expect((statSync(join(folder, 'monday')).mode & 0o777).toString(8)).toBe('600')
  const after = await createKey(first.url)

  // Guards against a store replaced under a server that goes on writing to the old one.
  const refused = await run(['restore', 'monday'])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^switchyard: Another switchyard server/) })
  expect(await statusWith(first.url, after.key)).toBe(200)
  await first.stop()

  const restored = await run(['restore', 'monday'])
  expect(restored).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('switchyard.db.before-restore'),
  })
  const second = await serve()
  expect(await statusWith(second.url, before.key)).toBe(200)
  expect(await statusWith(second.url, after.key)).toBe(401)
  // The folder's secret was left alone, so what was sealed with it opens still.
  const replay = await createKey(second.url, { 'agent-idempotency-key': 'once' })
  expect(replay).toEqual({ ...before, replayed: 'true' })
  await second.stop()

  // In another folder the secret is another one, and the service says so rather than start.
  const elsewhere = { SWITCHYARD_DATA_DIR: 'elsewhere' }
  expect((await run(['restore', 'monday'], elsewhere)).code).toBe(0)
  expect(await run(['serve'], elsewhere)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^switchyard: The store was sealed with another secret\. .*secret adopt.*\n$/),
  })
  expect(await run(['secret', 'adopt'], elsewhere)).toMatchObject({
    code: 0,
    stdout: 'The store uses the present secret now. Kept responses dropped: 1.\n',
  })
  expect((await run(['secret', 'adopt'], elsewhere)).stdout).toBe('The store uses the present secret already.\n')

  const third = await serve(elsewhere)
  expect(await statusWith(third.url, before.key)).toBe(200)
  expect((await createKey(third.url, { 'agent-idempotency-key': 'once' })).replayed).toBe('false')
  expect(await run(['secret', 'adopt'], elsewhere)).toMatchObject({
    code: 1,
    stderr: /^switchyard: Another switchyard/,
  })
})
