// The connection state of Redis, and how it is restored (R50). One answer that is late or wrong, and nobody waits for
// it any more; meanwhile one caller at a time asks, in the background, until it answers. Pauses grow and differ from
// replica to replica, so that a Redis that comes back, or is slow, is not overrun by whoever missed it.
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFraction } from '../core/ids.ts'
import { isLockedOut, type Link } from './redis-link.ts'

export const ANSWER_MS = 75 // R50: with what follows, a decision takes less than 100 ms
const PAUSE_MIN_MS = 50
const PAUSE_MAX_MS = 700
/**
 * How long a replica keeps to its share after Redis is back, telling it meanwhile what it lets through: longer than any
 * other takes to find it back, so that Redis has heard of everybody before anybody believes its counts.
 */
export const SETTLING_MS = 1_500
const SETTLING_TURNS = 10
const BEAT_MS = 1_000 // so that a flush is noticed also by who has no requests
const STEADY_MS = 10_000 // who leaves us sooner than this after coming back is asked again later and later

export class Forgotten extends Error {
  constructor() {
    super('Redis has forgotten what was counted')
  }
}

export interface SessionNeeds {
  /** `onEnd`: whoever is at the other end has hung up. */
  dial(onEnd: (reason: Error) => void): Promise<Link>
  settling_ms: number
  /** Tells Redis what it has missed. Rejects where it does not answer after all. */
  resync(link: Link, turn: 'connect' | 'settling' | 'beat'): Promise<'first' | 'same' | 'forgotten'>
  onChange(change: { away: boolean; reason?: Error }): void
}

export function redisSession({ dial, settling_ms, resync, onChange }: SessionNeeds) {
  let link: Link | undefined
  let shared = false
  let closed = false
  let shared_since_ms = 0
  let setbacks = 0
  let recovering = false

  async function tryOnce(): Promise<void> {
    try {
      const current = link ?? (await dial((reason) => lost(current, reason)))
      link = current
      if ((await resync(current, 'connect')) !== 'first') await settle(current)
      if (closed || link !== current) throw new Error('Redis hung up')
      shared = true
      shared_since_ms = performance.now()
      onChange({ away: false })
    } catch (error) {
      link?.drop()
      link = undefined
      throw error
    }
  }

  /** By time, not by turns: where each answer takes long, nobody keeps to a share for longer. */
  async function settle(current: Link): Promise<void> {
    let since_ms = performance.now()
    do {
      await sleep(settling_ms / SETTLING_TURNS, undefined, { ref: false })
      if ((await resync(current, 'settling')) === 'forgotten') since_ms = performance.now()
    } while (!closed && performance.now() - since_ms < settling_ms)
  }

  async function beat(): Promise<void> {
    const current = shared ? link : undefined
    if (!current) return
    try {
      if ((await resync(current, 'beat')) === 'forgotten') lost(current, new Forgotten())
    } catch (error) {
      lost(current, error as Error)
    }
  }
  const beating = setInterval(beat, BEAT_MS).unref()

  async function recover(at_once = false): Promise<void> {
    if (recovering) return
    recovering = true
    for (let tries = at_once ? 0 : 1; !closed && !shared; tries++) {
      if (setbacks > 0 && tries > 0) await sleep(pauseAfter(setbacks), undefined, { ref: false })
      if (!closed) await tryOnce().catch(() => setbacks++)
    }
    recovering = false
  }

  /** Of what was asked of `from`: its answer failed to come, or was none. */
  function lost(from: Link, reason: Error): void {
    if (from !== link || !shared) return
    setbacks = performance.now() - shared_since_ms < STEADY_MS ? setbacks + 1 : 0
    shared = false
    onChange({ away: true, reason })
    void recover(reason instanceof Forgotten) // it answers well: others may already believe counts that lack ours
  }

  return {
    /** Who to ask; undefined while it is away. */
    link: () => (shared ? link : undefined),
    lost,

    /** Rejects only where Redis does not want us; one that does not answer is waited for in the background. */
    async start(): Promise<void> {
      try {
        await tryOnce()
      } catch (error) {
        if (isLockedOut(error)) throw error
        setbacks = 1
        onChange({ away: true, reason: error as Error })
        void recover()
      }
    },

    async close(): Promise<void> {
      closed = true
      clearInterval(beating)
      const last = link
      const was_shared = shared
      shared = false
      link = undefined
      if (was_shared) await Promise.race([last?.quit(), sleep(ANSWER_MS, undefined, { ref: false })])
      last?.drop()
    },
  }
}

const pauseAfter = (setbacks: number) =>
  Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(setbacks, 10)) * (0.5 + randomFraction() / 2)

/** Rejects after `ms`, unless the answer lies there already and only this process was too busy to read it. */
export function answeredWithin<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`Redis did not answer within ${ms} ms`))
    const timer = setTimeout(() => setImmediate(late), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
