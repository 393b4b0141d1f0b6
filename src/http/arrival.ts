// How long a body may take to arrive (R2 → 408): as long as it keeps coming. One look at all connections every second,
// so that a request costs two assignments, and no timer of its own.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.ts'
import type { ClientError } from './answers.ts'

export interface ArrivalLimits {
  /** With nothing new. */
  idle_ms: number
  /** From when on a body must have come at the least pace, on average. */
  grace_ms: number
  bytes_per_second: number
  /** In all, whatever its pace. */
  total_ms: number
  /** Of a body whose request was answered before it had come: so much is read and dropped, then the connection ends. */
  dropped_bytes: number
}

export const ARRIVAL: ArrivalLimits = {
  idle_ms: 15_000,
  grace_ms: 15_000,
  bytes_per_second: 4_096,
  total_ms: 10 * 60_000,
  dropped_bytes: 64 * 1024 * 1024,
}

/** What is known of a body on its way. Time in which we did not read counts for nothing. */
export interface Arriving {
  waited_ms: number
  idle_ms: number
  bytes: number
}

export function isTooSlow({ waited_ms, idle_ms, bytes }: Arriving, limits: ArrivalLimits): boolean {
  if (idle_ms >= limits.idle_ms || waited_ms >= limits.total_ms) return true
  return waited_ms >= limits.grace_ms && bytes < (limits.bytes_per_second * waited_ms) / 1_000
}

interface Connection {
  request: IncomingMessage | undefined
  response: ServerResponse | undefined
  /** Undefined until a look finds the body of `request` still on its way. */
  watch: Watch | undefined
}

interface Watch extends Arriving {
  request: IncomingMessage
  looked_at: number
  read_bytes: number
}

/** Returns the look. Whoever is too slow is told as of any malformed request; who has had their answer, nothing. */
export function watchArrivals(server: Server, clock: Clock, limits: ArrivalLimits = ARRIVAL): () => void {
  const connections = new Map<Socket, Connection>()
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { request: undefined, response: undefined, watch: undefined })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (!connection) return
    connection.request = request
    connection.response = response
  })

  return () => {
    const now = clock.now()
    for (const [socket, connection] of connections) {
      const watch = lookAt(socket, connection, now)
      if (!watch) continue
      const answered = connection.response?.headersSent ?? false
      if (answered && watch.bytes > limits.dropped_bytes) socket.destroy()
      else if (isTooSlow(watch, limits)) end(socket, answered, watch.request)
    }
  }

  function end(socket: Socket, answered: boolean, { url }: IncomingMessage): void {
    if (answered) return void socket.destroy()
    const error: ClientError = Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT', url })
    server.emit('clientError', error, socket)
  }
}

/** Undefined where nothing is on its way. */
function lookAt({ bytesRead }: Socket, connection: Connection, now: number): Watch | undefined {
  const { request, watch } = connection
  if (!request || request.complete) {
    connection.request = undefined
    connection.response = undefined
    connection.watch = undefined
    return undefined
  }
  if (watch?.request !== request) {
    connection.watch = { request, looked_at: now, read_bytes: bytesRead, waited_ms: 0, idle_ms: 0, bytes: 0 }
    return undefined
  }
  const since_ms = now - watch.looked_at
  const came = bytesRead - watch.read_bytes
  const ours = request.readableLength >= request.readableHighWaterMark // we have not taken what came
  watch.looked_at = now
  watch.read_bytes = bytesRead
  watch.bytes += came
  if (!ours) watch.waited_ms += since_ms
  watch.idle_ms = !ours && came === 0 ? watch.idle_ms + since_ms : 0
  return watch
}
