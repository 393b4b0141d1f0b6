// Sends keyed POSTs as fast as node:http does, and records what each of them came to.
import { hash } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { Operation, Resource } from './checker.ts'

/** One thing to be done once, however often it is asked for. */
export interface Ask {
  path: string
  key: string
  name: string
  body: string
}

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface Sending {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export type Client = ReturnType<typeof client>

const GIVE_UP_MS = 30_000

export function client(port: number, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_024 })

  /** Rejects where the connection ends before a whole answer. */
  function send({ method = 'GET', path, headers, body }: Sending): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        ...{ host: '127.0.0.1', port, agent, method, path, timeout: GIVE_UP_MS },
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      })
      outgoing.once('error', reject)
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${GIVE_UP_MS} ms`)))
      outgoing.once('response', (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.once('error', reject)
        incoming.once('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) }),
        )
      })
      outgoing.end(body)
    })
  }

  return {
    send,

    /** Never rejects: what happened is in the record. */
    async post({ path, key, name, body }: Ask): Promise<Operation> {
      const invoked_ms = performance.now()
      const record = { path, key, name, invoked_ms }
      try {
        const reply = await send({ method: 'POST', path, headers: { 'agent-idempotency-key': key }, body })
        return { ...record, settled_ms: performance.now(), ...answered(path, reply) }
      } catch {
        return { ...record, settled_ms: performance.now(), outcome: 'unknown' }
      }
    },

    async list(path: string): Promise<Resource[]> {
      const { status, body } = await send({ path })
      if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${body.toString()}`)
      return JSON.parse(body.toString()).data.map((item: Record<string, unknown>) => resource(path, item))
    },

    close: () => agent.destroy(),
  }
}

function answered(path: string, { status, headers, body }: Reply): Omit<Operation, keyof Ask | `${string}_ms`> {
  if (status < 200 || status > 299) {
    const malformed = formOf({ status, headers, body })
    return { outcome: 'fail', status, ...(malformed !== undefined && { malformed }) }
  }
  return {
    outcome: 'ok',
    status,
    replayed: headers['agent-idempotent-replay'] === 'true',
    answer_hash: hash('sha256', `${status} ${headers['content-type']} ${body.toString('latin1')}`),
    resource: resource(path, JSON.parse(body.toString())),
  }
}

/** R2: every refusal is in the envelope, and one that asks to come back says when. */
function formOf({ status, headers, body }: Reply): string | undefined {
  const text = body.toString()
  try {
    const { message, type } = JSON.parse(text).error
    if (typeof message !== 'string' || typeof type !== 'string') return `${status}: ${text.slice(0, 100)}`
  } catch {
    return `${status}: ${text.slice(0, 100)}`
  }
  return status === 503 && !/^\d+$/.test(String(headers['retry-after'])) ? '503 without Retry-After' : undefined
}

/** The raw key is told once only, and the last use moves on: everything else is there for good. */
function resource(path: string, { key: _, last_used_at: __, ...fields }: Record<string, unknown>): Resource {
  const fields_hash = hash('sha256', JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))))
  return { path, id: String(fields.id), name: String(fields.name), fields_hash }
}
