// R78: what may be much work, a few pieces of one project at a time. The others of that project wait here, and not in
// front of somebody else's in a queue that all share; too many of them are refused.
import type { Pace } from './paced.ts'
import { Refusal } from './refusal.ts'

interface Lane {
  running: number
  waiting: (() => void)[]
}

interface Bounds {
  at_once: number
  waiting_max: number
  /** A place is taken for longer than the work in it, where that work takes more than its share of the time. */
  pace?: Pace
}

export type InLane = ReturnType<typeof lanes>

export function lanes({ at_once, waiting_max, pace }: Bounds) {
  const all = new Map<string, Lane>()

  function leave(name: string, lane: Lane): void {
    const next = lane.waiting.shift()
    if (next) next()
    else if (--lane.running === 0) all.delete(name)
  }

  /** `spent_ms`: what it has had of its pace before. */
  return async function inLane<T>(name: string, work: (spent_ms: number) => Promise<T>): Promise<T> {
    const lane = all.get(name) ?? { running: 0, waiting: [] }
    all.set(name, lane)
    if (lane.running < at_once) lane.running++
    else if (lane.waiting.length >= waiting_max) throw tooMany(waiting_max)
    else await new Promise<void>((resolve) => void lane.waiting.push(resolve)) // it is handed a place
    const from_ms = pace?.now_ms() ?? 0
    try {
      return await work(pace?.spent(name) ?? 0)
    } finally {
      const rest_ms = pace?.restAfter(name, pace.now_ms() - from_ms) ?? 0
      if (rest_ms > 0) setTimeout(leave, rest_ms, name, lane).unref()
      else leave(name, lane)
    }
  }
}

const tooMany = (most: number) =>
  new Refusal('rate_limited', `This project reads too much at a time: ${most} requests wait for others of its own.`, {
    headers: { 'retry-after': '1' },
  })
