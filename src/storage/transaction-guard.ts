// Inside a transaction, the outer db would wait for the very transaction that waits for it, or silently use a second
// connection. Tests open their databases with this guard, so that the mistake dies in its first test. Production
// runs without it: following every promise costs more than a statement.
import { AsyncLocalStorage } from 'node:async_hooks'

export interface TransactionGuard {
  enter<T>(work: () => Promise<T>): Promise<T>
  assertOutside(): void
}

export const noGuard: TransactionGuard = { enter: (work) => work(), assertOutside: () => {} }

export function strictGuard(): TransactionGuard {
  const inside = new AsyncLocalStorage<true>()
  return {
    enter: (work) => inside.run(true, work),
    assertOutside() {
      if (inside.getStore()) throw new Error('inside a transaction, use the tx it was handed')
    },
  }
}
