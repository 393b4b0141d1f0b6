// How the command speaks to a service that stumbles. The stumbling server is real; only the waiting is left out.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { heldTimers } from '../test/support/held-timers.ts'
import { clientFrom } from './service-client.ts'

type Step = (response: ServerResponse, request: IncomingMessage) => void

const envelope = (type: string) => JSON.stringify({ error: { message: `It is ${type}.`, type } })
const answer =
  (status: number, body: string, headers: Record<string, string> = {}): Step =>
  (response) =>
    response.writeHead(status, headers).end(body)
const breakOff: Step = (response) => response.socket?.destroy()
const unavailable = answer(503, envelope('server_error'), { 'retry-after': '7' })
const ok = answer(200, '{"ok":true}')

/** A server that takes these steps one after the other, and a client that notes its waits instead of waiting. */
async function playing(...steps: Step[]) {
  const seen: IncomingMessage[] = []
  const waits: number[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    steps.shift()?.(response, request)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const env = { SWITCHYARD_URL: `http://127.0.0.1:${port}`, SWITCHYARD_KEY: 'svc_live_x' }
  const client = clientFrom(env, async (ms) => void waits.push(ms))
  return { client, waits, seen, keys: () => seen.map(({ headers }) => headers['agent-idempotency-key']) }
}

const exits = (exit_code: number, message: RegExp) =>
  expect.objectContaining({ exit_code, message: expect.stringMatching(message) })

test('§11 a POST is sent again under the same key, whether it broke off or was turned away', async () => {
  const { client, keys, waits } = await playing(breakOff, unavailable, ok)
  expect(await client.post('/x', {})).toEqual({ body: { ok: true }, text: '{"ok":true}' })
  expect(new Set(keys())).toEqual(new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]))
  expect(keys()).toHaveLength(3)
  expect(waits[0]).toBeGreaterThanOrEqual(250)
  expect(waits[1]).toBeGreaterThanOrEqual(7_000) // §8.1: at least what Retry-After says
})

test('§11 two POSTs have two keys; GET and DELETE have none', async () => {
  const { client, keys } = await playing(ok, ok, ok, ok)
  await client.post('/x', {})
  await client.post('/x', {})
  await client.get('/x')
  await client.delete('/x')
  expect([keys()[0] === keys()[1], keys()[2], keys()[3]]).toEqual([false, undefined, undefined])
})

test('§11 a 409 is waited out: it is our own first try that is still running', async () => {
  const { client } = await playing(breakOff, answer(409, envelope('idempotency_conflict')), ok)
  expect((await client.post('/x', {})).body).toEqual({ ok: true })
})

test('§8.2 a list that takes long is waited for while parts of it come; silence is not', async () => {
  const timers = heldTimers()
  let response: ServerResponse | undefined
  const write: Step = (answered) => {
    response = answered
    answered.write('a,')
  }
  const { client, seen } = await playing(
    write,
    () => {},
    () => {},
    () => {},
  )
  const table = client.getText('/v2/usage', 'text/csv')
  await timers.untilSet(15_000, 3) // as it is sent, with the head, with the first part
  for (const [part, set] of [
    ['b,', 4],
    ['ü,', 5],
  ] as const) {
    timers.pass(14_000)
    response?.write(part)
    await timers.untilSet(15_000, set)
  }
  timers.pass(14_000)
  response?.end('c')
  expect(await table).toBe('a,b,ü,c')
  expect(seen).toHaveLength(1)

  const silent = client.get('/x')
  await expect(timers.passUntil(silent)).rejects.toEqual(exits(3, /it did not answer in time/))
  expect(seen).toHaveLength(4)
})

test('§8.1 three tries, then it gives up with the code for a service that is away', async () => {
  const { client, seen } = await playing(unavailable, unavailable, unavailable, ok)
  await expect(client.get('/x')).rejects.toEqual(exits(3, /^It is server_error\. \(503 server_error\)$/))
  expect(seen).toHaveLength(3)
})

test.each([
  ['a 400', 1, answer(400, envelope('invalid_request_error')), /400 invalid_request_error/],
  ['a 500', 1, answer(500, envelope('server_error')), /500 server_error/],
  ['a budget that is used up', 1, answer(429, envelope('quota_exceeded')), /429 quota_exceeded/],
  ['x-should-retry: false', 3, answer(504, envelope('deadline_exceeded'), { 'x-should-retry': 'false' }), /504/],
  ['a wait of an hour', 1, answer(429, envelope('rate_limit_error'), { 'retry-after': '3600' }), /429 rate_limit/],
  ['a redirect', 3, answer(301, '', { location: 'http://127.0.0.1/' }), /answered 301, but not as Switchyard does/],
  ['a page that is no JSON', 3, answer(200, '<html>'), /but not with JSON/],
])('§8.1 one try is enough for %s', async (_case, exit_code, step, message) => {
  const { client, seen } = await playing(step, ok)
  await expect(client.post('/x', {})).rejects.toEqual(exits(exit_code, message))
  expect(seen).toHaveLength(1)
})

// Guards against telling somebody that the cluster never existed, when it is this very command that removed it.
test('§4.8 a 404 after a DELETE that broke off says that it may have been done', async () => {
  const { client } = await playing(breakOff, answer(404, envelope('invalid_request_error')))
  await expect(client.delete('/x')).rejects.toEqual(exits(1, /may have done it/))
})

test('§5 the key is sent to the service only, and a setting that cannot be used is told by its name', () => {
  const wrong = (env: Record<string, string>) => () => clientFrom({ SWITCHYARD_KEY: 'svc_live_x', ...env })
  expect(wrong({ SWITCHYARD_URL: 'not a url' })).toThrow(/^SWITCHYARD_URL must/)
  expect(wrong({ SWITCHYARD_URL: 'http://user:pass@127.0.0.1' })).toThrow(/^SWITCHYARD_URL must .* without credentials/)
  expect(wrong({ SWITCHYARD_URL: 'http://127.0.0.1:8080/v1/' })).toThrow(/^SWITCHYARD_URL must .* without \/v1\.$/)
  expect(wrong({ SWITCHYARD_KEY: '' })).toThrow(/^SWITCHYARD_KEY must .* the one that the first start printed/)
  expect(wrong({ SWITCHYARD_KEY: 'svc_live_x\n' })).toThrow(/^SWITCHYARD_KEY must/)
})

test('§2 https at a port that speaks http is told in plain words', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const env = { SWITCHYARD_URL: `https://127.0.0.1:${port}`, SWITCHYARD_KEY: 'svc_live_x' }
  await expect(clientFrom(env, async () => {}).get('/x')).rejects.toEqual(
    exits(3, /it does not speak TLS there; use http/),
  )
})

test('§2 what a server says cannot drive the terminal', async () => {
  const { client } = await playing(answer(400, JSON.stringify({ error: { message: '\u001b[2Jgone\n', type: 'x' } })))
  await expect(client.get('/x')).rejects.toEqual(exits(1, /^\\u\{1b\}\[2Jgone\\u\{a\} \(400 x\)$/))
})
