// Replicas that count on one Redis, each as a process of its own would: for what must hold between them.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { Ask, SharedCounters, Verdict } from '../../src/counters/counters.ts'
import { redisCounters } from '../../src/counters/redis.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'

export const freshPrefix = () => `{test ${randomBytes(8).toString('hex')}}`

export interface ReplicaOptions {
  prefix?: string
  /** Undefined: the time is what a caller says it is, for Redis too. */
  clock?: Clock | undefined
  process_id?: string
  answer_ms?: number
  settling_ms?: number
}

export async function replicaOn(url: string, options: ReplicaOptions = {}): Promise<SharedCounters> {
  const { prefix = freshPrefix(), clock, process_id = 'one', ...more } = options
  const counters = await redisCounters({ url, rule: slidingWindow, process_id, clock, prefix, ...more })
  onTestFinished(() => counters.close())
  return counters
}

/** They know of each other, and go by the clocks that they are given. */
export async function replicasOn(url: string, count: number, options: (n: number) => ReplicaOptions = () => ({})) {
  const prefix = freshPrefix()
  const ids = Array.from({ length: count }, (_, n) => `replica ${n}`)
  const all = await Promise.all(
    ids.map((process_id, n) =>
      replicaOn(url, { prefix, clock: systemClock, process_id, settling_ms: 100, ...options(n) }),
    ),
  )
  for (const one of all) one.shareAmong(ids)
  return { all, prefix }
}

/** How many of so many tries are let through, one after the other, each at the next replica. */
export async function passing(all: readonly SharedCounters[], tries: number, one: Ask): Promise<number> {
  let passed = 0
  for (let n = 0; n < tries; n++) {
    const verdict: Verdict = await (all[n % all.length] as SharedCounters).take([one], systemClock.now())
    if (verdict.kind === 'taken') passed++
  }
  return passed
}

export async function untilAll(all: readonly SharedCounters[], away: boolean, within_ms = 20_000): Promise<number> {
  const started_ms = performance.now()
  while (!all.every((one) => one.isAway() === away)) {
    if (performance.now() - started_ms > within_ms) throw new Error(`not within ${within_ms} ms`)
    await sleep(10)
  }
  return performance.now() - started_ms
}
