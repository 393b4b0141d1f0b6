// Load at a steady rate over several servers, and what became of every request: when it was sent and answered, and how.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reply, Sending } from './recording-client.ts'

export interface Heard {
  what: string
  sent_ms: number
  heard_ms: number
  /** 0 where there was no answer. */
  status: number
}

type Send = (sending: Sending) => Promise<Reply>

const IN_FLIGHT_MAX = 500
const MINUTE_MS = 60_000

export interface Stream {
  what: string
  every_ms: number
  sending: Sending
}

/** Each stream goes round the servers by itself, so that none of them sees all of a key. */
export function steadyLoad(servers: readonly Send[], streams: readonly Stream[]) {
  const heard: Heard[] = []
  const under_way = new Set<Promise<void>>()
  let stopped = false

  async function one({ what, sending }: Stream, server: Send): Promise<void> {
    const sent_ms = performance.now()
    const status = await server(sending).then(
      (reply) => reply.status,
      () => 0,
    )
    heard.push({ what, sent_ms, heard_ms: performance.now(), status })
  }

  async function run(stream: Stream): Promise<void> {
    const started_ms = performance.now()
    for (let n = 0; !stopped; n++) {
      await sleep(Math.max(0, started_ms + n * stream.every_ms - performance.now()))
      if (under_way.size >= IN_FLIGHT_MAX) continue
      const asking = one(stream, servers[n % servers.length] as Send).finally(() => under_way.delete(asking))
      under_way.add(asking)
    }
  }

  const runs = streams.map(run)
  return {
    heard,
    async stop(): Promise<void> {
      stopped = true
      await Promise.all(runs)
      await Promise.all(under_way)
    },
  }
}

/** The most that were surely let through within 60 seconds: sent after they began and answered before they ended. */
export function surelyWithin60s(passed: readonly Heard[]): number {
  const by_sending = [...passed].sort((a, b) => a.sent_ms - b.sent_ms)
  let most = 0
  for (let from = 0; from < by_sending.length; from++) {
    const begin_ms = (by_sending[from] as Heard).sent_ms
    let count = 0
    for (let at = from; at < by_sending.length; at++) {
      const one = by_sending[at] as Heard
      if (one.sent_ms >= begin_ms + MINUTE_MS) break
      if (one.heard_ms < begin_ms + MINUTE_MS) count++
    }
    most = Math.max(most, count)
  }
  return most
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
