// Refusals are counted in memory and written in bulk every few seconds: whoever floods us with requests that are
// refused must not make us write for each of them. What a crash loses is those seconds.
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { hourOf, type RefusalCount, type RefusalKind } from './refusal-kind.ts'

export const FLUSH_EVERY_MS = 5 * SECOND_MS
const CELLS_MAX = 20_000 // a few megabytes
const FLUSH_MAX = 1_000 // written in one go: bounds how long a flush holds the store

/** What a flush needs of the store. */
export interface CountRecorder {
  add(counts: readonly RefusalCount[]): Promise<void>
}

export type RefusalTally = ReturnType<typeof refusalTally>

export function refusalTally(recorder: CountRecorder, clock: Clock, onLost: () => void) {
  const pending = new Map<string, RefusalCount>()

  return {
    note(project_id: string, kind: RefusalKind): void {
      const hour_ms = hourOf(clock.now())
      const name = `${project_id} ${hour_ms} ${kind}`
      const cell = pending.get(name)
      if (cell) cell.count++
      else if (pending.size < CELLS_MAX) pending.set(name, { project_id, hour_ms, kind, count: 1 })
      else onLost()
    },

    /** What was counted here and is not written yet. */
    pendingOf: (project_id: string): RefusalCount[] =>
      [...pending.values()].filter((cell) => cell.project_id === project_id),

    /** What is written is taken off only then; what was counted meanwhile stays. */
    async flush(): Promise<void> {
      // In one order everywhere: two replicas that write the same rows must not wait for each other.
      const names = [...pending.keys()].sort()
      for (let start = 0; start < names.length; start += FLUSH_MAX) {
        const part = names.slice(start, start + FLUSH_MAX).flatMap((name) => {
          const cell = pending.get(name)
          return cell ? [{ name, cell, written: { ...cell } }] : []
        })
        await recorder.add(part.map(({ written }) => written))
        for (const { name, cell, written } of part) {
          cell.count -= written.count
          if (cell.count === 0) pending.delete(name)
        }
      }
    },
  }
}
