// A receiver of webhooks that fails, stalls and restarts, and remembers what it took: each message whose 200 was sent.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../support/free-port.ts'
import type { Chance } from './randomness.ts'

export interface Taken {
  id: string
  body: string
}

const MOODS = ['failing', 'well', 'stalling', 'failing', 'well', 'restarting'] as const
const FAILS_ONE_IN = 6
const REFUSED_LEAST = 5
const REFUSED_WITHIN_MS = 30_000

export async function eventReceiver(random: Chance) {
  const port = await freePort()
  const taken: Taken[] = []
  const figures = { refused: 0, stalled: 0, restarts: 0, forged: 0 }
  let mood: (typeof MOODS)[number] = 'well'
  let secret: Webhook | undefined
  let server: Server | undefined
  let over = false

  function answer(request: IncomingMessage, reply: ServerResponse, body: string): void {
    const id = String(request.headers['webhook-id'])
    try {
      secret?.verify(body, request.headers as Record<string, string>)
    } catch {
      figures.forged++
    }
    if (mood === 'stalling') return void figures.stalled++
    if (mood === 'failing' && random.oneIn(FAILS_ONE_IN)) {
      figures.refused++
      return void reply.writeHead(503).end()
    }
    taken.push({ id, body })
    reply.writeHead(204).end()
  }

  const open = () =>
    new Promise<void>((resolve) => {
      server = createServer((request, reply) => {
        const parts: Buffer[] = []
        request.on('data', (part: Buffer) => parts.push(part))
        request.on('end', () => answer(request, reply, Buffer.concat(parts).toString()))
        request.on('error', () => {})
      })
      server.listen(port, '127.0.0.1', resolve)
    })

  const close = () =>
    new Promise<void>((resolve) => {
      server?.close(() => resolve())
      server?.closeAllConnections()
    })

  /** However small the run, and however late its deliveries begin. */
  async function untilSomeRefused(): Promise<void> {
    const deadline_ms = performance.now() + REFUSED_WITHIN_MS
    while (figures.refused < REFUSED_LEAST && performance.now() < deadline_ms) await sleep(20)
  }

  /** One mood after another, until it is told to be well for good. */
  async function live(): Promise<void> {
    for (let turn = 0; !over; turn++) {
      mood = MOODS[turn % MOODS.length] ?? 'well'
      if (mood === 'restarting') {
        figures.restarts++
        await close()
        await sleep(random.between(50, 400))
        await open()
        mood = 'well'
      }
      if (turn === 0) await untilSomeRefused()
      const was = mood
      await sleep(mood === 'well' ? random.between(500, 3_000) : random.between(100, 500))
      if (was === 'stalling') server?.closeAllConnections() // whoever waited learns that nothing comes
    }
    mood = 'well'
  }

  await open()
  let living = Promise.resolve()
  return {
    url: `http://127.0.0.1:${port}/events`,
    taken,
    figures,
    signedWith(text: string): void {
      secret = new Webhook(text)
    },
    /** Its moods begin. */
    begin(): void {
      living = live()
    },
    async calm(): Promise<void> {
      over = true
      await living
    },
    async close(): Promise<void> {
      over = true
      await living
      await close()
    },
  }
}
