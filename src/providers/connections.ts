// Connections to one upstream: dialled up to a bound, kept for the next call, never shared by two calls at once. Every
// dial goes through the guarded lookup, where there is one (R12).
import { isIP, connect as netConnect, Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import type { GuardedLookup } from './address-policy.ts'
import { openTunnel } from './proxy-tunnel.ts'

/** Waits for a connection. */
export interface Waiter {
  ready(connection: Connection): void
  failed(error: unknown): void
}

/** Has the connection to itself until it gives it back. */
export interface Holder {
  bytes(bytes: Buffer): void
  closed(error: Error | undefined): void
}

export interface Connection {
  readonly socket: Socket
  holder: Holder | undefined
  idle_timer: NodeJS.Timeout | undefined
  idle_ms: number
}

export interface DialOptions {
  /** How many at the most; one, where it says none: calls would wait for nothing. */
  connections: number
  connect_ms: number
  lookup: GuardedLookup | undefined
  /** What upstreams over https are reached through. */
  proxy?: URL | undefined
}

const TCP_KEEP_ALIVE_MS = 60_000
/**
 * What every read goes into, whoever's it is: Node calls back before the next one. A socket that reads for itself takes
 * 64 KB and a stream's machinery for an event of a hundred bytes. On Windows reads are under way at the same time.
 */
const READ_INTO = process.platform === 'win32' ? undefined : Buffer.allocUnsafeSlow(64 * 1024)
const UNUSED_MS = 4_000 // for a connection whose caller had left by the time it stood

export type Connections = ReturnType<typeof connectionsTo>

export function connectionsTo(url: URL, options: DialOptions) {
  const open = new Set<Connection>()
  const dialling = new Set<Dial>()
  const idle: Connection[] = [] // the last one used is used first, so that what is not needed ages
  const waiting = new Set<Waiter>()
  const dial = dialler(url, options)
  const open_max = Math.max(1, options.connections)
  let is_retired = false
  let is_closed = false

  /** As many dials under way as there are calls without a connection, within the bound. */
  function dialMissing(): void {
    while (dialling.size < waiting.size && open.size + dialling.size < open_max) {
      const started = dial((error, socket, reads) => {
        dialling.delete(started)
        if (error || !socket) firstWaiting()?.failed(error)
        else adopt(socket, reads)
        dialMissing()
      })
      dialling.add(started)
    }
  }

  function firstWaiting(): Waiter | undefined {
    const [waiter] = waiting
    if (waiter) waiting.delete(waiter)
    return waiter
  }

  function adopt(socket: Socket, reads: Reads | undefined): void {
    const connection: Connection = { socket, holder: undefined, idle_timer: undefined, idle_ms: 0 }
    let failure: Error | undefined
    open.add(connection)
    const take = (bytes: Buffer) => {
      if (connection.holder) connection.holder.bytes(bytes)
      else socket.destroy() // nobody asked for anything
    }
    if (reads) reads.take = take
    else socket.on('data', take)
    socket.on('error', (error: Error) => {
      failure = error
    })
    socket.on('close', () => {
      open.delete(connection)
      const at = idle.indexOf(connection)
      if (at !== -1) idle.splice(at, 1)
      clearTimeout(connection.idle_timer)
      connection.holder?.closed(failure)
      dialMissing()
    })
    offer(connection, UNUSED_MS)
  }

  function offer(connection: Connection, idle_ms: number): void {
    const waiter = firstWaiting()
    if (waiter) {
      waiter.ready(connection)
    } else if (is_retired || is_closed) {
      connection.socket.destroy()
    } else {
      idle.push(connection)
      connection.socket.unref()
      keepFor(connection, idle_ms)
    }
  }

  return {
    take(waiter: Waiter): void {
      const connection = idle.findLast(({ socket }) => socket.writable) // what is closing says so only later
      if (is_closed) {
        waiter.failed(new Error('the upstream is closed'))
      } else if (connection) {
        idle.splice(idle.indexOf(connection), 1)
        connection.socket.ref()
        waiter.ready(connection)
      } else {
        waiting.add(waiter)
        dialMissing()
      }
    },

    /** Somebody waits no longer. A dial that was under way for them serves the next. */
    leave(waiter: Waiter): void {
      waiting.delete(waiter)
    },

    /** The call is over; the connection may wait this long for the next one. */
    give(connection: Connection, idle_ms: number): void {
      connection.holder = undefined
      if (idle_ms > 0) offer(connection, idle_ms)
      else connection.socket.destroy()
    },

    /** Keeps no connection any more; a call that still comes gets one of its own. */
    retire(): void {
      is_retired = true
      for (const { socket } of [...idle]) socket.destroy()
    },

    /** At once: whatever is in flight fails. */
    async close(): Promise<void> {
      is_closed = true
      for (const waiter of [...waiting]) waiter.failed(new Error('the upstream was closed'))
      waiting.clear()
      const sockets = [...dialling, ...open].flatMap(({ socket }) => socket ?? [])
      await Promise.all(sockets.map(destroyed))
    },
  }
}

function keepFor(connection: Connection, idle_ms: number): void {
  if (connection.idle_timer && connection.idle_ms === idle_ms) return void connection.idle_timer.refresh()
  clearTimeout(connection.idle_timer)
  connection.idle_ms = idle_ms
  connection.idle_timer = setTimeout(() => {
    if (!connection.holder) connection.socket.destroy()
  }, idle_ms).unref()
}

function destroyed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve()
    socket.once('close', () => resolve())
    socket.destroy(new Error('the upstream was closed')) // without an error, a cut body could pass for a whole one
  })
}

type Dialled = (error: unknown, socket?: Socket, reads?: Reads) => void

/** Who gets what is read, where a socket does not tell of it by events. */
interface Reads {
  take(bytes: Buffer): void
}

/** Each read is handed on as a copy of its own, which may be kept. */
function readingFor(reads: Reads) {
  if (!READ_INTO) return undefined
  const callback = (length: number, buffer: Uint8Array) => {
    const bytes = Buffer.allocUnsafe(length)
    bytes.set(length < buffer.length ? buffer.subarray(0, length) : buffer)
    reads.take(bytes)
    return true
  }
  return { onread: { buffer: READ_INTO, callback } }
}

/** A dial under way: what it waits for now can be destroyed. */
interface Dial {
  socket: Socket | undefined
}

function dialler(url: URL, { connect_ms, lookup, proxy }: DialOptions): (done: Dialled) => Dial {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const is_secure = url.protocol === 'https:'
  const port = Number(url.port) || (is_secure ? 443 : 80)
  const named = isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {} // an address has no name to ask for
  let session: Buffer | undefined // a handshake that is taken up again costs one round trip less

  const secured = (over: object) => {
    const socket = tlsConnect({ ...over, ...named, ALPNProtocols: ['http/1.1'], ...(session && { session }) })
    return socket.on('session', (fresh) => {
      session = fresh
    })
  }

  function direct(done: Dialled): Dial {
    const reads: Reads = { take: () => {} }
    const onread = readingFor(reads)
    const target = { host, port, ...(lookup && { lookup }), ...onread }
    const refused = lookup && isIP(host) !== 0 ? lookup.judge(host) : undefined // no lookup sees a literal address
    const socket = refused ? new Socket() : is_secure ? secured(target) : netConnect(target)
    whenConnected(socket, { connect_ms, is_secure }, (error) => {
      // Judged once more where it has really arrived, before a byte of the request leaves.
      const wrong = error ?? lookup?.judge(socket.remoteAddress ?? '')
      if (wrong) socket.on('error', () => {}).destroy()
      done(wrong, socket, onread && reads)
    })
    if (refused) socket.destroy(refused)
    return { socket }
  }

  /** Which address the name leads to is the proxy's to say: where that matters, it is resolved and judged here. */
  function tunnelled(through: URL, done: Dialled): Dial {
    const dial: Dial = { socket: undefined }
    const reach = (address: string) => {
      const tunnel = openTunnel(through, { host: address, port, connect_ms }, (error) => {
        if (error) return done(error)
        const socket = secured({ socket: tunnel })
        dial.socket = socket
        whenConnected(socket, { connect_ms, is_secure }, (failure) => {
          if (failure) socket.on('error', () => {}).destroy()
          done(failure, socket)
        })
      })
      dial.socket = tunnel
    }
    const refused = lookup && isIP(host) !== 0 ? lookup.judge(host) : undefined
    if (refused) setImmediate(done, refused)
    else if (!lookup || isIP(host) !== 0) reach(host)
    else lookup(host, { all: false }, (error, address) => (error ? done(error) : reach(address as string)))
    return dial
  }

  return (done) => (proxy ? tunnelled(proxy, done) : direct(done))
}

interface Connecting {
  connect_ms: number
  is_secure: boolean
}

function whenConnected(socket: Socket, { connect_ms, is_secure }: Connecting, done: (error?: Error) => void): void {
  socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS)
  const late = setTimeout(() => socket.destroy(new Error(`no connection within ${connect_ms} ms`)), connect_ms)
  const failed = (error: Error) => finish(error)
  const closed = () => finish(new Error('closed while dialling'))
  const finish = (error?: Error) => {
    clearTimeout(late)
    socket.off('error', failed).off('close', closed)
    done(error)
  }
  socket.once('error', failed).once('close', closed)
  socket.once(is_secure ? 'secureConnect' : 'connect', () => finish())
}
