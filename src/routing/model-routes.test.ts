// R78: what is held for a client that takes long to read a list of models.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import { Refusal } from '../core/refusal.ts'
import { sendModels } from './model-routes.ts'
import type { Names } from './nameable-models.ts'

const MIB = 2 ** 20
/** More than the system itself keeps for a connection. */
const ids = Array.from({ length: 40_000 }, (_, at) => `m${at}`.padEnd(250, 'x'))
const LONG: Names = { ids, owners: ids.map(() => 'c'), bytes: 40 * MIB }
const SHORT: Names = { ids: ['m'], owners: ['c'], bytes: 17 }

async function serving() {
  const app = Fastify()
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { project_id: request.headers.project } })
  })
  app.setErrorHandler((error, _request, reply) => reply.code(error instanceof Refusal ? 503 : 500).send())
  app.get('/long', (_request, reply) => sendModels(reply, LONG))
  const late = deferred()
  app.get('/late', async (_request, reply) => {
    late.resolve()
    await once(reply.raw, 'close')
    return sendModels(reply, LONG)
  })
  app.get('/short', (_request, reply) => sendModels(reply, SHORT))
  onTestFinished(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const origin = await app.listen({ port: 0 })
  /** Nothing of it is read until somebody does. */
  async function ask(path: string, project = 'p') {
    const [answer] = (await once(get(origin + path, { headers: { project }, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    return answer
  }
  /** Leaves before the names were looked up. */
  async function askAndLeave(project = 'p') {
    const asked = get(`${origin}/late`, { headers: { project }, agent: false }).on('error', () => {})
    await late.promise
    asked.destroy()
  }
  return { ask, askAndLeave }
}

test('R78 lists that are not read have a room, of which one project leaves others theirs', async () => {
  const { ask } = await serving()
  const slow = await ask('/long')
  const answers = await Promise.all([ask('/long'), ask('/short'), ask('/long', 'another')])
  expect([slow, ...answers].map(({ statusCode }) => statusCode)).toEqual([200, 503, 200, 200])
  slow.destroy()
  await expect.poll(async () => (await ask('/long')).statusCode).toBe(200)
})

test('R78 a list for a client that has left by then keeps no place in it', async () => {
  const { ask, askAndLeave } = await serving()
  await askAndLeave('leaving')
  await expect.poll(async () => (await ask('/short', 'leaving')).statusCode).toBe(200)
  expect((await ask('/long', 'leaving')).statusCode).toBe(200)
})
