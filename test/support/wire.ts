// Calls on the real wire, to the programmable upstream or to a server that says exactly what it is told.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { type ProviderAnswer, UpstreamError } from '../../src/providers/provider.ts'
import { openUpstream, type UpstreamOptions, type UpstreamRequest } from '../../src/providers/upstream.ts'
import { type Behaviour, startUpstream } from './upstream.ts'

const PATIENT = { first_byte_ms: 20_000, idle_ms: 20_000 }

export interface Sent extends Partial<UpstreamRequest> {
  signal?: AbortSignal
}

export function openWire(base_url: string, options: Partial<UpstreamOptions> = {}) {
  const wire = openUpstream(base_url, { connections: 50, ...options })
  onTestFinished(() => wire.close())
  const send = ({ signal = new AbortController().signal, ...request }: Sent = {}) =>
    wire.send(
      {
        method: 'POST',
        path: '/chat/completions',
        headers: {},
        body: Buffer.from('{}'),
        timeouts: PATIENT,
        ...request,
      },
      signal,
    )
  return { ...wire, send }
}

export async function startWire(behaviour: Behaviour = {}, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startUpstream(behaviour)
  onTestFinished(upstream.close)
  return { upstream, ...openWire(upstream.base_url, options) }
}

/** A server that says exactly these bytes and does nothing of its own accord. */
export async function startRaw(talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    talk(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A promise and its key. */
export function gate() {
  let resolve = () => {}
  const promise = new Promise<void>((open) => {
    resolve = open
  })
  return { promise, resolve: () => resolve() }
}

export const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing failed',
    (error) => (error instanceof UpstreamError ? error.failure : `${error}`),
  )

/** Takes everything; says what came, and how it ended. */
export async function taken(answer: ProviderAnswer): Promise<{ text: string; ended: string }> {
  const parts: Buffer[] = []
  const ended = await failureOf(answer.each((part) => void parts.push(part)).then(() => Promise.reject('cleanly')))
  return { text: Buffer.concat(parts).toString(), ended }
}

/** Until nothing has changed for a good many turns of the event loop. */
export async function settled(look: () => number): Promise<number> {
  for (let same = 0, before = Number.NaN; same < 300; ) {
    await nextTurn()
    const now = look()
    same = now === before ? same + 1 : 0
    before = now
  }
  return look()
}
