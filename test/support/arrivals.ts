// Arrivals that limiters get wrong, and how to tell that one did: the most that it let through in any 60 seconds.

import type { WindowRule } from '../../src/counters/cell-table.ts'
import type { Ask, Verdict } from '../../src/counters/counters.ts'
import { memoryCounters } from '../../src/counters/memory.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'
import { NOON } from './clock.ts'
import { type Dice, diceFrom } from './fuzz-values.ts'

/** When something arrives, and what the limiter's clock says then. */
export interface Arrival {
  at: number
  clock: number
}

const MINUTE = 60_000

const ask = (limit: number, amount = 1): Ask => ({
  layer: 'key',
  name: 'requests_per_minute',
  subject: 'key_1',
  home: 'prj_1',
  limit,
  amount,
  shadow: false,
})

/** One limit that one client meets, over a rule that may be wrong. */
export function limiter(limit: number, rule: WindowRule = slidingWindow) {
  const counters = memoryCounters(rule)
  return (now: number, amount = 1) => counters.take([ask(limit, amount)], now) as Verdict
}

/** When those arrived that were let through. */
export function admitted(limit: number, arrivals: readonly Arrival[], rule?: WindowRule): number[] {
  const take = limiter(limit, rule)
  return arrivals.filter(({ clock }) => take(clock).kind === 'taken').map(({ at }) => at)
}

/** The most of them in any 60 seconds, wherever those begin. */
export function peak(times: readonly number[]): number {
  let most = 0
  let from = 0
  for (let to = 0; to < times.length; to++) {
    while ((times[to] as number) - (times[from] as number) >= MINUTE) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}

const trueClock = (times: readonly number[]): Arrival[] => times.map((at) => ({ at, clock: at }))

/** Everything just before a minute ends and just after the next has begun; and a little less than a minute apart. */
const boundary = (limit: number, count: number) =>
  repeat(count, (n) => {
    const burst = Math.floor(n / limit)
    const within_ms = [59_999, 60_000, 150_999, 210_000][burst % 4] as number
    return n === 0 ? NOON : NOON + Math.floor(burst / 4) * 5 * MINUTE + within_ms
  })

/** Bursts at the very end of a second, so that a window by the millisecond sees more than one by the second. */
const lateBursts = (limit: number, count: number, dice: Dice) => {
  let second = 0
  return repeat(count, (n) => {
    if (n % Math.ceil(limit / 3) === 0) second += 1 + dice.below(30)
    return NOON + second * 1_000 + 999
  })
}

const flood = (count: number) => repeat(count, (n) => NOON + n)

const random = (count: number, dice: Dice) => {
  let at = NOON
  let gap_ms = 1
  return repeat(count, (n) => {
    if (n % 500 === 0) gap_ms = 1 + dice.below(400)
    at += dice.below(2 * gap_ms)
    return at
  })
}

/** A flood, while somebody keeps setting the limiter's clock back. */
const setBack = (count: number, dice: Dice): Arrival[] => {
  let behind = 0
  return flood(count).map((at, n) => {
    if (n % 5_000 === 4_999) behind += 1 + dice.below(25 * 60 * MINUTE)
    return { at, clock: at - behind }
  })
}

/** F7. */
export function adversarial(limit: number, count: number): Record<string, Arrival[]> {
  const dice = diceFrom(7)
  return {
    boundary: trueClock(boundary(limit, count)),
    'late bursts': trueClock(lateBursts(limit, count, dice)),
    flood: trueClock(flood(count)),
    random: trueClock(random(count, dice)),
    'clock set back': setBack(count, dice),
  }
}

/** At exactly the limit, evenly. */
export const steady = (limit: number, count: number): Arrival[] =>
  trueClock(repeat(count, (n) => NOON + Math.floor((n * MINUTE) / limit)))

const repeat = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** Planted: a count that begins anew with each minute. */
export const fixedWindow: WindowRule = {
  size: 61,
  place: () => 0,
  expire(counts, base, newest_s, now_s) {
    if (Math.floor(newest_s / 60) === Math.floor(now_s / 60)) return 0
    const expired = counts[base] as number
    counts[base] = 0
    return expired
  },
  wait: (_counts, _base, now_s) => 60 - (now_s % 60),
}

/** Planted: sixty seconds, the one under way among them. */
export const sixtySeconds: WindowRule = {
  size: 60,
  place: (second) => second % 60,
  expire(counts, base, newest_s, now_s) {
    let expired = 0
    for (let second = Math.max(newest_s + 1, now_s - 59); second <= now_s; second++) {
      expired += counts[base + (second % 60)] as number
      counts[base + (second % 60)] = 0
    }
    return expired
  },
  wait(counts, base, now_s, needed) {
    let gone = 0
    for (let waited_s = 1; waited_s <= 60; waited_s++) {
      gone += counts[base + ((now_s + waited_s) % 60)] as number
      if (gone >= needed) return waited_s
    }
    return 60
  },
}

/** Planted: says the time to wait rounded down, as by the millisecond it often is. */
export const roundedDown: WindowRule = {
  ...slidingWindow,
  wait: (...asked) => Math.max(1, slidingWindow.wait(...asked) - 1),
}

/** Planted: says that a whole minute must pass, which is safe and not true. */
export const wholeMinute: WindowRule = { ...slidingWindow, wait: () => 61 }
