// Which connections are between two requests, so that a stop closes those at once that have rested for a while, and
// every other one soon after its answer. Who has just connected, or just had an answer that told of no stop, may have a
// request on its way, and is answered too. Node alone cuts off an answer that is written but not yet sent to a slow
// client, and waits for a client that keeps its connection after a stream until that has been idle for over a minute.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export const REST_MS = 500 // after its beginning, or its last answer
/** For a head that has begun to come; a server that is closing looks after none by itself. */
const HEAD_WITHIN_MS = 10_000

interface Connection {
  answering: number
  /** Bytes read when the last answer was sent: more than that is the beginning of another request. */
  read_bytes: number
  /** When it began, or had its last answer. */
  resting_since: number
}

/** Replaces what the server's own close() and Fastify's call to part with idle connections. */
export function closeGracefully(server: Server, now_ms = () => performance.now()): void {
  const connections = new Map<Socket, Connection>()
  let closing = false

  /** Judged a turn of the event loop later: what had arrived by then is read in between. */
  const partWhenRested = (socket: Socket, connection: Connection) => {
    const since = connection.resting_since
    const left_ms = since + REST_MS - now_ms()
    const partWithIdle = (has_had_time = false) => {
      const { answering, read_bytes, resting_since } = connection
      // Who had another answer meanwhile is judged half a second after that.
      if (answering > 0 || resting_since !== since) return
      if (has_had_time || socket.bytesRead === read_bytes) socket.destroySoon()
      else setTimeout(partWithIdle, HEAD_WITHIN_MS, true)
    }
    const judge = () => void setImmediate(() => setImmediate(partWithIdle))
    if (left_ms > 0) setTimeout(judge, left_ms)
    else judge()
  }

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { answering: 0, read_bytes: 0, resting_since: now_ms() })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket)
    if (!connection) return
    connection.answering++
    response.once('close', () => {
      connection.answering--
      connection.read_bytes = socket.bytesRead
      connection.resting_since = now_ms()
      if (closing) partWhenRested(socket, connection)
    })
  })
  server.closeIdleConnections = () => {
    closing = true
    for (const [socket, connection] of connections) partWhenRested(socket, connection)
  }
}
