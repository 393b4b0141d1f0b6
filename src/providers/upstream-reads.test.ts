// Reads of all connections go into the same memory: what somebody keeps of one must stay as it came, whatever else
// arrives, and a connection that is held back must cost no more than it has read.
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openUpstream } from './upstream.ts'

const timeouts = { first_byte_ms: 10_000, idle_ms: 20_000 }
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

/** Answers each call with its head; the rest is the test's to send, call by call. */
async function upstream(connections: number) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => {})
    socket.once('data', () => {
      sockets.push(socket)
      socket.write(HEAD)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const opened = openUpstream(`http://127.0.0.1:${port}`, { connections })
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await opened.close()
    server.close()
  })
  const ask = () => opened.send({ method: 'POST', path: '/', headers: {}, timeouts }, new AbortController().signal)
  return { sockets, ask }
}

test('R77 parts that are kept stay as they came while other connections read', async () => {
  const { sockets, ask } = await upstream(8)
  const kept: Buffer[][] = []
  const all: Promise<void>[] = []
  for (let call = 0; call < 8; call++) {
    const parts: Buffer[] = []
    kept.push(parts)
    all.push((await ask()).each((part) => void parts.push(part)))
  }
  for (let round = 0; round < 20; round++) {
    for (const [at, socket] of sockets.entries()) socket.write(chunk(String.fromCharCode(97 + at).repeat(500 + round)))
    await expect.poll(() => kept.every((parts) => bytesOf(parts) === bytesIn(round))).toBe(true)
  }
  for (const socket of sockets) socket.write('0\r\n\r\n')
  await Promise.all(all)
  const letters = kept.map((parts) => [...new Set(Buffer.concat(parts).toString())].join(''))
  expect(letters.sort()).toEqual([...'abcdefgh'])
})

const bytesOf = (parts: readonly Buffer[]) => parts.reduce((sum, { length }) => sum + length, 0)
const bytesIn = (round: number) =>
  Array.from({ length: round + 1 }, (_, at) => 500 + at).reduce((sum, one) => sum + one)

test('R47 whoever is slow holds the upstream back, and has all of it in the end', async () => {
  const { sockets, ask } = await upstream(1)
  const answer = await ask()
  let goOn: () => void = () => {}
  let bytes = 0
  const taken = answer.each((part) => {
    bytes += part.length
    if (bytes > part.length) return undefined
    return new Promise<void>((resolve) => {
      goOn = resolve
    })
  })
  const [socket] = sockets as [Socket]
  const part = chunk('x'.repeat(60_000))
  let sent = 0
  while (socket.write(part)) sent++
  const all = 400
  for (; sent < all; sent++) socket.write(part)
  socket.end('0\r\n\r\n')
  await expect.poll(() => bytes).toBeGreaterThan(0)
  const before = bytes
  await expect.poll(() => socket.writableLength).toBeGreaterThan(0)
  expect(bytes).toBe(before) // nobody takes more, so nothing more is read than the system has room for
  goOn()
  await taken
  expect(bytes).toBeGreaterThanOrEqual(all * 60_000)
})
