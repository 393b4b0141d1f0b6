// The wire under everything, while all goes well: what is sent, what comes back, and which connection it takes.
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { ProviderAnswer } from '../../src/providers/provider.ts'
import { failureOf, gate, openWire, type Sent, settled, startRaw, startWire, taken } from '../support/wire.ts'

describe('T-85 what goes out', () => {
  test('the call as it was asked for, below the base address, and nothing else', async () => {
    const { upstream } = await startWire()
    const { send } = openWire(`${upstream.origin}/openai/v1/?api-version=2026-01-01`)
    const body = Buffer.from('{"model":"model-a"}')
    await (await send({ headers: { authorization: 'Bearer sk-1', 'x-latin': 'é' }, body })).whole()
    const { method, path, raw_headers, bytes } = await upstream.request(1)
    expect([method, path, bytes]).toEqual(['POST', '/openai/v1/chat/completions?api-version=2026-01-01', body])
    expect(raw_headers).toEqual([
      ...['host', `127.0.0.1:${upstream.port}`, 'authorization', 'Bearer sk-1', 'x-latin', 'é'],
      ...['content-length', String(body.length)],
    ])
  })

  test.each([
    ['a line break in a value', { 'x-model': 'a\r\nx-evil: y' }],
    ['a NUL in a value', { 'x-model': 'a\0b' }],
    ['a value beyond latin1', { 'x-model': '模型' }],
    ['a name that is none', { 'x model': 'a' }],
    ['an empty name', { '': 'a' }],
    ['a length of its own', { 'Content-Length': '0' }],
    ['an encoding of its own', { 'transfer-encoding': 'chunked' }],
    ['a host of its own', { HOST: 'evil' }],
  ])('T-87 %s is refused, and nothing is sent', async (_case, headers) => {
    const { upstream, send } = await startWire()
    await expect(send({ headers: headers as Record<string, string> })).rejects.toThrow(TypeError)
    await expect(send({ path: '/a b' })).rejects.toThrow(TypeError)
    expect(upstream.opened_sockets()).toBe(0)
  })

  test.each([1, 15])('a body of %d MB arrives whole, and comes back whole', async (megabytes) => {
    const { upstream, send } = await startWire()
    const body = randomBytes(megabytes * 1024 * 1024)
    upstream.behave({ respond: ({ bytes }, response) => void response.end(bytes) })
    const back = await (await send({ body })).whole()
    expect(createHash('sha256').update(back).digest('hex')).toBe(createHash('sha256').update(body).digest('hex'))
  })
})

describe('R41 what comes back', () => {
  test('status, type and body as they were sent', async () => {
    const { send } = await startWire({ status: 429, headers: { 'retry-after': '7' }, body: '{"error":{}}' })
    const answer = await send()
    expect([answer.status, answer.content_type, answer.retry_after_s]).toEqual([429, 'application/json', 7])
    expect(String(await answer.whole())).toBe('{"error":{}}')
  })

  test.each([
    ['1.2', 2],
    ['0', 0],
    ['Sun, 15 Nov 2026 12:00:30 GMT', 30],
    ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
  ])('Retry-After: %s', async (value, seconds) => {
    const headers = { 'retry-after': value, date: 'Sun, 15 Nov 2026 12:00:00 GMT' }
    const { send } = await startWire({ status: 503, headers, body: {} })
    const answer = await send()
    await answer.whole()
    expect(answer.retry_after_s).toBe(seconds)
  })

  test('T-84 a redirect is an answer and is not followed', async () => {
    const { upstream, send } = await startWire({
      status: 302,
      headers: { location: 'http://169.254.169.254/' },
      body: '',
    })
    const answer = await send()
    await answer.whole()
    expect([answer.status, upstream.requests.length]).toEqual([302, 1])
  })

  test('the parts of a stream, in order, as they come', async () => {
    const { send } = await startWire({
      respond: async (_request, response) => {
        for (let n = 0; n < 200; n++) await new Promise((resolve) => response.write(`${n} `, resolve))
        response.end()
      },
    })
    const { text, ended } = await taken(await send())
    expect([text.trim().split(' ').map(Number), ended]).toEqual([Array.from({ length: 200 }, (_, n) => n), 'cleanly'])
  })

  test('what came before anybody asked for it', async () => {
    const { upstream, send } = await startWire({ text: 'early '.repeat(500) })
    const answer = await send({ body: Buffer.from('{"stream":true}') })
    expect(await (await upstream.request(1)).over).toBe('answered')
    await settled(() => upstream.open_sockets())
    const { text, ended } = await taken(answer)
    expect([text.endsWith('data: [DONE]\n\n'), ended]).toEqual([true, 'cleanly'])
  })

  test('T-86 whole() stops at its bound and hangs up', async () => {
    const { upstream, send } = await startWire({ body: Buffer.alloc(65 * 1024 * 1024) })
    expect(await failureOf((await send()).whole())).toBe('too_large')
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('an interim answer is passed over', async () => {
    const base_url = await startRaw((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n')
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      }),
    )
    expect(String(await (await openWire(base_url).send()).whole())).toBe('ok')
  })
})

describe('R41 connections', () => {
  const call = async (send: (sent?: Sent) => Promise<ProviderAnswer>) => void (await (await send()).whole())

  test('one serves call after call', async () => {
    const { upstream, send } = await startWire()
    for (let n = 0; n < 5; n++) await call(send)
    expect([upstream.requests.map(({ socket }) => socket), upstream.opened_sockets()]).toEqual([[1, 1, 1, 1, 1], 1])
  })

  test('each call at once has its own, and they are all used again', async () => {
    const { upstream, send } = await startWire()
    await Promise.all(Array.from({ length: 8 }, () => call(send)))
    await Promise.all(Array.from({ length: 8 }, () => call(send)))
    expect(upstream.opened_sockets()).toBeLessThanOrEqual(8)
  })

  test('there are no more than allowed; further calls wait for their turn, first come first served', async () => {
    const { upstream, send } = await startWire({}, { connections: 2 })
    const gates = Array.from({ length: 5 }, () => gate())
    upstream.next(...gates.map(({ promise }) => ({ wait: promise })))
    const calls = gates.map((_, n) => send({ path: `/chat/completions?n=${n}` }).then((answer) => answer.whole()))
    await upstream.request(2)
    expect(await settled(() => upstream.requests.length)).toBe(2)
    for (const each of gates) each.resolve()
    await Promise.all(calls)
    expect(upstream.requests.map(({ path }) => path.at(-1))).toEqual(['0', '1', '2', '3', '4'])
    expect(upstream.opened_sockets()).toBe(2)
  })

  // A cluster may report that it takes no call at all. Admission lets one through at a time, and so does the wire.
  test('an upstream that takes none at once is called one by one', async () => {
    const { upstream, send } = await startWire({}, { connections: 0 })
    await Promise.all([call(send), call(send)])
    expect([upstream.requests.length, upstream.opened_sockets()]).toEqual([2, 1])
  })

  test('one that the upstream has closed is not used again', async () => {
    const { upstream, send } = await startWire()
    await call(send)
    upstream.hangUp()
    await upstream.until(() => upstream.open_sockets() === 0)
    await settled(() => 0)
    await call(send)
    expect(upstream.opened_sockets()).toBe(2)
  })

  test.each([
    ['the upstream says that it closes', { connection: 'close' }],
    ['the upstream keeps it for too short a time', { 'keep-alive': 'timeout=1' }],
  ])('none is kept where %s', async (_case, headers) => {
    const { upstream, send } = await startWire({ headers })
    await call(send)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('one that is not needed is closed before the upstream would', async () => {
    const { upstream, send } = await startWire({ headers: { 'keep-alive': 'timeout=2' } })
    await call(send)
    expect(upstream.open_sockets()).toBe(1)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('one whose caller left while it was dialled serves the next', async () => {
    const { upstream, send } = await startWire()
    const caller = new AbortController()
    const left = send({ signal: caller.signal })
    caller.abort()
    await expect(left).rejects.toThrow()
    await upstream.until(() => upstream.open_sockets() === 1)
    await settled(() => upstream.open_sockets())
    await call(send)
    expect([upstream.opened_sockets(), upstream.requests.length]).toEqual([1, 1])
  })

  test('one whose caller left, of an upstream that was retired meanwhile, is closed', async () => {
    const { upstream, send, retire } = await startWire()
    const caller = new AbortController()
    const left = send({ signal: caller.signal })
    caller.abort()
    retire()
    await expect(left).rejects.toThrow()
    await upstream.until(() => upstream.opened_sockets() === 1 && upstream.open_sockets() === 0)
  })

  test.each([
    ['with the answer', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil', ''],
    ['after it', '', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil'],
  ])('none is kept on which more came than was asked for, %s', async (_case, at_once, later) => {
    const sockets: Socket[] = []
    const dropped = gate()
    const base_url = await startRaw((socket) => {
      sockets.push(socket)
      socket.once('close', dropped.resolve)
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok${at_once}`))
    })
    const { send } = openWire(base_url)
    expect(String(await (await send()).whole())).toBe('ok')
    if (later) sockets[0]?.write(later)
    await dropped.promise
    expect(String(await (await send()).whole())).toBe('ok')
    expect(sockets).toHaveLength(2)
  })

  test('none is kept where the answer came before the question was all said', async () => {
    let dials = 0
    const base_url = await startRaw((socket) => {
      dials++
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig')
      })
    })
    const { send } = openWire(base_url)
    for (const body of [Buffer.alloc(20 * 1024 * 1024), Buffer.from('{}')]) {
      const answer = await send({ body })
      expect([answer.status, String(await answer.whole())]).toEqual([413, 'big'])
    }
    expect(dials).toBe(2)
  })

  test('one on which the taker was slower than the wire serves the next call all the same', async () => {
    const base_url = await startRaw((socket) =>
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n'),
      ),
    )
    const { send } = openWire(base_url, { connections: 1 })
    for (let n = 0; n < 3; n++) {
      let text = ''
      await (await send()).each(async (part) => {
        await settled(() => 0)
        text += part
      })
      expect(text).toBe('ab')
    }
  })

  test('retired, it finishes what is in flight, serves who still comes, and keeps nothing', async () => {
    const { upstream, send, retire } = await startWire({ wait: Promise.resolve() })
    const held = gate()
    await call(send)
    upstream.next({ wait: held.promise })
    const last = send()
    await upstream.request(2)
    retire()
    expect((await (await send()).whole()).length).toBeGreaterThan(0)
    held.resolve()
    expect((await (await last).whole()).length).toBeGreaterThan(0)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('closed, whatever is in flight fails', async () => {
    const { upstream, send, close } = await startWire({ instead: 'silence' }, { connections: 1 })
    const calls = [failureOf(send()), failureOf(send())]
    await upstream.request(1)
    await close()
    expect(await Promise.all(calls)).toEqual(['reset', 'connect'])
    expect(await failureOf(send())).toBe('connect')
    await upstream.until(() => upstream.open_sockets() === 0)
  })
})

test('R41 once closed, no socket is left open on either side', async () => {
  const { upstream, send, close } = await startWire()
  await Promise.all(Array.from({ length: 20 }, async () => (await send()).whole()))
  await close()
  await upstream.until(() => upstream.open_sockets() === 0)
  expect(upstream.requests).toHaveLength(20)
})

describe('R41 TLS', () => {
  const script = new URL('../support/tls-calls.ts', import.meta.url).pathname
  const trusted = new URL('../fixtures/tls/localhost.crt', import.meta.url).pathname

  async function calls(env: Record<string, string>) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], {
      env: { ...process.env, ...env },
    })
    return JSON.parse(stdout)
  }

  test('an upstream is called by its name, and the second handshake takes up the first', async () => {
    const { by_name, by_address, handshakes } = await calls({ NODE_EXTRA_CA_CERTS: trusted })
    expect([by_name, by_address]).toEqual([['by TLS', 'by TLS'], ['connect']]) // its certificate knows the name alone
    expect(handshakes.slice(0, 2)).toEqual([
      { name: 'localhost', resumed: false },
      { name: 'localhost', resumed: true },
    ])
  })

  test('an upstream that nobody vouches for is not called at all', async () => {
    expect(await calls({ NODE_EXTRA_CA_CERTS: '' })).toMatchObject({
      by_name: ['connect', 'connect'],
      by_address: ['connect'],
    })
  })
})

test('§operations HTTPS_PROXY: TLS goes through CONNECT to the upstream itself, with a customer’s address still judged', async () => {
  const trusted = new URL('../fixtures/tls/localhost.crt', import.meta.url).pathname
  const script = new URL('../support/proxied-calls.ts', import.meta.url).pathname
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--import', 'tsx', script], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: trusted },
  })
  const { heard, ...told } = JSON.parse(stdout)
  expect(told).toEqual({
    through: ['by TLS', 'by TLS'], // over one connection
    refused: ['connect'],
    nobody: ['connect'],
    judged: ['by TLS'],
    guarded: ['refused_address'],
    guarded_address: ['refused_address'],
  })
  const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`
  expect(heard).toEqual([
    { asked: 'localhost', authorization: basic('us er:pass') },
    { asked: 'localhost' },
    { asked: expect.stringMatching(/^(127\.0\.0\.1|\[::1\])$/), authorization: basic('u:p') }, // what was judged
  ])
})
