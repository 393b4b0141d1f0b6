// The service on a real socket, for what no request object can express: malformed HTTP, repeated headers, bodies that
// drip, clients that leave.
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
  body: any
}

export async function listenOn(app: FastifyInstance) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo

  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
    })

  return {
    port,
    open,
    /** Sends bytes as they are and waits until the server closes: say `Connection: close`, or send something broken. */
    async raw(bytes: string | Buffer): Promise<RawAnswer> {
      const socket = await open()
      const answer = untilClosed(socket)
      socket.write(bytes)
      return answer
    },
  }
}

export function untilClosed(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => void chunks.push(chunk as Buffer))
    socket.on('error', () => {}) // a reset after the answer is the server's right
    socket.once('close', () => resolve(parse(Buffer.concat(chunks).toString('utf8'))))
  })
}

function parse(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  // What follows the first answer, as after a request that was taken for two, is not part of it.
  const length = headers['content-length']
  const body = Buffer.from(rest.join('\r\n\r\n'))
    .subarray(0, length ? Number(length) : undefined)
    .toString()
  return { status: Number(statusLine.split(' ')[1]), headers, body: asJson(body) }
}

/** What is no JSON is left for the test to look at. */
function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
