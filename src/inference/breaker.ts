// A circuit breaker per target: five failures in a row and it is left alone for 30 s; then a single call finds out
// whether it is back, while all others still go elsewhere.
import { type Clock, SECOND_MS } from '../core/clock.ts'

const FAILURES_MAX = 5
const OPEN_MS = 30 * SECOND_MS
const TARGETS_MAX = 10_000

export interface Breakers {
  /** For whoever is about to dial: true may be the one probe. To look without taking it, ask for the state. */
  allows(target_id: string): boolean
  succeeded(target_id: string): void
  failed(target_id: string): void
  state(target_id: string): 'closed' | 'open' | 'half_open'
  /** How long it will still be left alone; undefined where it is not. */
  openForMs(target_id: string): number | undefined
  /** Targets that are left alone now, or wait for the one call that finds out. */
  notClosed(): string[]
}

/** Only targets that failed last are known at all. */
interface Trouble {
  failures: number
  opened_at: number | undefined
  probed_at: number | undefined
}

export function breakers(clock: Clock): Breakers {
  const troubles = new Map<string, Trouble>()

  const passed = (since: number | undefined) => since === undefined || clock.now() - since >= OPEN_MS

  function stateOf(trouble: Trouble | undefined): ReturnType<Breakers['state']> {
    if (trouble?.opened_at === undefined) return 'closed'
    return passed(trouble.opened_at) ? 'half_open' : 'open'
  }

  function noteNew(target_id: string): Trouble {
    const trouble: Trouble = { failures: 0, opened_at: undefined, probed_at: undefined }
    // The target that has been in trouble for the longest is forgotten, and gets five more tries.
    for (const oldest of troubles.keys()) {
      if (troubles.size < TARGETS_MAX) break
      troubles.delete(oldest)
    }
    troubles.set(target_id, trouble)
    return trouble
  }

  return {
    allows(target_id) {
      const trouble = troubles.get(target_id)
      const state = stateOf(trouble)
      if (!trouble || state !== 'half_open') return state === 'closed'
      // A probe that nobody tells the end of must not keep the target out for good.
      if (!passed(trouble.probed_at)) return false
      trouble.probed_at = clock.now()
      return true
    },

    succeeded(target_id) {
      // What was on its way when the circuit opened, and ends well, says nothing about the next call.
      if (stateOf(troubles.get(target_id)) !== 'open') troubles.delete(target_id)
    },

    failed(target_id) {
      const trouble = troubles.get(target_id) ?? noteNew(target_id)
      const state = stateOf(trouble)
      if (state === 'open') return
      trouble.failures++
      if (trouble.failures < FAILURES_MAX) return
      trouble.opened_at = clock.now()
    },

    state: (target_id) => stateOf(troubles.get(target_id)),

    openForMs(target_id) {
      const trouble = troubles.get(target_id)
      if (trouble?.opened_at === undefined || stateOf(trouble) !== 'open') return undefined
      return trouble.opened_at + OPEN_MS - clock.now()
    },

    notClosed: () => [...troubles].flatMap(([id, trouble]) => (stateOf(trouble) === 'closed' ? [] : [id])),
  }
}
