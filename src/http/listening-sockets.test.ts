// Many clients that connect at once do not each wait for a turn of the event loop of their own.
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import { closeGracefully, REST_MS } from './graceful-close.ts'
import { furtherSockets, mayReusePort } from './listening-sockets.ts'

const CLIENTS = 64

async function listening(count: number) {
  const server = createServer((_request, response) => response.end('here'))
  const clock = { now_ms: 0 }
  closeGracefully(server, () => clock.now_ms)
  const options = { backlog: 1_000, reusePort: true }
  await once(server.listen({ ...options, port: 0, host: '127.0.0.1' }), 'listening')
  const further = await furtherSockets(server, options, count)
  onTestFinished(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const rest = () => {
    clock.now_ms += REST_MS
  }
  return { server, further, port, rest }
}

/** How many turns it takes until all of them are taken. */
async function turnsToTake(count: number): Promise<number> {
  const { server, port } = await listening(count)
  let taken = 0
  server.on('connection', () => taken++)
  const clients: Socket[] = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => clients.forEach((one) => void one.destroy()))
  let turns = 0
  for (; taken < CLIENTS; turns++) await nextTurn()
  return turns
}

test.each([
  ['20.19.0', 'linux', false],
  ['22.11.0', 'linux', false],
  ['22.12.0', 'linux', true],
  ['23.0.0', 'linux', false],
  ['24.3.0', 'linux', true],
  ['24.3.0', 'darwin', false],
])('0372 Node %s on %s: %s', (version, platform, may) => {
  expect(mayReusePort(version, platform)).toBe(may)
})

// On Node 20 there is nothing to try out: the option is not known there.
test.runIf(mayReusePort())('0372 of many that connect at once, several are taken in a turn', async () => {
  const [one, eight] = [await turnsToTake(0), await turnsToTake(7)]
  expect(one).toBeGreaterThanOrEqual(CLIENTS) // as with the planted bug of a single socket
  expect(eight).toBeLessThan(one / 2)
})

test.runIf(mayReusePort())(
  '0372 whichever socket took them, they are answered, and a stop waits for their answers',
  async () => {
    const { server, further, port, rest } = await listening(7)
    const [begun, released] = [deferred(), deferred()]
    server.removeAllListeners('request')
    let asked = 0
    server.on('request', async (_request, response) => {
      if (++asked === CLIENTS) begun.resolve()
      await released.promise
      response.end('here')
    })
    const answers = Array.from({ length: CLIENTS }, async () => {
      const [answer] = await once(get({ port, host: '127.0.0.1', agent: false }), 'response')
      let text = ''
      for await (const part of answer) text += part
      return text
    })
    await begun.promise
    const stopped = Promise.all([further.close(), new Promise((done) => void server.close(done))])
    released.resolve()
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['here']))
    rest()
    await stopped
  },
)
