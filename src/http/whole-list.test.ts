// R70: what a long list does to the process while it is written.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { type Batches, listEnvelope, sendWhole } from './whole-list.ts'

interface Item {
  text: string
}

const ITEM = { text: 'x'.repeat(10_000) }
const batchOf = (items: number) => Array.from({ length: items }, () => ITEM)

async function serving(batches: () => Batches<Item>): Promise<string> {
  const app = Fastify()
  app.get('/', (_request, reply) => sendWhole(reply, batches(), listEnvelope<Item>(JSON.stringify)))
  onTestFinished(() => app.close())
  return app.listen({ port: 0 })
}

async function opened(address: string): Promise<IncomingMessage> {
  const [response] = (await once(get(address), 'response')) as [IncomingMessage]
  return response
}

test('R70 a list of any number of batches is one valid envelope', async () => {
  for (const sizes of [[], [1], [2, 1], [3, 3, 3]]) {
    const address = await serving(async function* () {
      for (const size of sizes) yield batchOf(size)
    })
    const body = (await (await fetch(address)).json()) as { data: Item[] }
    expect(body).toEqual({ object: 'list', data: batchOf(sizes.reduce((sum, n) => sum + n, 0)), has_more: false })
  }
})

test('R70 no more is read than the client takes, and nothing once it has left', async () => {
  let read = 0
  let ended = false
  const address = await serving(async function* () {
    try {
      for (; read < 10_000; read++) yield batchOf(100)
    } finally {
      ended = true
    }
  })
  const response = await opened(address)
  await expect.poll(() => read).toBeGreaterThan(1)
  const paused = await new Promise<number>((resolve) => setImmediate(() => resolve(read)))
  expect(paused).toBeLessThan(200) // 200 MB; sockets and streams buffer some of it
  response.destroy()
  await expect.poll(() => ended).toBe(true)
  expect(read).toBeLessThan(1_000)
})

test('R70 a store that fails in the middle breaks the connection off: half a list is never taken for a whole one', async () => {
  const address = await serving(async function* () {
    yield batchOf(10)
    yield batchOf(10)
    throw new Error('the store is away')
  })
  await expect(fetch(address).then((answer) => answer.text())).rejects.toThrow()
})

test('R70 a store that fails at once is told as any failure is', async () => {
  const address = await serving(async function* () {
    yield* []
    throw new Error('the store is away')
  })
  expect((await fetch(address)).status).toBe(500)
})

test('R70 however many lists are written, half of the time is for others', async () => {
  const busy_ms = 20
  const slow = () => {
    for (const from = performance.now(); performance.now() - from < busy_ms; );
    return '{}'
  }
  const app = Fastify()
  const batches = async function* () {
    for (let n = 0; n < 6; n++) yield [0]
  }
  app.get('/', (_request, reply) => sendWhole(reply, batches(), listEnvelope<number>(slow)))
  onTestFinished(() => app.close())
  const address = await app.listen({ port: 0 })
  const from = performance.now()
  await Promise.all(Array.from({ length: 4 }, () => fetch(address).then((answer) => answer.text())))
  // Four lists of six batches; of each, the first batch goes out with the head, the last has nothing after it.
  const rested_ms = 4 * 4 * 2 * busy_ms
  expect(performance.now() - from).toBeGreaterThan(rested_ms)
})
