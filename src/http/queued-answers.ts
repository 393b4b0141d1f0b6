// Requests that a client sends behind another one, without waiting for its answer (pipelining). Node tells only the
// answer whose turn it is that the connection has closed: those behind it hear it here, or what they hold would be held
// for good.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Hardly a client sends any; each may hold a file or memory while it waits. */
const QUEUED_MAX = 64

export function closeQueued(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>()

  function queueOf(socket: Socket): Set<ServerResponse> {
    const known = queues.get(socket)
    if (known) return known
    const queue = new Set<ServerResponse>()
    queues.set(socket, queue)
    socket.once('close', () => {
      for (const response of queue) {
        response.destroyed = true
        response.emit('close')
      }
    })
    return queue
  }

  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket) return // its turn
    const queue = queueOf(socket)
    queue.add(response)
    response.once('socket', () => queue.delete(response)) // from here on Node tells it
    if (queue.size > QUEUED_MAX) socket.destroy()
  })
}
