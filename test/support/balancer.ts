// A balancer as deploy/nginx would be one: the server with the fewest requests under way, of those whose /readyz says
// 200; kept-alive connections to each, and no second try once a request may have reached a server.
import { Agent, createServer, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

const PROBE_EVERY_MS = 100
const PROBE_WITHIN_MS = 5_000
const FALL = 2 // failures in a row until a server is left alone; one success brings it back

interface Backend {
  port: number
  agent: Agent
  failures: number
  /** Requests under way. */
  load: number
}

const isIn = ({ failures }: Backend) => failures < FALL

export type Balancer = Awaited<ReturnType<typeof startBalancer>>

export async function startBalancer(ports: readonly number[]) {
  const backends: Backend[] = ports.map((port) => ({
    port,
    agent: new Agent({ keepAlive: true }),
    failures: FALL,
    load: 0,
  }))
  const listeners = new Set<() => void>()
  const sockets = new Set<Socket>()
  let turn = 0
  let refused = 0

  async function probe(backend: Backend): Promise<void> {
    backend.failures = (await isReady(backend.port)) ? 0 : backend.failures + 1
    for (const listener of listeners) listener()
  }

  /** Those that are ready, the least busy first; of equals, whose turn it is. */
  function inTurn(): Backend[] {
    const ready = backends.filter(isIn)
    const first = ready.length > 0 ? turn++ % ready.length : 0
    return [...ready.slice(first), ...ready.slice(0, first)].sort((a, b) => a.load - b.load)
  }

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const { method, url: path, headers } = incoming
    for (const backend of inTurn()) {
      const { port, agent } = backend
      const hop = { host: '127.0.0.1', port, agent, method, path, headers: { ...headers, connection: 'keep-alive' } }
      backend.load++
      const how = await forward(hop, Buffer.concat(parts), outgoing, () => backend.load--)
      if (how !== 'refused') return
      refused++
    }
    answer(outgoing, 503, 'no server is ready')
  }

  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const timers = backends.map((backend) => setInterval(() => void probe(backend), PROBE_EVERY_MS))
  await Promise.all(backends.map(probe))

  return {
    port: (server.address() as AddressInfo).port,
    /** Connections that a server did not take, so that the request went to the next one. */
    refused: () => refused,
    /** Until the balancer has seen that so many servers are ready. */
    untilReady(count: number): Promise<void> {
      return new Promise((resolve) => {
        const look = () => {
          if (backends.filter(isIn).length < count) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      })
    },
    async close(): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      for (const { agent } of backends) agent.destroy()
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const HOP_HEADERS = ['connection', 'keep-alive', 'transfer-encoding']

/** 'refused': nothing has reached the server, so another one may be asked. `onOver`: the server has nothing to do with it. */
function forward(
  hop: RequestOptions,
  body: Buffer,
  outgoing: ServerResponse,
  onOver: () => void,
): Promise<'answered' | 'refused'> {
  return new Promise((resolve) => {
    const onward = request(hop)
    onward.once('close', onOver)
    onward.once('response', (reply) => {
      const headers = Object.entries(reply.headers).filter(([name]) => !HOP_HEADERS.includes(name))
      outgoing.writeHead(reply.statusCode ?? 502, Object.fromEntries(headers) as Record<string, string>)
      reply.on('data', (part) => outgoing.write(part) || pauseUntilDrained(reply, outgoing))
      // What breaks off on one side breaks off on the other: never a clean end.
      reply.once('error', () => outgoing.destroy())
      reply.once('end', () => {
        outgoing.addTrailers(reply.trailers as Record<string, string>)
        outgoing.end()
      })
      resolve('answered')
    })
    onward.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') return resolve('refused')
      if (!outgoing.headersSent) answer(outgoing, 502, `the server broke off: ${error.code ?? error.message}`)
      resolve('answered')
    })
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) onward.destroy()
    })
    onward.end(body)
  })
}

function pauseUntilDrained(reply: IncomingMessage, outgoing: ServerResponse): void {
  reply.pause()
  outgoing.once('drain', () => reply.resume())
}

function answer(outgoing: ServerResponse, status: number, text: string): void {
  outgoing.writeHead(status, { 'content-type': 'text/plain' }).end(`balancer: ${text}`)
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request(
      { host: '127.0.0.1', port, path: '/readyz', agent: false, timeout: PROBE_WITHIN_MS },
      (reply) => {
        reply.resume()
        resolve(reply.statusCode === 200)
      },
    )
    asking.once('timeout', () => asking.destroy())
    asking.once('error', () => resolve(false))
    asking.end()
  })
}
