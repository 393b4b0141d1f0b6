// Which connections are between two requests, so that a stop closes those at once and every other one soon after its
// answer: a stream that began before the stop told its client that the connection is kept, so another request may be
// on its way, and is answered too. Node alone cuts off an answer that is written but not yet sent to a slow client, and
// waits for a client that keeps its connection after a stream until that has been idle for over a minute.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const REST_MS = 500 // after an answer that ended while the server stops

interface Connection {
  answering: number
  /** Bytes read when the last answer was sent: more than that is the beginning of another request. */
  read_bytes: number
}

/** Replaces what the server's own close() and Fastify's call to part with idle connections. */
export function closeGracefully(server: Server): void {
  const connections = new Map<Socket, Connection>()
  let closing = false

  const partWithIdle = (socket: Socket, { answering, read_bytes }: Connection) => {
    if (answering === 0 && socket.bytesRead === read_bytes) socket.destroySoon()
  }

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { answering: 0, read_bytes: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket)
    if (!connection) return
    connection.answering++
    response.once('close', () => {
      connection.answering--
      connection.read_bytes = socket.bytesRead
      if (closing) setTimeout(() => partWithIdle(socket, connection), REST_MS)
    })
  })
  server.closeIdleConnections = () => {
    closing = true
    for (const [socket, connection] of connections) partWithIdle(socket, connection)
  }
}
