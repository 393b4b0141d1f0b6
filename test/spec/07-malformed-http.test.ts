// §7, R2 over a real socket: HTTP that never becomes a request still gets the envelope and the standing headers.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { buildFastify } from '../../src/http/fastify.ts'
import { conformanceWith, envelopeFindings } from '../support/conformance.ts'
import { type TestService, withService } from '../support/service.ts'
import { untilClosed } from '../support/sockets.ts'

const KEYS = '/v2/api-keys'
const conforms = conformanceWith({ paths: {} })

withService((service) => {
  let started: ReturnType<TestService['listen']> | undefined
  const listening = () => {
    started ??= service().listen()
    return started
  }

  const head = (key: string, ...more: string[]) =>
    [
      `POST ${KEYS} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      ...more,
      '',
      '',
    ].join('\r\n')

  const chunks = (count: number) => `2710\r\n${'x'.repeat(10_000)}\r\n`.repeat(count)
  const unknown = (method: string, url: string, ...more: string[]) =>
    [
      `${method} ${url} HTTP/1.1`,
      'Host: x',
      'Content-Type: application/json',
      'Connection: close',
      ...more,
      '',
      '',
    ].join('\r\n')

  const CASES: [string, number, (key: string) => string][] = [
    ['T-41 no HTTP at all', 400, () => 'hello\r\n\r\n'],
    ['T-41 HTTP/2 without a warning', 400, () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['T-41 a version that does not exist', 400, () => `GET ${KEYS} HTTP/7.1\r\nHost: x\r\n\r\n`],
    ['T-41 no Host', 400, (key) => `GET ${KEYS} HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`],
    [
      'T-41 two Hosts',
      400,
      (key) =>
        `GET ${KEYS} HTTP/1.1\r\nHost: x\r\nhost: y\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    ],
    ['T-41 lines that end in LF alone', 400, () => `GET ${KEYS} HTTP/1.1\nHost: x\n\n`],
    ['T-41 a head that ends in LF alone', 400, () => `GET ${KEYS} HTTP/1.1\r\nHost: x\r\n\n`],
    ['R2 CONNECT', 405, () => 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
    [
      'T-41 Transfer-Encoding beside Content-Length',
      400,
      (key) => `${head(key, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n`,
    ],
    ['T-41 two lengths', 400, (key) => `${head(key, 'Content-Length: 13', 'Content-Length: 14')}{"name":"ci"} `],
    ['T-41 a length that is no number', 400, (key) => `${head(key, 'Content-Length: 1e3')}{"name":"ci"}`],
    [
      'T-41 a chunk of a size that is none',
      400,
      (key) => `${head(key, 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
    ],
    ['T-41 an unknown transfer encoding', 400, (key) => `${head(key, 'Transfer-Encoding: brainfuck')}{}`],
    [
      'T-41 a NUL in a header',
      400,
      (key) => `GET ${KEYS} HTTP/1.1\r\nHost: x\r\nX: a\0b\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    ],
    ['T-41 a blank in a header name', 400, () => `GET ${KEYS} HTTP/1.1\r\nHost : x\r\n\r\n`],
    ['T-41 a folded header', 400, () => `GET ${KEYS} HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n`],
    ['T-41 20 KB of headers', 431, () => `GET ${KEYS} HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`],
    ['T-41 20 KB of address', 431, () => `GET /${'y'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [
      'T-35 a body longer than allowed',
      413,
      (key) => `${head(key, 'Content-Length: 70000', 'Connection: close')}${'x'.repeat(70_000)}`,
    ],
    [
      'T-35 a chunked body longer than allowed',
      413,
      (key) => `${head(key, 'Transfer-Encoding: chunked')}${chunks(8)}0\r\n\r\n`,
    ],
    [
      'R2 no such address, with a body longer than any endpoint takes',
      404,
      () => `${unknown('POST', '/v1/nowhere', 'Content-Length: 20000000')}${'x'.repeat(20_000_000)}`,
    ],
    [
      'R2 no such address, with a chunked body that is no JSON',
      404,
      () => `${unknown('POST', '/v1/messages', 'Transfer-Encoding: chunked')}${chunks(10)}0\r\n\r\n`,
    ],
    [
      'R2 a method this address does not take, with a body longer than it takes',
      405,
      () => `${unknown('PATCH', KEYS, 'Content-Length: 1000000')}${'x'.repeat(1_000_000)}`,
    ],
    ['R2 an expectation nobody knows', 417, (key) => `${head(key, 'Content-Length: 2', 'Expect: the-unexpected')}{}`],
    [
      'R2 a bad percent sign',
      400,
      (key) => `GET ${KEYS}/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    ],
    ['R2 no such address', 404, () => 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'R2 a method this address does not take',
      405,
      () => `PATCH ${KEYS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ],
    ['R2 a method nobody knows', 400, () => `BREW ${KEYS} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [
      'T-30 a body of no type',
      415,
      (key) =>
        `${head(key, 'Content-Length: 2', 'Connection: close').replace('Content-Type: application/json\r\n', '')}{}`,
    ],
  ]

  test.each(CASES)('%s is %d in the envelope, and nothing is stored', async (_case, status, bytes) => {
    const { key } = await service().newProject()
    const socket = await listening()
    const answer = await service().storingNothing(async () => ({
      ...(await socket.raw(bytes(key))),
      bytes: Buffer.alloc(0),
    }))
    expect(answer.status).toBe(status)
    expect(conforms('GET', '/', answer)).toEqual([])
    expect(answer.body.error.type).toBe('invalid_request_error')
    const after = await socket.raw('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(after.status).toBe(200)
  })

  test('R81 below /anthropic an expectation nobody knows is told in the words of that protocol', async () => {
    const { key } = await service().newProject()
    const socket = await listening()
    const expecting = head(key, 'Content-Length: 2', 'Expect: the-unexpected')
    const { status, headers, body } = await socket.raw(`${expecting.replace(KEYS, '/anthropic/v1/messages')}{}`)
    expect([status, body.type, body.error.type]).toEqual([417, 'error', 'invalid_request_error'])
    expect([body.request_id, headers['request-id']]).toEqual([headers['x-request-id'], headers['x-request-id']])
  })

  test('T-35 headers that drip are 408', async () => {
    const { server } = service().app
    expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 0])
    const socket = await listening()
    Object.assign(server, { headersTimeout: 20 })
    try {
      const answer = await socket.raw(`GET ${KEYS} HTTP/1.1\r\nHost:`)
      expect([answer.status, answer.body.error?.type]).toEqual([408, 'invalid_request_error'])
      expect(conforms('GET', '/', answer)).toEqual([])
    } finally {
      Object.assign(server, { headersTimeout: 10_000 })
    }
  })

  test('R2 a request is answered before its body has come, and the next one on the connection is read', async () => {
    const { key } = await service().newProject()
    const { open } = await listening()
    const socket = await open()
    const heard = read(socket)
    socket.write(unknown('POST', '/v1/nowhere', 'Content-Length: 3000000').replace('Connection: close\r\n', ''))
    await expect.poll(heard).toContain('404')
    socket.write(Buffer.alloc(3_000_000, ' '))
    const next = [`GET ${KEYS} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, 'Connection: close', '', '']
    socket.write(next.join('\r\n'))
    await once(socket, 'close')
    expect(heard()).toContain('HTTP/1.1 200 OK')
  })

  test('T-35 a connection on which nothing was asked is closed without an answer, which would meet the next request', async () => {
    const { server } = service().app
    await listening()
    Object.assign(server, { headersTimeout: 20 })
    try {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      expect((await untilClosed(socket)).status).toBeNaN()
    } finally {
      Object.assign(server, { headersTimeout: 10_000 })
    }
  })

  test('T-35 what follows a body that is longer than it says is refused as a request of its own', async () => {
    const { key } = await service().newProject()
    const socket = await listening()
    const answer = await socket.raw(`${head(key, 'Content-Length: 13')}{"name":"ci"}GARBAGE\r\n\r\n`)
    expect(answer.status).toBe(400)
    expect(conforms('GET', '/', answer)).toEqual([])
  })

  test('§7 a connection that is cut mid-request brings nothing down', async () => {
    const { key } = await service().newProject()
    const { open, raw } = await listening()
    for (const part of ['GET', `GET ${KEYS} HTTP/1.1\r\n`, `${head(key, 'Content-Length: 100')}{`]) {
      const socket = await open()
      socket.write(part)
      socket.resetAndDestroy()
      await once(socket, 'close')
    }
    expect((await raw(`GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).status).toBe(200)
  })
})

/** What has come so far. */
function read(socket: Socket): () => string {
  let heard = ''
  socket.on('data', (part) => {
    heard += part
  })
  return () => heard
}

/** A stream is under way when its client sends what is no HTTP: is anything written into the stream? */
async function bytesIntoAStream(server: ReturnType<typeof createServer>): Promise<string> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n')
  let heard = ''
  for await (const chunk of socket) {
    if (heard === '') socket.write('GARBAGE\r\n\r\n')
    heard += String(chunk)
  }
  return heard
}

test('§7 malformed HTTP during a stream ends it, and writes nothing into it', async () => {
  const app = buildFastify(pino({ level: 'silent' }))
  app.get('/stream', { config: { public: true } }, (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n')
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const heard = await bytesIntoAStream(app.server as ReturnType<typeof createServer>)
  await app.close()
  expect(heard).toContain('data: one')
  expect(heard).not.toContain('400')
})

test('§7 planted: an error handler that always answers writes into the stream', async () => {
  const server = createServer((_request, response) => void response.writeHead(200).write('data: one'))
  server.on('clientError', (_error, socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  expect(await bytesIntoAStream(server)).toContain('400')
  server.close()
})

test('R2 planted: a server of Node’s own answers malformed HTTP without the envelope', async () => {
  const server = createServer((_request, response) => void response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  for (const bytes of ['hello\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n']) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const answer = untilClosed(socket)
    socket.write(bytes)
    const { status, headers, body } = await answer
    expect(status).toBe(400)
    expect(envelopeFindings(headers, body)).not.toEqual([])
  }
  server.close()
})
