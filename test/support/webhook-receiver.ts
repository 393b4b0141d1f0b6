// A receiver of webhooks on a real socket: what came, in its order, and an answer that the test chooses.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

interface Answer {
  status: number
  body?: string
  headers?: Record<string, string>
}

export interface Receiver {
  url: string
  received: Received[]
  /** Of each request; undefined: none ever comes. */
  answer: (received: Received) => Answer | undefined
  /** In place of it, where a test holds its answers. */
  later?: (received: Received) => Promise<Answer>
  close(): Promise<void>
}

export async function webhookReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const receiver: Omit<Receiver, 'url'> = {
    received,
    answer: () => ({ status: 200, body: 'ok' }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  const server: Server = createServer((request, reply) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', async () => {
      const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString() }
      received.push(one)
      const answer = receiver.later ? await receiver.later(one) : receiver.answer(one)
      if (answer) reply.writeHead(answer.status, answer.headers).end(answer.body ?? '')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/hook` })
}
