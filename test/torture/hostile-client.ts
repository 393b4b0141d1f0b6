// How victim and attacker of a hostile run speak to the servers: each from an address of its own, over all of them in
// turn, with connections that are kept.
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface Asking {
  method?: string
  path: string
  headers?: Record<string, string | string[]>
  /** An object becomes JSON. */
  body?: object | string | Buffer
  key?: string
  /** Which server; the next one in turn, where it is left out. */
  server?: number
  /** Reads no more than this, then leaves. */
  read_up_to?: number
  give_up_ms?: number
}

export interface Told {
  /** 0 where no head came. */
  status: number
  headers: IncomingHttpHeaders
  trailers: NodeJS.Dict<string>
  body: string
  /** Why it did not come to its end. */
  broken?: string | undefined
}

const GIVE_UP_MS = 30_000
const SOCKETS_MAX = 2_000

export type HostileClient = ReturnType<typeof hostileClient>

export function hostileClient(ports: readonly number[], address: string, key = '') {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX, localAddress: address })
  let turn = 0

  function open(asking: Asking): ClientRequest {
    const { method = 'GET', path, headers, body, server = turn++ } = asking
    const bytes = bytesOf(body)
    const outgoing = request({
      ...{ host: '127.0.0.1', port: ports[server % ports.length], agent, localAddress: address, method, path },
      headers: {
        authorization: `Bearer ${asking.key ?? key}`,
        ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
        ...headers,
      },
    })
    outgoing.end(bytes)
    return outgoing
  }

  /** Never rejects. */
  function send(asking: Asking): Promise<Told> {
    return new Promise((resolve) => {
      const outgoing = open(asking)
      const { give_up_ms = GIVE_UP_MS, read_up_to = Number.POSITIVE_INFINITY } = asking
      const told: Told = { status: 0, headers: {}, trailers: {}, body: '' }
      const end = (broken?: string) => {
        clearTimeout(patience)
        resolve({ ...told, broken })
      }
      const patience = setTimeout(() => {
        outgoing.destroy()
        end(`no whole answer within ${give_up_ms / 1_000} s`)
      }, give_up_ms)
      outgoing.once('error', (error) => end(error.message))
      outgoing.once('response', (incoming) => {
        told.status = incoming.statusCode ?? 0
        told.headers = incoming.headers
        hear(incoming, read_up_to, (body, broken) => {
          Object.assign(told, { body, trailers: incoming.trailers })
          end(broken)
        })
      })
    })
  }

  return { send, open, close: () => agent.destroy() }
}

const KEPT_BYTES = 64 * 1024 // of an answer; whoever reads lists of a hundred megabytes need not hold them

function hear(incoming: IncomingMessage, read_up_to: number, done: (body: string, broken?: string) => void): void {
  const parts: Buffer[] = []
  let bytes = 0
  incoming.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes < KEPT_BYTES) parts.push(part)
    if (bytes >= read_up_to) incoming.destroy()
  })
  incoming.on('error', () => {}) // `complete` tells
  incoming.once('close', () =>
    done(Buffer.concat(parts).toString(), incoming.complete ? undefined : `ended after ${bytes} bytes`),
  )
}

const bytesOf = (body: Asking['body']) =>
  body === undefined || Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
