// R41, R47: whoever reads a streamed answer off the wire finds every part, whole and in its place, and what is told
// behind it.
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ChunkFrames, framed } from './chunk-frames.ts'

async function serving(answer: (frames: ChunkFrames, response: ServerResponse, url: string) => unknown) {
  const server = createServer((request, response) => {
    response.writeHead(200, request.httpVersion === '1.0' ? {} : { trailer: 'x-told' })
    void answer(new ChunkFrames(response), response, request.url ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  return (server.address() as AddressInfo).port
}

async function read(port: number): Promise<{ body: Buffer; told: string | undefined }> {
  const response = await new Promise<IncomingMessage>((resolve) => get({ port, host: '127.0.0.1' }, resolve))
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part)
  return { body: Buffer.concat(parts), told: response.trailers['x-told'] }
}

/** What comes over a bare connection until it is closed. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part)).on('close', () => resolve(Buffer.concat(parts).toString('latin1')))
  })
}

const part = (length: number, at: number) => Buffer.alloc(length, 97 + (at % 26))
const LENGTHS = [5, 0, 1, 15, 16, 255, 256, 4_096, 0, 16_384, 16_385, 100_000, 3]

test('R41 parts of every size arrive in order, none ends the answer, and what is told behind them is told', async () => {
  const parts = LENGTHS.map(part)
  const port = await serving(async (frames, response) => {
    for (const one of parts) await frames.write(one)
    response.addTrailers({ 'x-told': 'yes' })
    response.end(Buffer.from('last'))
  })
  const { body, told } = await read(port)
  expect(body.equals(Buffer.concat([...parts, Buffer.from('last')]))).toBe(true)
  expect(told).toBe('yes')
})

test('R41 an empty part first: the head still leaves with the next', async () => {
  const port = await serving((frames, response) => {
    void frames.write(Buffer.alloc(0))
    void frames.write(Buffer.from('a'))
    void frames.write(Buffer.from('b'))
    response.end()
  })
  expect((await read(port)).body.toString()).toBe('ab')
})

test('R41 HTTP/1.0 has no chunks: the bytes come as they are', async () => {
  const port = await serving((frames, response) => {
    for (const one of ['one ', 'two ', 'three']) void frames.write(Buffer.from(one))
    response.end()
  })
  const text = await raw(port, 'GET / HTTP/1.0\r\nhost: a\r\n\r\n')
  expect(text.split('\r\n\r\n')[1]).toBe('one two three')
})

test('R47 answers to requests that came together stay apart, whichever is written first', async () => {
  let first: (() => void) | undefined
  const port = await serving((frames, response, url) => {
    const write = () => {
      for (const one of ['1', '2', '3']) void frames.write(Buffer.from(`${url}${one};`))
      response.end()
    }
    if (url === '/a') first = write
    else write()
    if (url === '/b') first?.() // the second has said all by then
  })
  const request = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nhost: a\r\n${more}\r\n`
  const text = await raw(port, request('/a') + request('/b', 'connection: close\r\n'))
  expect(text.match(/\/[ab]\d;/g)).toEqual(['/a1;', '/a2;', '/a3;', '/b1;', '/b2;', '/b3;'])
})

test('R47 who writes faster than the client reads waits, and goes on when it reads or leaves', async () => {
  let written = 0
  let wire: Socket | null = null as Socket | null
  let ended: () => void = () => {}
  const hasEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  const port = await serving(async (frames, response) => {
    wire = response.socket
    for (; !response.destroyed; written++) await frames.write(part(16_000, written))
    ended()
  })
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')).pause()
  await expect.poll(() => wire?.writableNeedDrain && wire.writableLength >= 16_000).toBe(true)
  const before = written
  const most = (wire?.writableHighWaterMark ?? 0) + 2 * 16_100
  expect(wire?.writableLength).toBeLessThan(most) // it waits, and nothing piles up
  socket.resume()
  await expect.poll(() => written).toBeGreaterThan(before)
  socket.destroy()
  await hasEnded
})

test('R41 a frame is the size in hexadecimal digits, and the bytes', () => {
  expect(framed(Buffer.alloc(26, 'x')).toString()).toBe(`1a\r\n${'x'.repeat(26)}\r\n`)
})
