// The wire under everything, against a real server that breaks wherever it is told to.
import { createHash, randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Behaviour, startUpstream } from '../../test/support/upstream.ts'
import { type ProviderAnswer, UpstreamError } from './provider.ts'
import { openUpstream, type UpstreamOptions, type UpstreamRequest } from './upstream.ts'

const PATIENT = { first_byte_ms: 20_000, idle_ms: 20_000 }

interface Sent extends Partial<UpstreamRequest> {
  signal?: AbortSignal
}

function openWire(base_url: string, options: Partial<UpstreamOptions> = {}) {
  const wire = openUpstream(base_url, { connections: 50, ...options })
  onTestFinished(() => wire.close())
  const send = ({ signal = new AbortController().signal, ...request }: Sent = {}) =>
    wire.send(
      {
        method: 'POST',
        path: '/chat/completions',
        headers: {},
        body: Buffer.from('{}'),
        timeouts: PATIENT,
        ...request,
      },
      signal,
    )
  return { ...wire, send }
}

async function start(behaviour: Behaviour = {}, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startUpstream(behaviour)
  onTestFinished(upstream.close)
  return { upstream, ...openWire(upstream.base_url, options) }
}

/** A server that says exactly these bytes and does nothing of its own accord. */
async function startRaw(talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    talk(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A promise and its key. */
function gate() {
  let resolve = () => {}
  const promise = new Promise<void>((open) => {
    resolve = open
  })
  return { promise, resolve: () => resolve() }
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing failed',
    (error) => (error instanceof UpstreamError ? error.failure : `${error}`),
  )

/** Takes everything; says what came, and how it ended. */
async function taken(answer: ProviderAnswer): Promise<{ text: string; ended: string }> {
  const parts: Buffer[] = []
  const ended = await failureOf(answer.each((part) => void parts.push(part)).then(() => Promise.reject('cleanly')))
  return { text: Buffer.concat(parts).toString(), ended }
}

/** Until nothing has changed for a good many turns of the event loop. */
async function settled(look: () => number): Promise<number> {
  for (let same = 0, before = Number.NaN; same < 300; ) {
    await nextTurn()
    const now = look()
    same = now === before ? same + 1 : 0
    before = now
  }
  return look()
}

describe('T-85 what goes out', () => {
  test('the call as it was asked for, below the base address, and nothing else', async () => {
    const { upstream } = await start()
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
    const { upstream, send } = await start()
    await expect(send({ headers: headers as Record<string, string> })).rejects.toThrow(TypeError)
    await expect(send({ path: '/a b' })).rejects.toThrow(TypeError)
    expect(upstream.opened_sockets()).toBe(0)
  })

  test.each([1, 20])('a body of %d MB arrives whole, and comes back whole', async (megabytes) => {
    const { upstream, send } = await start()
    const body = randomBytes(megabytes * 1024 * 1024)
    upstream.behave({ respond: ({ bytes }, response) => void response.end(bytes) })
    const back = await (await send({ body })).whole()
    expect(createHash('sha256').update(back).digest('hex')).toBe(createHash('sha256').update(body).digest('hex'))
  })
})

describe('R41 what comes back', () => {
  test('status, type and body as they were sent', async () => {
    const { send } = await start({ status: 429, headers: { 'retry-after': '7' }, body: '{"error":{}}' })
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
    const { send } = await start({ status: 503, headers, body: {} })
    const answer = await send()
    await answer.whole()
    expect(answer.retry_after_s).toBe(seconds)
  })

  test('T-84 a redirect is an answer and is not followed', async () => {
    const { upstream, send } = await start({ status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' })
    const answer = await send()
    await answer.whole()
    expect([answer.status, upstream.requests.length]).toEqual([302, 1])
  })

  test('the parts of a stream, in order, as they come', async () => {
    const { send } = await start({
      respond: async (_request, response) => {
        for (let n = 0; n < 200; n++) await new Promise((resolve) => response.write(`${n} `, resolve))
        response.end()
      },
    })
    const { text, ended } = await taken(await send())
    expect([text.trim().split(' ').map(Number), ended]).toEqual([Array.from({ length: 200 }, (_, n) => n), 'cleanly'])
  })

  test('what came before anybody asked for it', async () => {
    const { upstream, send } = await start({ text: 'early '.repeat(500) })
    const answer = await send({ body: Buffer.from('{"stream":true}') })
    expect(await (await upstream.request(1)).over).toBe('answered')
    await settled(() => upstream.open_sockets())
    const { text, ended } = await taken(answer)
    expect([text.endsWith('data: [DONE]\n\n'), ended]).toEqual([true, 'cleanly'])
  })

  test('T-86 whole() stops at its bound and hangs up', async () => {
    const { upstream, send } = await start({ body: Buffer.alloc(65 * 1024 * 1024) })
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
    const { upstream, send } = await start()
    for (let n = 0; n < 5; n++) await call(send)
    expect([upstream.requests.map(({ socket }) => socket), upstream.opened_sockets()]).toEqual([[1, 1, 1, 1, 1], 1])
  })

  test('each call at once has its own, and they are all used again', async () => {
    const { upstream, send } = await start()
    await Promise.all(Array.from({ length: 8 }, () => call(send)))
    await Promise.all(Array.from({ length: 8 }, () => call(send)))
    expect(upstream.opened_sockets()).toBeLessThanOrEqual(8)
  })

  test('there are no more than allowed; further calls wait for their turn, first come first served', async () => {
    const { upstream, send } = await start({}, { connections: 2 })
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

  test('one that the upstream has closed is not used again', async () => {
    const { upstream, send } = await start()
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
    const { upstream, send } = await start({ headers })
    await call(send)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('none is kept on which more came than was asked for', async () => {
    let dials = 0
    const base_url = await startRaw((socket) => {
      dials++
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        setImmediate(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil'))
      })
    })
    const { send } = openWire(base_url)
    expect(String(await (await send()).whole())).toBe('ok')
    await sleep(20) // the second answer needs to arrive; nothing tells when it has
    expect(String(await (await send()).whole())).toBe('ok')
    expect(dials).toBe(2)
  })

  test('none is kept where the answer came before the question was all said', async () => {
    const base_url = await startRaw((socket) =>
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig')
      }),
    )
    const answer = await openWire(base_url).send({ body: Buffer.alloc(20 * 1024 * 1024) })
    expect([answer.status, String(await answer.whole())]).toEqual([413, 'big'])
  })

  test('retired, it finishes what is in flight and takes nothing more', async () => {
    const { upstream, send, retire } = await start({ wait: Promise.resolve() })
    const held = gate()
    await call(send)
    upstream.next({ wait: held.promise })
    const last = send()
    await upstream.request(2)
    retire()
    expect(await failureOf(send())).toBe('connect')
    held.resolve()
    expect((await (await last).whole()).length).toBeGreaterThan(0)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('closed, whatever is in flight fails', async () => {
    const { upstream, send, close } = await start({ instead: 'silence' }, { connections: 1 })
    const calls = [failureOf(send()), failureOf(send())]
    await upstream.request(1)
    await close()
    expect(await Promise.all(calls)).toEqual(['reset', 'connect'])
    expect(await failureOf(send())).toBe('connect')
    await upstream.until(() => upstream.open_sockets() === 0)
  })
})

describe('R47 no answer', () => {
  test('nobody listens: connect', async () => {
    const { upstream, send } = await start()
    await upstream.close()
    expect(await failureOf(send())).toBe('connect')
  })

  test('a name that nobody knows: connect', async () => {
    expect(await failureOf(openWire('http://nowhere.invalid').send())).toBe('connect')
  })

  test('a connection that does not come about in time: connect', async () => {
    const base_url = await startRaw(() => {})
    const { send } = openWire(base_url.replace('http:', 'https:'), { connect_ms: 30 })
    expect(await failureOf(send())).toBe('connect')
  })

  test('an upstream that hangs up during the handshake: connect', async () => {
    const base_url = await startRaw((socket) => socket.once('data', () => socket.resetAndDestroy()))
    expect(await failureOf(openWire(base_url.replace('http:', 'https:')).send())).toBe('connect')
  })

  test.each([
    ['reset', 'reset'],
    ['close', 'reset'],
    ['rubbish', 'reset'],
  ] as const)('a %s before the head: %s', async (instead, failure) => {
    const { upstream, send } = await start({ instead })
    expect(await failureOf(send())).toBe(failure)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('silence: first_byte_timeout, and the upstream is let go', async () => {
    const { upstream, send } = await start({ instead: 'silence' })
    expect(await failureOf(send({ timeouts: { first_byte_ms: 30, idle_ms: 20_000 } }))).toBe('first_byte_timeout')
    expect(await (await upstream.request(1)).over).toBe('left')
  })

  test('interim answers without end do not count as an answer', async () => {
    const base_url = await startRaw((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 5)
      socket.once('close', () => clearInterval(timer))
    })
    const timeouts = { first_byte_ms: 50, idle_ms: 20_000 }
    expect(await failureOf(openWire(base_url).send({ timeouts }))).toBe('first_byte_timeout')
  })

  test('the next call is served all the same', async () => {
    const { upstream, send } = await start({}, { connections: 1 })
    upstream.next({ instead: 'reset' }, { instead: 'rubbish' })
    expect(await failureOf(send())).toBe('reset')
    expect(await failureOf(send())).toBe('reset')
    expect((await (await send()).whole()).length).toBeGreaterThan(0)
  })
})

describe('R47 half an answer', () => {
  test.each([
    ['a stream that is reset', { stream: true }, { after: 2, how: 'reset' }],
    ['a stream whose connection closes', { stream: true }, { after: 2, how: 'close' }],
    ['a body that is reset', {}, { after: 20, how: 'reset' }],
    ['a body whose connection closes', {}, { after: 20, how: 'close' }],
  ] as const)('%s: what came is handed over, then the failure is told', async (_case, body, cut) => {
    const { send } = await start({ cut, pace: 1 })
    const { text, ended } = await taken(await send({ body: Buffer.from(JSON.stringify(body)) }))
    expect(ended).toBe('reset')
    expect(text.length).toBeGreaterThan(0)
  })

  test('a stream that stops without a word: idle_timeout', async () => {
    const { upstream, send } = await start({ cut: { after: 2, how: 'silence' } })
    const answer = await send({
      body: Buffer.from('{"stream":true}'),
      timeouts: { first_byte_ms: 20_000, idle_ms: 40 },
    })
    expect((await taken(answer)).ended).toBe('idle_timeout')
    expect(await (await upstream.request(1)).over).toBe('left')
  })

  test('a stream that drips is alive, however long it takes altogether', async () => {
    const { send } = await start({ pace: 15, chunks: 10, text: 'slow but steady, drop by drop' })
    const answer = await send({
      body: Buffer.from('{"stream":true}'),
      timeouts: { first_byte_ms: 20_000, idle_ms: 100 },
    })
    expect((await taken(answer)).ended).toBe('cleanly')
  })

  test('a slow taker is not a silent upstream', async () => {
    const { send } = await start({ text: 'x'.repeat(400_000), chunks: 4 })
    const answer = await send({
      body: Buffer.from('{"stream":true}'),
      timeouts: { first_byte_ms: 20_000, idle_ms: 20 },
    })
    let parts = 0
    await answer.each(() => (++parts <= 3 ? sleep(50) : undefined))
    expect(parts).toBeGreaterThan(3)
  })

  // undici 7 ends the process with an assertion in each of these.
  test.each([
    ['closes', 'connection: close\r\n', 'all of it', (socket: Socket) => socket.end(), 'cleanly'],
    ['is reset', 'connection: close\r\n', 'all of it', (socket: Socket) => socket.resetAndDestroy(), 'reset'],
    ['closes after the last counted byte', 'content-length: 9\r\n', 'all of it', (s: Socket) => s.end(), 'cleanly'],
    ['closes in a chunk', 'transfer-encoding: chunked\r\n', '9\r\nall of it\r\n', (s: Socket) => s.end(), 'reset'],
    [
      'is reset in a chunk',
      'transfer-encoding: chunked\r\nconnection: close\r\n',
      '9\r\nall of it\r\n',
      (s: Socket) => s.resetAndDestroy(),
      'reset',
    ],
  ] as const)('T-86 an upstream that %s while the taker is busy', async (_case, header, body, leave, ended) => {
    const held = gate()
    const base_url = await startRaw((socket) =>
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n`)
        socket.write(body)
        held.promise.then(() => leave(socket))
      }),
    )
    const answer = await openWire(base_url).send()
    let text = ''
    const each = answer.each(async (part) => {
      text += part
      held.resolve()
      await sleep(30) // the upstream's leaving has to get here while this part is still in hand
    })
    expect(await failureOf(each.then(() => Promise.reject('cleanly')))).toBe(ended)
    expect(text).toBe('all of it')
  })
})

describe('T-86 a taker that is slow', () => {
  test('holds the upstream back, and gets everything in the end', async () => {
    const pieces = 1_024
    const piece = Buffer.alloc(64 * 1024, 'x')
    let written = 0
    const { send } = await start({
      respond: async (_request, response) => {
        for (let n = 0; n < pieces; n++) {
          await new Promise((resolve) => response.write(piece, resolve))
          written += piece.length
        }
        response.end()
      },
    })
    const answer = await send()
    const held = gate()
    let bytes = 0
    const before = process.memoryUsage().arrayBuffers
    const each = answer.each((part) => {
      bytes += part.length
      return held.promise
    })
    await settled(() => written)
    expect(written).toBeLessThan((pieces * piece.length) / 4) // the rest waits in the upstream, not here
    expect(bytes).toBeLessThanOrEqual(64 * 1024)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024)
    held.resolve()
    await each
    expect(bytes).toBe(pieces * piece.length)
  })

  test('nobody who takes holds it back too', async () => {
    const { upstream, send } = await start({ body: Buffer.alloc(64 * 1024 * 1024) })
    const answer = await send()
    const before = process.memoryUsage().arrayBuffers
    await settled(() => upstream.requests.length)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * 1024 * 1024)
    answer.cancel()
    expect(await (await upstream.request(1)).over).toBe('left')
  })
})

describe('R26 the caller leaves', () => {
  const reason = new Error('the client left')

  test('before it began: nothing is sent', async () => {
    const { upstream, send } = await start()
    await expect(send({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(upstream.opened_sockets()).toBe(0)
  })

  test('while dialling', async () => {
    const base_url = await startRaw(() => {})
    const caller = new AbortController()
    const call = openWire(base_url.replace('http:', 'https:')).send({ signal: caller.signal })
    caller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  test('while waiting for a connection: the one in front is not disturbed', async () => {
    const { upstream, send } = await start({}, { connections: 1 })
    const held = gate()
    upstream.next({ wait: held.promise })
    const first = send()
    const caller = new AbortController()
    const second = send({ signal: caller.signal })
    await upstream.request(1)
    caller.abort(reason)
    await expect(second).rejects.toBe(reason)
    held.resolve()
    await (await first).whole()
    await (await send()).whole()
    expect([upstream.requests.length, upstream.opened_sockets()]).toEqual([2, 1])
  })

  test('before the head: the upstream sees it', async () => {
    const { upstream, send } = await start({ instead: 'silence' })
    const caller = new AbortController()
    const call = send({ signal: caller.signal })
    const { over } = await upstream.request(1)
    caller.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(await over).toBe('left')
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('in the middle of a stream: the upstream sees it', async () => {
    const { upstream, send } = await start({ cut: { after: 2, how: 'silence' } })
    const caller = new AbortController()
    const answer = await send({ body: Buffer.from('{"stream":true}'), signal: caller.signal })
    const each = answer.each(() => caller.abort(reason))
    await expect(each).rejects.toBe(reason)
    expect(await (await upstream.request(1)).over).toBe('left')
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('while the taker hangs on a client that is gone', async () => {
    const { upstream, send } = await start({ text: 'x'.repeat(1_000_000) })
    const caller = new AbortController()
    const answer = await send({ body: Buffer.from('{"stream":true}'), signal: caller.signal })
    const each = answer.each(() => {
      queueMicrotask(() => caller.abort(reason))
      return new Promise(() => {})
    })
    await expect(each).rejects.toBe(reason)
    await upstream.until(() => upstream.open_sockets() === 0)
  })

  test('by cancelling, at any time and as often as it likes', async () => {
    const { upstream, send } = await start({ cut: { after: 2, how: 'silence' } })
    const answer = await send({ body: Buffer.from('{"stream":true}') })
    answer.cancel()
    answer.cancel()
    expect(await failureOf(answer.each(() => {}))).toBe('reset')
    expect(await (await upstream.request(1)).over).toBe('left')
  })

  test('cancelling what is complete costs no connection', async () => {
    const { upstream, send } = await start()
    const answer = await send()
    await answer.whole()
    answer.cancel()
    await (await send()).whole()
    expect(upstream.opened_sockets()).toBe(1)
  })
})

describe('R26 nothing is left behind on the signal', () => {
  test.each([
    ['a whole answer', {}, (answer: ProviderAnswer) => answer.whole()],
    ['a cancelled one', {}, async (answer: ProviderAnswer) => answer.cancel()],
    ['one that is cut', { cut: { after: 5, how: 'reset' } }, (answer: ProviderAnswer) => failureOf(answer.whole())],
    ['a taker that fails', {}, (a: ProviderAnswer) => failureOf(a.each(() => Promise.reject(new Error('taker'))))],
    ['none at all', { instead: 'reset' }, undefined],
    ['rubbish', { instead: 'rubbish' }, undefined],
  ] as [string, Behaviour, ((answer: ProviderAnswer) => Promise<unknown>) | undefined][])(
    'after %s',
    async (_case, behaviour, finish) => {
      const { send } = await start(behaviour)
      const { signal } = new AbortController()
      const answer = await send({ signal }).catch(() => undefined)
      if (answer) await finish?.(answer)
      expect(getEventListeners(signal, 'abort')).toEqual([])
    },
  )
})

test('R47 hundreds of calls with random faults: each is settled once, and the wire works on', async () => {
  const { upstream, send } = await start({ text: 'fine' }, { connections: 8 })
  const faults: Behaviour[] = [
    {},
    { instead: 'reset' },
    { instead: 'close' },
    { instead: 'rubbish' },
    { cut: { after: 1, how: 'reset' } },
    { cut: { after: 2, how: 'close' } },
    { headers: { connection: 'close' } },
    { drip_bytes: 7 },
  ]
  const dice = (n: number) => (createHash('sha256').update(String(n)).digest().readUInt32LE() % 1_000) / 1_000
  const outcomes = Array.from({ length: 400 }, async (_, n) => {
    upstream.next(faults[Math.floor(dice(n) * faults.length)] as Behaviour)
    const caller = new AbortController()
    if (dice(n + 1_000) < 0.2) setTimeout(() => caller.abort(), dice(n + 2_000) * 20)
    const body = Buffer.from(JSON.stringify({ stream: dice(n + 3_000) < 0.5 }))
    try {
      await (await send({ body, signal: caller.signal })).whole()
      return 'fine'
    } catch (error) {
      return error instanceof UpstreamError ? error.failure : 'left'
    }
  })
  const counted = new Set(await Promise.all(outcomes))
  expect([...counted].sort()).toEqual(['fine', 'left', 'reset'])
  expect(upstream.open_sockets()).toBeLessThanOrEqual(8)
  upstream.behave({})
  expect((await (await send()).whole()).length).toBeGreaterThan(0)
})

test('R41 once closed, no socket is left open on either side', async () => {
  const { upstream, send, close } = await start()
  await Promise.all(Array.from({ length: 20 }, async () => (await send()).whole()))
  await close()
  await upstream.until(() => upstream.open_sockets() === 0)
  expect(upstream.requests).toHaveLength(20)
})
