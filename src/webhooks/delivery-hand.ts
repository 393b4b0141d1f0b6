// What a turn has in hand of its channel's queue: of each subject the events that wait, in their order, and which
// subjects are being sent. A subject has one event on its way at a time.
import { bySubject } from '../notifications/notification-delivery.ts'
import type { Waiting } from '../notifications/queue-store.ts'

export function deliveryHand() {
  const subjects = new Map<string, Waiting[]>()
  const ready = new Set<string>()
  const ids = new Set<string>()
  /** Whose events changed while the store is being asked; what it says of them may be old. */
  let touched: Set<string> | undefined

  function drop(subject: string, rows: readonly Waiting[]): void {
    for (const { id } of rows) ids.delete(id)
    subjects.delete(subject)
    ready.delete(subject)
  }

  return {
    /** Rows in hand, those on their way included. */
    size: () => ids.size,
    ready: () => ready.size,

    /** Takes what `look` finds and is not in hand yet. True where some were left, since they changed meanwhile. */
    async fill(look: () => Promise<readonly Waiting[]>): Promise<boolean> {
      const meanwhile = new Set<string>()
      touched = meanwhile
      const found = await look()
      touched = undefined
      const unknown = found.filter(({ id }) => !ids.has(id))
      const fresh = unknown.filter(({ subject }) => !meanwhile.has(subject))
      for (const rows of bySubject(fresh)) {
        const subject = (rows[0] as Waiting).subject
        const known = subjects.get(subject)
        if (known) known.push(...rows)
        else {
          subjects.set(subject, rows)
          ready.add(subject)
        }
        for (const { id } of rows) ids.add(id)
      }
      return fresh.length < unknown.length
    },

    /** The next of the subject that has waited longest; none of that subject goes until it has ended. */
    next(): Waiting | undefined {
      const [subject] = ready
      if (subject === undefined) return undefined
      ready.delete(subject)
      return subjects.get(subject)?.[0]
    },

    /** It was taken or given up, and the next of its subject may go; or else the subject rests. */
    ended({ id, subject }: Waiting, may_go_on: boolean): void {
      touched?.add(subject)
      const rows = subjects.get(subject) ?? []
      rows.shift()
      ids.delete(id)
      if (!may_go_on || rows.length === 0) drop(subject, rows)
      else ready.add(subject)
    },
  }
}
