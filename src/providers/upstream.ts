// The wire to an upstream: HTTP/1.1 over connections that are kept. Written here rather than taken from a library,
// because undici 7, the last that runs on Node 20, takes the whole process down when an upstream closes its connection
// while a slow client holds the answer back; and because most of what a proxied call costs is its HTTP client.
import type { StopSignal } from '../core/stop-signal.ts'
import type { GuardedLookup } from './address-policy.ts'
import { connectionsTo } from './connections.ts'
import { Exchange } from './exchange.ts'
import type { ProviderAnswer, StreamedBody, Timeouts } from './provider.ts'

const CONNECT_MS = 5_000

export interface Upstream {
  /** Redirects are answers like others: they are never followed (T-84). */
  send(request: UpstreamRequest, signal: StopSignal): Promise<ProviderAnswer>
  /** Keeps no connection any more. Calls in flight, and those that still come, end as they would have. */
  retire(): void
  /** At once: whatever is in flight fails. */
  close(): Promise<void>
}

export interface UpstreamRequest {
  method: 'POST' | 'GET' | 'PUT'
  /** Below the base address; the base's own query, where it has one, goes along. */
  path: string
  headers: Readonly<Record<string, string>>
  /** More headers, in the same object on every call: they are checked and written down once. */
  standing?: Readonly<Record<string, string>>
  body?: Buffer
  /** In its place: what is read as it is sent. */
  source?: StreamedBody
  timeouts: Timeouts
}

export interface UpstreamOptions {
  /** How many calls at once, and at least one; further ones wait for a connection. */
  connections: number
  connect_ms?: number
  /** Judges the address of every dial (R12). */
  lookup?: GuardedLookup
  /** What it is reached through. */
  proxy?: URL | undefined
}

export function openUpstream(base_url: string, options: UpstreamOptions): Upstream {
  const url = new URL(base_url)
  if (!/^https?:$/.test(url.protocol)) throw new Error('an upstream is dialled by http or https')
  const { connections, connect_ms = CONNECT_MS, lookup, proxy } = options
  const pool = connectionsTo(url, { connections, connect_ms, lookup, proxy })
  const headOf = requestHead(url)
  return {
    send: (request, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const { body, source, timeouts } = request
        new Exchange(pool, { head: headOf(request), body, source, timeouts }, signal, { resolve, reject }).begin()
      }),
    retire: pool.retire,
    close: pool.close,
  }
}

const FRAMING = /^(host|content-length|transfer-encoding|connection|upgrade|expect|te|trailer|keep-alive)$/i
const TOKEN = /^[!#-'*+.\w^`|~-]+$/
const UNSAFE_VALUE = /[^\t -~\u0080-\u00ff]/
const UNSAFE_PATH = /[^!-~]/

/** What cannot be said in HTTP is refused before anything is sent: a line break would become a header, or a request. */
function requestHead({ pathname, search, host }: URL): (request: UpstreamRequest) => string {
  const prefix = pathname.replace(/\/$/, '')
  const written = new WeakMap<UpstreamRequest['headers'], string>()

  function once(standing: UpstreamRequest['headers']): string {
    const known = written.get(standing)
    if (known !== undefined) return known
    const lines = headerLines(standing)
    written.set(standing, lines)
    return lines
  }

  return ({ method, path, headers, standing, body, source }) => {
    const target = prefix + path + (path.includes('?') ? search.replace('?', '&') : search)
    if (UNSAFE_PATH.test(target)) throw new TypeError(`'${path}' is no path that can be sent`)
    const lines = headerLines(headers) + (standing ? once(standing) : '')
    const bytes = body?.length ?? source?.bytes
    const length = bytes === undefined ? '' : `content-length: ${bytes}\r\n`
    return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n${lines}${length}\r\n`
  }
}

function headerLines(headers: UpstreamRequest['headers']): string {
  let lines = ''
  for (const name of Object.keys(headers)) {
    const value = headers[name] as string
    if (!TOKEN.test(name) || FRAMING.test(name) || UNSAFE_VALUE.test(value))
      throw new TypeError(`the header '${name}' cannot be sent`)
    lines += `${name}: ${value}\r\n`
  }
  return lines
}
