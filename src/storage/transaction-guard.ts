// Inside a transaction, the outer db would wait for the very transaction that waits for it, or silently use a second
// connection. Tests open their databases with this guard, so that the mistake dies in its first test. Production
// runs without it: following every promise costs more than a statement.
import { AsyncLocalStorage } from 'node:async_hooks'

export interface TransactionGuard {
  enter<T>(work: () => Promise<T>): Promise<T>
  assertOutside(): void
}

export const noGuard: TransactionGuard = { enter: (work) => work(), assertOutside: () => {} }

/** The transactions that this code runs in, the innermost first, each of another database. */
interface Inside {
  guard: TransactionGuard
  outer: Inside | undefined
}

// One for all databases: each further one would be carried along by every promise of the process.
const insides = new AsyncLocalStorage<Inside>()

export function strictGuard(): TransactionGuard {
  const guard: TransactionGuard = {
    enter: (work) => insides.run({ guard, outer: insides.getStore() }, work),
    assertOutside() {
      for (let inside = insides.getStore(); inside; inside = inside.outer) {
        if (inside.guard === guard) throw new Error('inside a transaction, use the tx it was handed')
      }
    },
  }
  return guard
}
