// One call to a platform: the headers that the adapters above would send anyway, and those that prove who asks.
import type { StopSignal } from '../../core/stop-signal.ts'
import type { ProviderAnswer } from '../provider.ts'
import type { Upstream, UpstreamRequest } from '../upstream.ts'

export interface Proving {
  method: 'POST'
  url: string
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/** Headers that prove who asks; or the answer that the platform would give, where it is known ahead. */
export type Prove = (request: Proving, signal: StopSignal) => Promise<Record<string, string>>

interface Calling {
  path: string
  body: Buffer
  accept: string
  /** Of the request that this is made of, or others. */
  headers: Readonly<Record<string, string>>
  timeouts: UpstreamRequest['timeouts']
}

export type PlatformCall = (calling: Calling, signal: StopSignal) => Promise<ProviderAnswer>

export function platformCaller(upstream: Upstream, base_url: string, prove: Prove): PlatformCall {
  const { origin, pathname, search } = new URL(base_url)
  const prefix = pathname.replace(/\/$/, '')
  return async ({ path, body, accept, headers, timeouts }, signal) => {
    const content = { 'content-type': 'application/json', accept }
    const url = `${origin}${prefix}${path}${search}`
    const proof = await prove({ method: 'POST', url, headers: content, body }, signal)
    return upstream.send(
      { method: 'POST', path, headers: { ...headers, ...content, ...proof }, body, timeouts },
      signal,
    )
  }
}

/** Content has headers of its own there, and what is Anthropic's is said elsewhere. */
export function plainHeaders({ headers, standing }: UpstreamRequest): Record<string, string> {
  const kept = Object.entries({ ...standing, ...headers }).filter(
    ([name]) => !name.startsWith('anthropic-') && name !== 'content-type' && name !== 'accept',
  )
  return Object.fromEntries(kept)
}
