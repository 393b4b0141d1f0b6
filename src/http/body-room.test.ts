// R78: whoever leaves gives its place back, whenever that is.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import { memoryRoom } from '../core/memory-room.ts'
import { boundBodies } from './body-room.ts'

const BYTES = 1_000_000

/** A request waits at `before` until its key is known, and at `parsing` when its body has come. */
async function scene(before: Promise<unknown>, parsing: Promise<unknown>) {
  const room = memoryRoom({ bytes: 8 * BYTES, bytes_of_one: 8 * BYTES }, 'calls')
  const app = Fastify({ bodyLimit: BYTES })
  onTestFinished(() => app.close())
  const reached = { before: deferred(), parsing: deferred(), handler: deferred() }
  app.decorateRequest('caller')
  app.decorateRequest('route')
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { project_id: 'a' }, route: { bodyLimit: BYTES } })
    reached.before.resolve()
    await before
  })
  boundBodies(app, room)
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, bytes: unknown) => {
    reached.parsing.resolve()
    await parsing
    return { bytes }
  })
  app.addHook('preValidation', async () => reached.handler.resolve())
  app.post('/', async () => 'ok')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const [socket, [served]] = await Promise.all([connect(port, '127.0.0.1'), once(app.server, 'connection')])
  socket.on('error', () => {})
  const leave = async () => {
    const closed = new Promise((gone) => served.once('close', gone))
    socket.destroy()
    await closed
  }
  return { room, reached, socket, leave }
}

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

test('R78 a client that has left before its key was known takes no place', async () => {
  const gate = deferred()
  const { room, reached, socket, leave } = await scene(gate.promise, Promise.resolve())
  socket.write(`${HEAD}Content-Length: ${BYTES}\r\n\r\n`)
  await reached.before.promise
  await leave()
  gate.resolve()
  await new Promise((turn) => setImmediate(() => setImmediate(turn)))
  expect(room.taken()).toBe(0)
})

test('R78 a client that leaves while its body is parsed leaves no place behind', async () => {
  const gate = deferred()
  const { room, reached, socket, leave } = await scene(Promise.resolve(), gate.promise)
  const body = 'x'.repeat(BYTES - 1)
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
  await reached.parsing.promise
  expect(room.taken()).toBe(BYTES)
  await leave()
  gate.resolve()
  await reached.handler.promise
  expect(room.taken()).toBe(0)
})
