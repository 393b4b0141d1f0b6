// How many connections are taken in a turn of the event loop. Node takes one of each listening socket (libuv since
// 1.45), so that with turns of ten milliseconds a hundred new clients a second wait for seconds, and the probe of a
// balancer among them. Further sockets on the same port (SO_REUSEPORT) are as many more a turn.
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, createServer, type ListenOptions, type Server as NetServer } from 'node:net'

const SOCKETS = 8

/** Node 22.12 and 23.1 were the first to know the option; others leave it out without a word. */
export function mayReusePort(version = process.versions.node, platform: string = process.platform): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const is_known = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
  return is_known && platform === 'linux' // elsewhere the system gives all connections to the last socket
}

export interface FurtherSockets {
  /** Takes no more of them; resolves once all that it took have ended. */
  close(): Promise<void>
}

/** Beside that of a server that listens with `reusePort`. Their connections are the server's like any other. */
export async function furtherSockets(
  server: Server,
  options: ListenOptions,
  count = SOCKETS - 1,
): Promise<FurtherSockets> {
  const { address: host, port } = server.address() as AddressInfo
  const like_http = { allowHalfOpen: true, noDelay: true } // as node:http has its own
  const sockets = Array.from({ length: count }, () =>
    createServer(like_http, (connection) => void server.emit('connection', connection)),
  )
  const close = () => Promise.all(sockets.map(closed)).then(() => {})
  try {
    await Promise.all(sockets.map((one) => once(one.listen({ ...options, host, port, reusePort: true }), 'listening')))
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

const closed = (socket: NetServer) => new Promise<void>((resolve) => void socket.close(() => resolve()))
