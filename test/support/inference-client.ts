// A client that sees all of an answer: head, bytes, trailers, and whether it came to its end. It can also leave.
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'

export interface Heard {
  status: number
  headers: Record<string, string>
  trailers: Record<string, string>
  bytes: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
  json: any
  /** False where the connection broke before the answer had ended. */
  complete: boolean
}

export interface Asking {
  method?: string
  headers?: Record<string, string>
  /** Sent as it is; an object becomes JSON. */
  body?: unknown
  /** Without one, each call has a connection of its own. */
  agent?: Agent
}

export interface OpenCall {
  /** The whole answer, or what there was of it. Rejects where not even a head came. */
  heard: Promise<Heard>
  /** As soon as the head is here. */
  head: Promise<IncomingMessage>
  /** As soon as the body has this text in it. */
  says(text: string): Promise<void>
  /** Breaks the connection off. */
  leave(): void
}

export function openCall(origin: string, path: string, asking: Asking = {}): OpenCall {
  const { method = 'POST', headers, body, agent = false } = asking
  const bytes = bytesOf(body)
  const sent = request(`${origin}${path}`, {
    method,
    agent,
    headers: { ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }), ...headers },
  })
  const head = headOf(sent)
  const listeners = new Set<(text: string) => void>()
  const heard = head.then((response) => hear(response, listeners))
  heard.catch(() => {}) // a call that leaves is not always asked what it heard
  sent.end(bytes)
  return {
    head,
    heard,
    says: (wanted) =>
      new Promise((resolve, reject) => {
        listeners.add((text) => text.includes(wanted) && resolve())
        heard.then(({ text }) => reject(new Error(`it never said '${wanted}', but: ${text}`)), reject)
      }),
    leave: () => void sent.destroy(),
  }
}

const bytesOf = (body: unknown) =>
  body === undefined || Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

function headOf(sent: ClientRequest): Promise<IncomingMessage> {
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve)
    sent.on('error', reject)
  })
  head.catch(() => {})
  return head
}

function hear(response: IncomingMessage, listeners: ReadonlySet<(text: string) => void>): Promise<Heard> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    response.on('data', (part: Buffer) => {
      parts.push(part)
      for (const listen of listeners) listen(Buffer.concat(parts).toString('utf8'))
    })
    response.on('error', () => {}) // `complete` tells
    response.once('close', () => {
      const bytes = Buffer.concat(parts)
      const text = bytes.toString('utf8')
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers as Record<string, string>,
        trailers: response.trailers as Record<string, string>,
        bytes,
        text,
        json: parsed(text),
        complete: response.complete,
      })
    })
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The data of each event, in order. */
export const eventsIn = ({ text }: Pick<Heard, 'text'>): string[] =>
  text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice('data: '.length)] : []))

/** What the chunks of a chat stream say, put together. */
export const saidIn = (heard: Pick<Heard, 'text'>): string =>
  eventsIn(heard)
    .map((data) => (parsed(data) as { choices?: { delta?: { content?: string } }[] } | undefined)?.choices?.[0])
    .map((choice) => choice?.delta?.content ?? '')
    .join('')

/** §10.2, R41: what the answer says it cost, whether in its head or behind its body. */
export function moneyIn({ headers, trailers }: Pick<Heard, 'headers' | 'trailers'>): number | undefined {
  const told = headers['agent-charged-micros'] ?? trailers['agent-charged-micros']
  return told === undefined ? undefined : Number(told)
}

/** As `Agent-Hints` has them. */
export const hintsHeader = (hints: object) => ({
  'agent-hints': Buffer.from(JSON.stringify(hints)).toString('base64url'),
})
