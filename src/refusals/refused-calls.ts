// Refused generations on their way to the store (R80): kept in memory and written in bulk, like their counts, so that
// whoever floods us with requests that are refused makes us write a few rows a minute. What a crash loses is the last
// few seconds. Everything here is bounded, and most of it by project: nobody's refusals push out another's.
import type { Clock } from '../core/clock.ts'
import {
  ALIKE_KEPT,
  alikeName,
  CALLS_PER_MINUTE,
  minuteOf,
  type Refused,
  type RefusedCall,
  refusedCall,
} from './refused-call.ts'

const WAITING_MAX = 5_000 // some megabytes
const WAITING_OF_PROJECT_MAX = 2 * CALLS_PER_MINUTE
const GROUPS_MAX = 5_000
const FLUSH_MAX = 200 // written in one go: bounds how long a flush holds the store
const TRIM_EVERY = 100 // rows of a project: what it has beyond its quota is looked for this often
const TRIMMED_MAX = 10_000

/** What a flush needs of the store. */
export interface CallRecorder {
  /** Inserts, or adds to the count of what is there. */
  add(calls: readonly RefusedCall[]): Promise<void>
  /** Lets go of what the project has beyond its quota. */
  trim(project_id: string): Promise<void>
}

/** To be written: `call.count` is what the store does not have yet. */
interface Waiting {
  call: RefusedCall
  is_written: boolean
}

/** Equal refusals of one minute. */
interface Group {
  first: Waiting
  kept: number
}

export type RefusedCalls = ReturnType<typeof refusedCalls>

export function refusedCalls(recorder: CallRecorder, clock: Clock, onLost: () => void) {
  let minute = 0
  const groups = new Map<string, Group>()
  const kept_of = new Map<string, number>() // by project, in this minute
  const waiting = new Map<string, Waiting>() // by trace id
  const waiting_of = new Map<string, number>() // by project: those that are in no store yet
  const since_trim = new Map<string, number>()

  function turnTo(now_minute: number): void {
    if (now_minute === minute) return
    minute = now_minute
    groups.clear()
    kept_of.clear()
  }

  const hasRoom = (project_id: string) =>
    waiting.size < WAITING_MAX &&
    groups.size < GROUPS_MAX &&
    (kept_of.get(project_id) ?? 0) < CALLS_PER_MINUTE &&
    (waiting_of.get(project_id) ?? 0) < WAITING_OF_PROJECT_MAX

  function keep(refused: Refused, now: number): Waiting {
    const { trace_id, project_id } = refused.asked
    const one = { call: refusedCall(refused, now), is_written: false }
    waiting.set(trace_id, one)
    add(kept_of, project_id, 1)
    add(waiting_of, project_id, 1)
    return one
  }

  /** Equal ones are counted where the first of them is. */
  function countOn({ first }: Group): void {
    first.call.count++
    waiting.set(first.call.trace_id, first)
  }

  async function write(part: readonly Waiting[]): Promise<void> {
    const written = part.map(({ call }) => ({ ...call }))
    await recorder.add(written)
    for (const [at, one] of part.entries()) {
      one.call.count -= written[at]?.count ?? 0
      if (one.call.count === 0) waiting.delete(one.call.trace_id)
      if (one.is_written) continue
      one.is_written = true
      add(waiting_of, one.call.project_id, -1)
    }
  }

  /** At a project's first rows here, and at every hundredth. */
  async function trim(written: ReadonlyMap<string, number>): Promise<void> {
    if (since_trim.size > TRIMMED_MAX) since_trim.clear()
    for (const [project_id, rows] of written) {
      const since = (since_trim.get(project_id) ?? TRIM_EVERY) + rows
      if (since >= TRIM_EVERY) await recorder.trim(project_id)
      since_trim.set(project_id, since % TRIM_EVERY)
    }
  }

  return {
    note(refused: Refused): void {
      const now = clock.now()
      turnTo(minuteOf(now))
      const name = alikeName(refused)
      const group = groups.get(name)
      const is_kept = (group?.kept ?? 0) < ALIKE_KEPT && hasRoom(refused.asked.project_id)
      if (group) {
        countOn(group)
        if (!is_kept) return
        keep(refused, now)
        group.kept++
      } else if (is_kept) groups.set(name, { first: keep(refused, now), kept: 1 })
      else onLost()
    },

    /** What the store has of a call, with what it does not have yet. */
    withWaiting(project_id: string, trace_id: string, stored: RefusedCall | undefined): RefusedCall | undefined {
      const one = waiting.get(trace_id)
      if (!one || one.call.project_id !== project_id) return stored
      if (stored) return { ...stored, count: stored.count + (one.is_written ? one.call.count : 0) }
      return one.is_written ? undefined : { ...one.call }
    },

    /** Those of a project that are in no store yet. */
    waitingOf(project_id: string): RefusedCall[] {
      if (!waiting_of.has(project_id)) return []
      const all = [...waiting.values()].filter(({ call, is_written }) => !is_written && call.project_id === project_id)
      return all.map(({ call }) => ({ ...call }))
    },

    /** What is written is let go of only then; what came meanwhile stays. */
    async flush(): Promise<void> {
      // In one order everywhere: two replicas that write the same rows must not wait for each other.
      const all = [...waiting.values()].sort((a, b) => (a.call.trace_id < b.call.trace_id ? -1 : 1))
      const fresh = new Map<string, number>()
      for (const { call, is_written } of all) if (!is_written) add(fresh, call.project_id, 1)
      for (let start = 0; start < all.length; start += FLUSH_MAX) await write(all.slice(start, start + FLUSH_MAX))
      await trim(fresh)
    },
  }
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const sum = (counts.get(name) ?? 0) + by
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}
