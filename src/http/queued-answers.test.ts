// R78: answers that wait behind another one of their connection.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { untilClosed } from '../../test/support/sockets.ts'
import { closeQueued } from './queued-answers.ts'

async function scene(answer = (_response: ServerResponse, _n: number) => {}) {
  const responses: ServerResponse[] = []
  const closed: number[] = []
  const server = createServer((_request, response) => {
    const n = responses.push(response) - 1
    response.once('close', () => void closed.push(n))
    answer(response, n)
  })
  closeQueued(server, 50)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  const ask = (times: number) => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(times))
  return { socket, ask, responses, closed }
}

test('R78 their connection closes: each hears it, once', async () => {
  const { socket, ask, responses, closed } = await scene()
  ask(3)
  await expect.poll(() => responses.length).toBe(3)
  socket.destroy()
  await expect.poll(() => closed.toSorted()).toEqual([0, 1, 2])
  expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, true])
})

test('R78 what was answered meanwhile is not closed again, and the rest is', async () => {
  const { socket, ask, responses, closed } = await scene()
  ask(3)
  await expect.poll(() => responses.length).toBe(3)
  responses[0]?.end('a')
  await expect.poll(() => closed).toEqual([0])
  socket.destroy()
  await expect.poll(() => closed.toSorted()).toEqual([0, 1, 2])
})

test('R78 a thousand at once that are answered at once all have their answers', async () => {
  const { socket, ask, responses } = await scene((response) => void setImmediate(() => response.end('a')))
  let heard = ''
  socket.on('data', (part) => (heard += part))
  ask(1_000)
  await expect.poll(() => heard.split('HTTP/1.1 200 OK').length - 1).toBe(1_000)
  expect([responses.length, socket.destroyed]).toEqual([1_000, false])
})

test('R78 of one connection a few wait, and whoever sends more is cut off', async () => {
  const { socket, ask, responses } = await scene()
  const cut = untilClosed(socket)
  ask(1_000)
  await cut
  await expect.poll(() => responses.every(({ destroyed }) => destroyed)).toBe(true)
})
