// R78: what may be much work, a few pieces of one project at a time. The others of that project wait here, and not in
// front of somebody else's in a queue that all share; too many of them are refused.
import { Refusal } from './refusal.ts'

interface Lane {
  running: number
  waiting: (() => void)[]
}

interface Bounds {
  at_once: number
  waiting_max: number
}

export type InLane = ReturnType<typeof lanes>

export function lanes({ at_once, waiting_max }: Bounds) {
  const all = new Map<string, Lane>()

  return async function inLane<T>(name: string, work: () => Promise<T>): Promise<T> {
    const lane = all.get(name) ?? { running: 0, waiting: [] }
    all.set(name, lane)
    if (lane.running < at_once) lane.running++
    else if (lane.waiting.length >= waiting_max) throw tooMany(waiting_max)
    else await new Promise<void>((resolve) => void lane.waiting.push(resolve)) // it is handed a place
    try {
      return await work()
    } finally {
      const next = lane.waiting.shift()
      if (next) next()
      else if (--lane.running === 0) all.delete(name)
    }
  }
}

const tooMany = (most: number) =>
  new Refusal('rate_limited', `This project reads too much at a time: ${most} requests wait for others of its own.`, {
    headers: { 'retry-after': '1' },
  })
