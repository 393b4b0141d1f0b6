// §4.11: an upstream that answers before it has read what it is sent, as for a key that it does not know or a file that
// is too large. Its answer counts, the rest is not read from its spool, and its connection serves nobody else.
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openUpstream } from './upstream.ts'

const MIB = 2 ** 20
const timeouts = { first_byte_ms: 10_000, idle_ms: 20_000 }

/** Reads nothing beyond the head of a request before it answers. */
async function hasty(answer: (socket: Socket, nth: number) => void) {
  let opened = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const nth = ++opened
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      answer(socket, nth)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const upstream = openUpstream(`http://127.0.0.1:${port}`, { connections: 1 })
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await upstream.close()
    server.close()
  })
  return { upstream, opened: () => opened }
}

function form(parts: number) {
  const state = { read: 0, is_closed: false }
  const source = {
    bytes: parts * MIB,
    content_type: 'multipart/form-data; boundary=x',
    async *parts() {
      try {
        for (; state.read < parts; state.read++) yield Buffer.alloc(MIB)
      } finally {
        state.is_closed = true
      }
    },
  }
  return { source, state }
}

const BODY = '{"error":{"message":"too large"}}'
const told = (status: string, more = '') =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n${more}\r\n${BODY}`
const send = (upstream: Awaited<ReturnType<typeof hasty>>['upstream'], source: ReturnType<typeof form>['source']) =>
  upstream.send({ method: 'POST', path: '/', headers: {}, source, timeouts }, new AbortController().signal)

test.each([
  ['and keeps the connection open', ''],
  ['and says that it closes', 'connection: close\r\n'],
])(
  '§4.11 an answer in the middle of a form, %s: it counts, and the rest of the form stays unread',
  async (_case, more) => {
    const { upstream, opened } = await hasty((socket) => void socket.write(told('413 Too Large', more)))
    const { source, state } = form(100)
    const answer = await send(upstream, source)
    expect([answer.status, String(await answer.whole())]).toEqual([413, BODY])
    const again = await send(upstream, form(1).source) // of one connection: it must be another
    expect([again.status, opened()]).toEqual([413, 2])
    await expect.poll(() => state.is_closed).toBe(true)
    expect(state.read).toBeLessThan(100)
  },
)

test('§4.11 an answer, and then a reset while the form is still sent: the answer counts', async () => {
  const { upstream } = await hasty((socket) => {
    socket.write(told('401 Unauthorized', 'connection: close\r\n'), () => socket.destroy())
  })
  const { source, state } = form(100)
  const answer = await send(upstream, source)
  expect([answer.status, String(await answer.whole())]).toEqual([401, BODY])
  await expect.poll(() => state.is_closed).toBe(true)
})

test('§4.11 a stream that begins before the form ends goes on, and the form too', async () => {
  let read = 0
  const { upstream } = await hasty((socket) => {
    socket.write(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n',
    )
    socket.on('data', (part) => {
      read += part.length
      if (read > 7 * MIB) socket.write('4\r\nlast\r\n0\r\n\r\n')
    })
    socket.resume()
  })
  const { source } = form(8)
  const answer = await send(upstream, source)
  expect(String(await answer.whole())).toBe('firstlast')
})

test('§4.11 a form whose spool cannot be read any more is a call that broke, not one that hangs', async () => {
  const { upstream } = await hasty(() => {})
  const parts = async function* () {
    yield Buffer.alloc(10)
    throw new Error('a spool is shorter than what was written to it')
  }
  const source = { bytes: 100, content_type: 'multipart/form-data; boundary=x', parts }
  await expect(send(upstream, source)).rejects.toMatchObject({ failure: 'reset' })
})
