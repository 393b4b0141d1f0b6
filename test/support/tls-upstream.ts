// For processes that call a TLS upstream: the upstream, and calls to it one after another.
import { readFileSync } from 'node:fs'
import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { UpstreamError } from '../../src/providers/provider.ts'
import { openUpstream, type UpstreamOptions } from '../../src/providers/upstream.ts'

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))

export const tlsServer = (answer: RequestListener): Server =>
  createServer({ key: fixture('localhost.key'), cert: fixture('localhost.crt') }, answer)

export const portOf = (server: NetServer) => (server.address() as AddressInfo).port
export const listening = (server: NetServer) => new Promise<void>((done) => void server.listen(0, 'localhost', done))

/** What came of so many calls over one connection: the answer's text, or what failed. */
export async function outcomesOf(origin: string, options: Partial<UpstreamOptions>, times: number): Promise<string[]> {
  const wire = openUpstream(origin, { connections: 1, ...options })
  const timeouts = { first_byte_ms: 5_000, idle_ms: 5_000 }
  const outcomes: string[] = []
  for (let n = 0; n < times; n++) {
    const sent = wire.send({ method: 'GET', path: '/', headers: {}, timeouts }, new AbortController().signal)
    const outcome = sent.then(async (answer) => String(await answer.whole()))
    outcomes.push(await outcome.catch((error) => (error instanceof UpstreamError ? error.failure : String(error))))
  }
  await wire.close()
  return outcomes
}
