// The wire to an identity provider: our own, with its time-outs and bounds, for a library that asks for a `fetch`. The
// issuer's own address is the operator's word, like a provider's. Other addresses that it names go through the guard of
// customers' addresses (R12).
import { SECOND_MS } from '../core/clock.ts'
import { type AddressPolicy, assertDialable, guardedLookup } from '../providers/address-policy.ts'
import { upTo } from '../providers/first-bytes.ts'
import { type ProxySettings, proxyFor } from '../providers/outbound-proxy.ts'
import { openUpstream } from '../providers/upstream.ts'

const CONNECT_MS = 5 * SECOND_MS
const TIMEOUTS = { first_byte_ms: 8 * SECOND_MS, idle_ms: 5 * SECOND_MS, total_ms: 10 * SECOND_MS }
const ANSWER_MAX = 512 * 1024

export interface WireNeeds {
  policy: AddressPolicy
  proxy?: ProxySettings | undefined
  user_agent: string
}

/** What the library hands over. */
interface Asked {
  method: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal
}

export type IssuerFetch = (url: string, asked: Asked) => Promise<Response>

/** Redirects are answers like others, and an answer that is too long is none. */
export function issuerFetch(issuer: string, { policy, proxy, user_agent }: WireNeeds): IssuerFetch {
  const { origin: home } = new URL(issuer)
  const lookup = guardedLookup(policy)
  return async (text, { method, headers, body, signal }) => {
    const url = new URL(text)
    const is_home = url.origin === home
    if (!is_home) assertDialable(text, policy)
    const guard = is_home ? {} : { lookup }
    const wire = openUpstream(url.origin, {
      connections: 1,
      connect_ms: CONNECT_MS,
      ...guard,
      proxy: proxyFor(url, proxy),
    })
    try {
      const sent = body === undefined || body === null ? {} : { body: Buffer.from(String(body)) }
      const answer = await wire.send(
        {
          method: method === 'POST' ? 'POST' : 'GET',
          path: url.pathname + url.search,
          headers: { ...headers, 'user-agent': user_agent },
          timeouts: TIMEOUTS,
          ...sent,
        },
        signal ?? new AbortController().signal,
      )
      const { bytes, is_whole } = await upTo(ANSWER_MAX, answer)
      if (!is_whole) throw new Error(`${url.host} answered with more than ${ANSWER_MAX} bytes`)
      return responseOf(answer.status, answer.content_type, bytes)
    } finally {
      await wire.close()
    }
  }
}

/** These have no body, whatever was sent. */
const BODILESS = [204, 205, 304]

const responseOf = (status: number, content_type: string, bytes: Buffer) =>
  new Response(BODILESS.includes(status) ? null : new Uint8Array(bytes), {
    status: status < 200 ? 502 : status,
    headers: { 'content-type': content_type },
  })
