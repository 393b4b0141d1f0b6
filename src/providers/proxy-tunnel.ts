// A connection through a proxy (RFC 9110, section 9.3.6): CONNECT, its answer, and then the upstream's own bytes.
import { isIPv6, connect as netConnect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'

const HEAD_MAX_BYTES = 16 * 1024

export interface Tunnel {
  host: string
  port: number
  /** Until the proxy has answered. */
  connect_ms: number
}

/** Dials the proxy and asks it for the upstream. `done` is told once. */
export function openTunnel(proxy: URL, to: Tunnel, done: (error?: Error) => void): Socket {
  const host = proxy.hostname.replace(/^\[|\]$/g, '')
  const is_secure = proxy.protocol === 'https:'
  const port = Number(proxy.port) || (is_secure ? 443 : 80)
  const socket = is_secure ? tlsConnect({ host, port, servername: host }) : netConnect({ host, port })
  let head = Buffer.alloc(0)
  const late = setTimeout(
    () => socket.destroy(new Error(`no answer of the proxy within ${to.connect_ms} ms`)),
    to.connect_ms,
  )

  const finish = (error?: Error) => {
    clearTimeout(late)
    socket.off('data', take).off('error', finish).off('close', closed)
    if (error) socket.on('error', () => {}).destroy()
    done(error)
  }
  const closed = () => finish(new Error('the proxy closed the connection'))
  const take = (bytes: Buffer) => {
    head = Buffer.concat([head, bytes])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return head.length > HEAD_MAX_BYTES ? finish(new Error('the proxy says too much')) : undefined
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1', 0, end))?.[1]
    if (status?.[0] !== '2') return finish(new Error(`the proxy refused: status ${status ?? 'unknown'}`))
    // Nothing may come before we have said something: TLS begins with the client.
    finish(head.length > end + 4 ? new Error('the proxy sent more than its answer') : undefined)
  }
  socket.once(is_secure ? 'secureConnect' : 'connect', () => void socket.write(connectRequest(proxy, to)))
  return socket.on('data', take).on('error', finish).on('close', closed)
}

function connectRequest({ username, password }: URL, { host, port }: Tunnel): string {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  const authorization = username === '' ? '' : `proxy-authorization: Basic ${secret}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorization}\r\n`
}
