// A programmable upstream on node:http: says what it is told to say, breaks where it is told to break, and remembers
// what it was asked. It speaks chat, completions, embeddings, responses and models, and Anthropic's Messages.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerTo } from './upstream-protocols.ts'

/** What the model says, and what it says that it took. */
export interface Saying {
  text?: string
  tool_calls?: { name: string; arguments: string }[]
  finish_reason?: string
  /** The text of a stream comes in this many pieces. */
  chunks?: number
  /** null: an upstream that reports no usage at all. */
  usage?: Usage | null
  models?: string[]
}

export interface Usage {
  input: number
  output: number
  cached?: number
  cache_written?: number
  reasoning?: number
}

/** How the answer is delivered, and where it breaks. */
export interface Behaviour extends Saying {
  /** Before anything is answered: so many milliseconds, or until this resolves. */
  wait?: number | Promise<unknown>
  /** Instead of an answer: the connection is reset, closed, sent rubbish, or left hanging. */
  instead?: 'reset' | 'close' | 'rubbish' | 'silence'
  status?: number
  headers?: Record<string, string>
  /** A body of one's own in place of the protocol's; an object becomes JSON. */
  body?: unknown
  /** Between two events of a stream: so many milliseconds, or until this resolves. */
  pace?: number | ((event: number) => Promise<unknown> | undefined)
  /** Bytes are written in pieces of this size, each on its own. */
  drip_bytes?: number
  /** After so many events (for a plain answer: bytes) the answer breaks off. */
  cut?: { after: number; how: 'reset' | 'close' | 'silence' | 'end' | { event: unknown } }
  /** It answers as it would to this path. */
  as_path?: string
  /** Everything by hand. */
  respond?: (request: Recorded, response: ServerResponse) => void | Promise<void>
}

/** A behaviour, or what finds one in what was asked. */
export type Manner = Behaviour | ((request: Recorded) => Behaviour)

export interface Recorded {
  method: string
  path: string
  headers: IncomingMessage['headers']
  raw_headers: string[]
  bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
  body: any
  /** Numbers the connection, so that a test sees which calls shared one. */
  socket: number
  /** How it ended on this side: the whole answer was written, or the caller left. */
  over: Promise<'answered' | 'left'>
}

export type TestUpstream = Awaited<ReturnType<typeof startUpstream>>

export async function startUpstream(standing: Manner = {}) {
  const requests: Recorded[] = []
  const queue: Manner[] = []
  const sockets = new Map<Socket, number>()
  const listeners = new Set<() => void>()
  let behaviour: Manner = standing
  let opened = 0

  const changed = () => {
    for (const listener of listeners) listener()
  }

  /** Waits for what only this side can see; a test that waits in vain fails by its own time limit. */
  const until = (holds: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        listeners.delete(look)
        resolve()
      }
      listeners.add(look)
      look()
    })

  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chosen = queue.shift() ?? behaviour
    receive(incoming, response, sockets.get(incoming.socket) ?? 0).then(
      (recorded) => {
        requests.push(recorded)
        changed()
        return deliver(typeof chosen === 'function' ? chosen(recorded) : chosen, recorded, response)
      },
      () => {}, // the caller left before it had said what it wanted
    )
  })
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, ++opened)
    socket.on('error', () => {}) // resets are part of the game
    socket.once('close', () => {
      sockets.delete(socket)
      changed()
    })
    changed()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    base_url: `http://127.0.0.1:${port}/v1`,
    requests,
    until,
    /** From now on, for every call; whatever was planned for the next ones is forgotten. */
    behave(next: Manner): void {
      queue.length = 0
      behaviour = next
    },
    /** For the next calls, one each; after them the standing behaviour holds again. */
    next(...behaviours: Behaviour[]): void {
      queue.push(...behaviours)
    },
    /** The n-th call, counted from 1, as soon as it has arrived. */
    async request(n: number): Promise<Recorded> {
      await until(() => requests.length >= n)
      return requests[n - 1] as Recorded
    },
    open_sockets: () => sockets.size,
    opened_sockets: () => opened,
    hangUp(): void {
      for (const socket of sockets.keys()) socket.resetAndDestroy()
    },
    async close(): Promise<void> {
      for (const socket of sockets.keys()) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

async function receive(incoming: IncomingMessage, response: ServerResponse, socket: number): Promise<Recorded> {
  const over = new Promise<'answered' | 'left'>((resolve) => {
    response.once('finish', () => resolve(incoming.socket.destroyed ? 'left' : 'answered'))
    response.once('close', () => resolve('left'))
  })
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  const bytes = Buffer.concat(parts)
  const { method = '', url: path = '', headers, rawHeaders: raw_headers } = incoming
  return { method, path, headers, raw_headers, bytes, body: parsed(bytes), socket, over }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

async function deliver(behaviour: Behaviour, request: Recorded, response: ServerResponse): Promise<void> {
  const { wait, instead, respond, body } = behaviour
  await (typeof wait === 'number' ? sleep(wait) : wait)
  if (instead) return breakOff(response, instead)
  if (respond) return respond(request, response)
  if (body !== undefined) return sendWhole(behaviour, response, bytesOf(body))
  const { as_path: path = request.path } = behaviour
  const answer = answerTo({ ...request, path }, behaviour)
  if (answer.kind === 'stream') return sendEvents(behaviour, response, answer.events)
  return sendWhole({ status: answer.status, ...behaviour }, response, bytesOf(answer.body))
}

const bytesOf = (body: unknown) =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

async function sendWhole(behaviour: Behaviour, response: ServerResponse, bytes: Buffer): Promise<void> {
  const { status = 200, headers, cut } = behaviour
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...headers,
  })
  const is_written = await write(response, cut ? bytes.subarray(0, cut.after) : bytes, behaviour)
  if (!is_written) return
  if (cut && typeof cut.how === 'string') breakOff(response, cut.how)
  else response.end()
}

async function sendEvents(behaviour: Behaviour, response: ServerResponse, events: string[]): Promise<void> {
  const { status = 200, headers, pace, cut } = behaviour
  response.writeHead(status, { 'content-type': 'text/event-stream; charset=utf-8', ...headers })
  response.flushHeaders()
  for (const [index, event] of events.entries()) {
    if (cut?.after === index) return breakStream(response, cut.how)
    if (index > 0 || typeof pace === 'function') await (typeof pace === 'function' ? pace(index) : pace && sleep(pace))
    if (response.destroyed || !(await write(response, Buffer.from(event), behaviour))) return
  }
  if (cut && cut.after >= events.length) return breakStream(response, cut.how)
  response.end()
}

function breakStream(response: ServerResponse, how: NonNullable<Behaviour['cut']>['how']): void {
  if (typeof how === 'string') breakOff(response, how)
  else response.end(`data: ${JSON.stringify(how.event)}\n\n`)
}

function breakOff(response: ServerResponse, how: 'reset' | 'close' | 'rubbish' | 'silence' | 'end'): void {
  const { socket } = response
  if (how === 'reset') socket?.resetAndDestroy()
  if (how === 'close') socket?.destroy()
  if (how === 'rubbish') socket?.end('SSH-2.0-OpenSSH_9.6\r\n\r\n')
  if (how === 'end') response.end()
}

/** Whether the caller was there to the end. */
async function write(response: ServerResponse, bytes: Buffer, { drip_bytes = bytes.length }: Behaviour) {
  for (let at = 0; at < bytes.length; at += drip_bytes) {
    const piece = bytes.subarray(at, at + drip_bytes)
    // Waiting for the write keeps pieces apart on the wire, and makes a caller that reads slowly felt here.
    const is_written = await new Promise<boolean>((resolve) =>
      response.write(piece, (error) => resolve(!error && !response.socket?.destroyed)),
    )
    if (!is_written) return false
  }
  return true
}
