// What a decision costs on Redis and in memory: the three limits of a request and a stream, on loopback.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import type { Ask, Counters } from '../../src/counters/counters.ts'
import { memoryCounters } from '../../src/counters/memory.ts'
import { redisCounters } from '../../src/counters/redis.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'
import { onServer } from '../support/redis-server.ts'
import { count, inLanes } from './asks.ts'
import { percentile } from './redis-load.ts'

const DECISIONS = 4_000
const WARMING = 4_000 // a script that is compiled half way would be measured otherwise
const LANES = 2 // more would measure how they wait for each other

export interface DecisionFigures {
  redis_p50_ms: number
  redis_p99_ms: number
  memory_p99_ms: number
  /** What a PING takes, in as many lanes: the least that any decision there could. */
  ping_p99_ms: number
  /** Of those at Redis, how many were made without it after all. */
  late: number
}

export async function measureDecisions(url: string): Promise<DecisionFigures> {
  const shared = await redisCounters({ url, rule: slidingWindow, process_id: 'measure', clock: systemClock })
  const told: boolean[] = []
  shared.watch({ onChange() {}, onDecision: (decision) => void told.push(decision.shared) })
  // Only what Redis decided is of interest here: where it was too slow for us, we wait until it is back.
  const onRedis: Counters = {
    ...shared,
    async take(...asked) {
      for (let tries = 0; shared.isAway() && tries < 1_000; tries++) await sleep(10)
      return shared.take(...asked)
    },
  }
  try {
    const in_memory = await timesOf(decisionsOf(memoryCounters(slidingWindow)))
    const in_redis = (await timesOf(decisionsOf(onRedis))).filter((_, n) => told[WARMING + n])
    return {
      redis_p50_ms: percentile(in_redis, 0.5),
      redis_p99_ms: percentile(in_redis, 0.99),
      memory_p99_ms: percentile(in_memory, 0.99),
      ping_p99_ms: percentile(await onServer(url, (redis) => timesOf(() => redis.ping())), 0.99),
      late: count(told, (is_shared) => !is_shared),
    }
  } finally {
    await shared.close()
  }
}

const decisionsOf = (counters: Counters) => async (n: number) => counters.take(asksOf(n % 100), systemClock.now())

async function timesOf(work: (n: number) => Promise<unknown>): Promise<number[]> {
  const times_ms: number[] = []
  await inLanes(LANES, Array.from({ length: WARMING + DECISIONS }).keys(), async (n) => {
    const started_ms = performance.now()
    await work(n)
    times_ms.push(performance.now() - started_ms)
    await new Promise((turn) => setImmediate(turn)) // as between requests
  })
  return times_ms.slice(WARMING)
}

function asksOf(n: number): Ask[] {
  const of_one = { subject: `measured ${n}`, home: `measured ${n}`, limit: 1e9, shadow: false }
  return [
    { layer: 'key', name: 'requests_per_minute', amount: 1, ...of_one },
    { layer: 'project', name: 'requests_per_minute', amount: 1, ...of_one },
    { layer: 'key', name: 'tokens_per_minute', amount: 900, ...of_one },
  ]
}
