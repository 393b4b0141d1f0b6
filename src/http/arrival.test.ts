// R2, T-35: a body has as long as it keeps coming, and no longer. The clock is the test's, and so is every look.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { untilClosed } from '../../test/support/sockets.ts'
import { answerClientError } from './answers.ts'
import { ARRIVAL, type ArrivalLimits, isTooSlow, watchArrivals } from './arrival.ts'

const arriving = { waited_ms: 0, idle_ms: 0, bytes: 0 }

test.each<[string, Partial<typeof arriving>, boolean]>([
  ['nothing yet', {}, false],
  ['silent for a little less than 15 s', { waited_ms: 14_999, idle_ms: 14_999 }, false],
  ['silent for 15 s after 10 MB', { waited_ms: 20_000, idle_ms: 15_000, bytes: 10_000_000 }, true],
  ['a byte a second for 14 s', { waited_ms: 14_000, bytes: 14 }, false],
  ['a byte a second for 15 s', { waited_ms: 15_000, bytes: 15 }, true],
  ['16 MiB in five minutes', { waited_ms: 300_000, bytes: 16 * 1024 * 1024 }, false],
  ['16 MiB in ten minutes', { waited_ms: 600_000, bytes: 16 * 1024 * 1024 }, true],
  ['4 KiB a second', { waited_ms: 100_000, bytes: 409_600 }, false],
  ['less than 4 KiB a second', { waited_ms: 100_000, bytes: 409_599 }, true],
])('T-35 %s', (_case, more, tooSlow) => {
  expect(isTooSlow({ ...arriving, ...more }, ARRIVAL)).toBe(tooSlow)
})

async function scene(answer: RequestListener, limits: ArrivalLimits = ARRIVAL) {
  const clock = heldClock()
  const server = createServer({ requestTimeout: 0 }, answer).on('clientError', (error, socket) =>
    answerClientError(error, socket as Socket, 'req_1'),
  )
  const look = watchArrivals(server, clock, limits)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const head = (length: number, path = '/') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`
  /** Time goes by a second at a time, as it does where one looks every second. */
  const wait = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000)
      look()
    }
  }
  const [[server_side]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')])
  const arrived = async (bytes: number) => expect.poll(() => server_side.bytesRead).toBeGreaterThanOrEqual(bytes)
  look()
  return { socket, head, wait, look, arrived, answered: untilClosed(socket) }
}

const takeAll = async (request: IncomingMessage) => {
  let bytes = 0
  for await (const part of request) bytes += part.length
  return bytes
}

const counting: RequestListener = (request, response) =>
  void takeAll(request).then(
    (bytes) => response.end(JSON.stringify({ bytes })),
    () => response.destroy(),
  )

test('T-35 a body that keeps coming is read, though it takes minutes', async () => {
  const { socket, head, wait, look, arrived, answered } = await scene(counting)
  const part = Buffer.alloc(64_000)
  socket.write(head(10 * part.length))
  await arrived(10)
  look()
  for (let sent = 1; sent <= 10; sent++) {
    socket.write(part)
    if (sent < 10) await arrived(sent * part.length)
    if (sent < 10) wait(14)
  }
  expect(await answered).toMatchObject({ status: 200, body: { bytes: 640_000 } })
})

test('T-35 a body that stops coming is 408 after 15 s, in the envelope', async () => {
  const { socket, head, wait, arrived, answered } = await scene(counting)
  socket.write(head(1_000_000))
  socket.write(Buffer.alloc(500_000))
  await arrived(500_000)
  wait(17)
  const { status, body } = await answered
  expect([status, body.error.type]).toEqual([408, 'invalid_request_error'])
})

test('R81 below /anthropic that is told in the words of that protocol', async () => {
  const { socket, head, wait, arrived, answered } = await scene(counting)
  socket.write(head(1_000, '/anthropic/v1/messages'))
  await arrived(head(1_000).length)
  wait(17)
  const { status, headers, body } = await answered
  expect([status, body.type, body.error.type]).toEqual([408, 'error', 'invalid_request_error'])
  expect(body.request_id).toBe(headers['request-id'])
})

test('T-35 a byte a second is 408 once 15 s have passed', async () => {
  const { socket, head, wait, arrived, answered } = await scene(counting)
  socket.write(head(1_000))
  await arrived(head(1_000).length)
  for (let sent = 1; sent <= 17; sent++) {
    socket.write('x')
    await arrived(head(1_000).length + sent)
    wait(1)
  }
  expect((await answered).status).toBe(408)
})

test('T-35 time in which nobody read the body is not the client’s', async () => {
  let take = () => {}
  const { socket, head, wait, arrived, answered } = await scene((request, response) => {
    take = () => counting(request, response)
  })
  socket.write(head(1_000_000))
  socket.write(Buffer.alloc(1_000_000))
  await arrived(65_536)
  wait(60)
  take()
  expect(await answered).toMatchObject({ status: 200, body: { bytes: 1_000_000 } })
})

test('T-35 who has had an answer and goes on sending is cut off, and told nothing more', async () => {
  const { socket, wait, arrived, answered } = await scene((_request, response) => void response.end('first'), {
    ...ARRIVAL,
    dropped_bytes: 100_000,
  })
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n'
  socket.write(head)
  await arrived(head.length)
  wait(1)
  socket.write(Buffer.alloc(200_000))
  await arrived(200_000)
  wait(1)
  const { status, body } = await answered
  expect([status, String(body)]).toEqual([200, 'first'])
})
