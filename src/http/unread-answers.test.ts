// R78: whoever asks for large answers and does not read them loses the oldest of them, and nobody else notices.
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { buildFastify } from './fastify.ts'
import { type UnreadBounds, unreadAnswers } from './unread-answers.ts'

const MIB = 2 ** 20
const ANSWER_BYTES = 16 * MIB // more than the system itself keeps for a connection
const LARGE = Buffer.alloc(ANSWER_BYTES)

async function serving(bounds: UnreadBounds) {
  const unread = unreadAnswers(bounds)
  const server = createServer((request, response) => {
    unread.add((request.url ?? '').slice(1), response, ANSWER_BYTES)
    response.writeHead(200, { 'content-length': ANSWER_BYTES }).end(LARGE)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  /** A client that reads once it is told to. */
  async function ask(project: string) {
    const before = unread.taken()
    const client = { is_closed: false, bytes: 0, socket: connect(port, '127.0.0.1').pause() }
    client.socket
      .on('error', () => {})
      .on('close', () => {
        client.is_closed = true
      })
    client.socket.write(`GET /${project} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await expect.poll(() => unread.taken()).not.toBe(before)
    return client
  }
  return { unread, ask }
}

const read = (client: { socket: Socket; bytes: number }) => {
  client.socket.on('data', (part) => {
    client.bytes += part.length
  })
  client.socket.resume()
}

test('R78 of one project the oldest makes room, and another project keeps what it has', async () => {
  const { unread, ask } = await serving({ bytes: 1_000 * MIB, bytes_of_one: 40 * MIB, stalled_ms: 600_000 })
  const other = await ask('other')
  const first = await ask('greedy')
  const second = await ask('greedy')
  // The third brings as many bytes as the first takes away: asked for by itself.
  const third = connect(Number(second.socket.remotePort), '127.0.0.1').pause()
  third.on('error', () => {}).write('GET /greedy HTTP/1.1\r\nhost: x\r\n\r\n')
  read(first)
  await expect.poll(() => first.is_closed).toBe(true)
  expect(first.bytes).toBeLessThan(ANSWER_BYTES)
  expect(unread.taken()).toBe(3 * ANSWER_BYTES)
  for (const client of [other, second]) read(client)
  await expect.poll(() => Math.min(other.bytes, second.bytes)).toBeGreaterThan(ANSWER_BYTES)
  third.destroy()
  await expect.poll(() => unread.taken()).toBe(0)
})

test('R78 over all projects the one that has the most gives way', async () => {
  const { ask } = await serving({ bytes: 40 * MIB, bytes_of_one: 1_000 * MIB, stalled_ms: 600_000 })
  const greedy = await ask('greedy')
  const also_greedy = await ask('greedy')
  const { socket } = also_greedy
  const other = connect(Number(socket.remotePort), '127.0.0.1')
  const got = { socket: other, bytes: 0 }
  read(got)
  other.on('error', () => {}).write('GET /other HTTP/1.1\r\nhost: x\r\n\r\n')
  await expect.poll(() => got.bytes).toBeGreaterThan(ANSWER_BYTES)
  read(greedy)
  await expect.poll(() => greedy.is_closed).toBe(true)
  expect(also_greedy.is_closed).toBe(false)
})

test('R78 one of which nothing is taken ends by itself', async () => {
  const { unread, ask } = await serving({ bytes: 1_000 * MIB, bytes_of_one: 1_000 * MIB, stalled_ms: 50 })
  await ask('slow')
  await expect.poll(() => unread.taken(), { timeout: 20_000 }).toBe(0)
})

test('R78 one answer that is larger than the bound is sent all the same', async () => {
  const { ask } = await serving({ bytes: 1_000 * MIB, bytes_of_one: MIB, stalled_ms: 600_000 })
  const client = await ask('one')
  read(client)
  await expect.poll(() => client.bytes).toBeGreaterThan(ANSWER_BYTES)
})

test('R78 every whole answer of the service counts: eight of 16 MiB may wait, a ninth ends the first', async () => {
  const app = buildFastify(pino({ enabled: false }))
  app.get('/large', { config: { public: true, class: 'read' } }, async (_request, reply) => reply.send(LARGE as never))
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const clients: { socket: Socket; bytes: number; is_closed: boolean }[] = []
  for (let n = 0; n < 9; n++) {
    const client = { socket: connect(port, '127.0.0.1').pause(), bytes: 0, is_closed: false }
    client.socket
      .on('error', () => {})
      .on('close', () => {
        client.is_closed = true
      })
    client.socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    clients.push(client)
    await new Promise((resolve) => client.socket.once('readable', resolve)) // its answer has begun
  }
  for (const client of clients) read(client)
  await expect.poll(() => clients.filter(({ bytes }) => bytes > ANSWER_BYTES).length).toBe(8)
  await expect.poll(() => clients.map(({ is_closed }) => is_closed).indexOf(true)).toBe(0)
  expect(clients[0]?.bytes).toBeLessThan(ANSWER_BYTES)
})

test('R78 what the service asks itself is bound by nothing here', async () => {
  const app = buildFastify(pino({ enabled: false }))
  app.get('/large', { config: { public: true, class: 'read' } }, async (_request, reply) => reply.send(LARGE as never))
  onTestFinished(() => app.close())
  expect((await app.inject('/large')).rawPayload.length).toBe(ANSWER_BYTES)
})
