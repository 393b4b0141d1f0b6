// Requests that a client sends behind another one, without waiting for its answer (pipelining). Node tells only the
// answer whose turn it is that the connection has closed: those behind it hear it here, or what they hold would be held
// for good.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Hardly a client sends any; each that is not answered may hold a file or memory while it waits. */
const QUEUED_MAX = 64
const JUDGED_AFTER_MS = 1_000 // what is quick is answered by then

export function closeQueued(server: Server, after_ms = JUDGED_AFTER_MS): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>()
  const to_judge = new WeakSet<Socket>()

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
    if (queue.size <= QUEUED_MAX || to_judge.has(socket)) return
    to_judge.add(socket)
    setTimeout(judge, after_ms, socket, queue).unref()
  })

  function judge(socket: Socket, queue: ReadonlySet<ServerResponse>): void {
    to_judge.delete(socket)
    let unanswered = 0
    for (const { writableEnded } of queue) if (!writableEnded) unanswered++
    if (unanswered > QUEUED_MAX) socket.destroy()
  }
}
