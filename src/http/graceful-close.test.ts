// A stop lets every answer arrive whole, and waits for nobody who has had theirs.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { heldTimers } from '../../test/support/held-timers.ts'
import { closeGracefully, REST_MS } from './graceful-close.ts'

const BIG = 20_000_000

async function listening(answer: RequestListener) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  const clock = { now_ms: 0 }
  closeGracefully(server, () => clock.now_ms)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  const rest = (ms = REST_MS) => {
    clock.now_ms += ms
  }
  return { server, port: (server.address() as AddressInfo).port, rest }
}

const closed = (server: { close(done: () => void): unknown }) =>
  new Promise<void>((resolve) => void server.close(() => resolve()))

/** A client on a bare socket, which reads only once it is told to. */
function rawClient(port: number, text: string) {
  const socket = connect(port, '127.0.0.1').pause()
  socket.write(text)
  const bytes = new Promise<number>((resolve) => {
    let count = 0
    socket.on('data', (part) => {
      count += part.length
    })
    socket.on('error', () => {})
    socket.once('close', () => resolve(count))
  })
  return { socket, bytes }
}

test('§operations an answer that a slow client has not read yet arrives whole', async () => {
  let begun = () => {}
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const { server, port } = await listening((_request, response) => {
    response.writeHead(200, { 'content-length': BIG }).end(Buffer.alloc(BIG))
    begun()
  })
  const { socket, bytes } = rawClient(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await isBegun
  const stopped = closed(server)
  socket.resume()
  expect(await bytes).toBeGreaterThan(BIG)
  await stopped
})

test('§operations a stream that ends after the stop began takes its kept-alive connection with it', async () => {
  let begun: (response: ServerResponse) => void = () => {}
  const stream = new Promise<ServerResponse>((resolve) => {
    begun = resolve
  })
  const { server, port } = await listening((_request, response) => {
    response.write('first')
    begun(response)
  })
  const { socket, bytes } = rawClient(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const response = await stream
  const stopped = closed(server)
  response.end(' and last')
  await stopped // by itself: the client keeps its end open
  socket.resume()
  expect(await bytes).toBeGreaterThan('first and last'.length)
})

test('F22 a request that follows a stream at once is answered, though the stop began meanwhile', async () => {
  let begun: (response: ServerResponse) => void = () => {}
  const stream = new Promise<ServerResponse>((resolve) => {
    begun = resolve
  })
  const { server, port } = await listening(({ url }, response) => {
    if (url === '/next') return void response.setHeader('connection', 'close').end('as well')
    response.write('first')
    begun(response)
  })
  const client = rawClient(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  let heard = ''
  const { socket, bytes } = client
  socket.on('data', (part) => {
    heard += part
    if (String(part).endsWith('0\r\n\r\n') && !heard.includes('as well'))
      socket.write('GET /next HTTP/1.1\r\nhost: a\r\n\r\n')
  })
  socket.resume()
  const response = await stream
  const stopped = closed(server)
  response.end(' and last')
  await Promise.all([bytes, stopped])
  expect(heard).toContain('as well')
})

/** A connection of which the server knows, and what came over it. */
async function connected(server: Server, port: number) {
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  const heard = { text: '' }
  socket.on('data', (part) => {
    heard.text += part
  })
  const over = once(socket, 'close')
  await accepted
  return { socket, heard, over }
}

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const answers = (text: string) => text.split('HTTP/1.1 200').length - 1

test('F22 who connected just before the stop, and asks just after it, is answered', async () => {
  const { server, port } = await listening((_request, response) => void response.end('ok'))
  const { socket, heard, over } = await connected(server, port)
  const stopped = closed(server)
  socket.write(REQUEST)
  await Promise.all([over, stopped])
  expect(answers(heard.text)).toBe(1)
})

test('F22 who had an answer just before the stop, and asks again just after it, is answered', async () => {
  const { server, port } = await listening((_request, response) => void response.end('ok'))
  const { socket, heard, over } = await connected(server, port)
  socket.write(REQUEST)
  await once(socket, 'data')
  const stopped = closed(server)
  socket.write(REQUEST)
  await Promise.all([over, stopped])
  expect(answers(heard.text)).toBe(2)
})

test('F22 a request that had arrived unread when the stop began is answered', async () => {
  const { server, port, rest } = await listening((_request, response) => void response.end('ok'))
  const { socket, heard, over } = await connected(server, port)
  rest()
  const sent = new Promise<void>((resolve) => void socket.write(REQUEST, () => resolve()))
  const stopped = closed(server) // in the turn in which it was written
  await Promise.all([sent, over, stopped])
  expect(answers(heard.text)).toBe(1)
})

test('F22 each answer after the stop began has a rest of its own', async () => {
  const { server, port, rest } = await listening((_request, response) => void response.end('ok'))
  const { socket, heard, over } = await connected(server, port)
  const timers = heldTimers()
  rest(REST_MS - 10)
  const stopped = closed(server)
  await timers.untilSet(10, 1)
  rest(1)
  socket.write(REQUEST)
  await timers.untilSet(REST_MS, 1)
  timers.pass(10) // that of its beginning
  for (let n = 0; n < 4; n++) await nextTurn()
  socket.write(REQUEST)
  await timers.untilSet(REST_MS, 2)
  timers.pass(REST_MS)
  await Promise.all([over, stopped])
  expect(answers(heard.text)).toBe(2)
})

test('§operations connections that rested are closed at once; a request that has begun to arrive is answered', async () => {
  const { server, port, rest } = await listening((_request, response) => void response.end('ok'))
  const idle = await connected(server, port)
  rest()
  const late = await connected(server, port)
  late.socket.write('GET / HTTP/1.1\r\nhost: a\r\n')
  const stopped = closed(server)
  await idle.over
  late.socket.write('\r\n')
  await Promise.all([late.over, stopped])
  expect([idle.heard.text, answers(late.heard.text)]).toEqual(['', 1])
})

test('F22 who never comes to the end of a head is parted with after ten seconds: a stop waits for nobody for ever', async () => {
  const { server, port, rest } = await listening((_request, response) => void response.end('ok'))
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  const over = once(socket, 'close')
  const [taken] = await accepted
  socket.write('GET / HT')
  while (taken.bytesRead === 0) await nextTurn()
  rest()
  const timers = heldTimers()
  const stopped = closed(server)
  await timers.untilSet(10_000, 1)
  timers.pass(10_000)
  await Promise.all([over, stopped])
})
