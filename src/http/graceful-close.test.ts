// A stop lets every answer arrive whole, and waits for nobody who has had theirs.
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { closeGracefully } from './graceful-close.ts'

const BIG = 20_000_000

async function listening(answer: RequestListener) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  closeGracefully(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  return { server, port: (server.address() as AddressInfo).port }
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

test('§operations idle connections are closed at once; a request that has begun to arrive is answered', async () => {
  const { server, port } = await listening((_request, response) => void response.end('ok'))
  const sockets: Socket[] = []
  server.on('connection', (socket) => void sockets.push(socket))
  const idle = rawClient(port, '')
  const late = rawClient(port, 'GET / HTTP/1.1\r\nhost: a\r\n')
  const half_read = () => sockets.length === 2 && sockets.some((socket) => socket.bytesRead > 0)
  while (!half_read()) await nextTurn()
  idle.socket.resume()
  late.socket.resume()
  const stopped = closed(server)
  expect(await idle.bytes).toBe(0)
  late.socket.write('\r\n')
  expect(await late.bytes).toBeGreaterThan(0)
  await stopped
})
