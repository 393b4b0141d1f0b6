// What this replica itself let through, second by second, for as long as a window remembers. It is told to Redis where
// Redis does not know of it: after Redis was away, or has forgotten.
interface Entry {
  cell: string
  second: number
  amount: number
}

export const ENTRIES_MAX = 200_000 // some 30 MB; whoever comes from so many addresses may find the oldest forgotten

/** `size`: how many seconds a window has. Seconds are the store's. */
export function ownRecord(size: number, entries_max = ENTRIES_MAX) {
  /** By second, then by cell; seconds in the order in which they came. */
  const known = seconds(size) // Redis counts it as well
  const unknown = seconds(size) // Redis has yet to hear of it

  function add(to: Seconds, { second, cell, amount }: Entry): void {
    to.add(second, cell, amount)
    while (known.count() + unknown.count() > entries_max) (known.count() > 0 ? known : unknown).forgetOldest()
  }

  return {
    addKnown: (entry: Entry) => add(known, entry),
    addUnknown: (entry: Entry) => add(unknown, entry),

    /** Whether it was on record as unknown to Redis, so that nobody else needs to be told. */
    correctUnknown: ({ second, cell, amount }: Entry): boolean => unknown.correct(second, cell, amount),
    correctKnown: ({ second, cell, amount }: Entry): boolean => known.correct(second, cell, amount),

    /** Redis has forgotten everything. */
    forgetKnown(now_s: number): void {
      for (const entry of known.drain(Number.POSITIVE_INFINITY, now_s))
        unknown.add(entry.second, entry.cell, entry.amount)
    },

    /** Up to so many that Redis has yet to hear of; from now on they count as known. */
    tell(count: number, now_s: number): Entry[] {
      const told = unknown.drain(count, now_s)
      for (const entry of told) known.add(entry.second, entry.cell, entry.amount)
      return told
    },
  }
}

type Seconds = ReturnType<typeof seconds>

function seconds(size: number) {
  const kept = new Map<number, Map<string, number>>()
  let entries = 0

  function forget(second: number, cells: ReadonlyMap<string, number>): void {
    kept.delete(second)
    entries -= cells.size
  }

  function forgetBefore(newest: number): void {
    for (const [second, cells] of kept) {
      if (newest - second < size) return
      forget(second, cells)
    }
  }

  function open(second: number): Map<string, number> {
    const cells = new Map<string, number>()
    kept.set(second, cells)
    forgetBefore(second)
    return cells
  }

  return {
    count: () => entries,

    add(second: number, cell: string, amount: number): void {
      const cells = kept.get(second) ?? open(second)
      const had = cells.get(cell)
      if (had === undefined) entries++
      cells.set(cell, (had ?? 0) + amount)
    },

    correct(second: number, cell: string, by: number): boolean {
      const cells = kept.get(second)
      const had = cells?.get(cell)
      if (had === undefined) return false
      cells?.set(cell, Math.max(0, had + by))
      return true
    },

    forgetOldest(): void {
      const [oldest] = kept
      if (oldest) forget(...oldest)
    },

    /** Takes out up to so many that still count. */
    drain(count: number, now_s: number): Entry[] {
      const drained: Entry[] = []
      forgetBefore(now_s)
      for (const [second, cells] of kept) {
        for (const [cell, amount] of cells) {
          if (drained.length >= count) return drained
          cells.delete(cell)
          entries--
          if (amount > 0) drained.push({ second, cell, amount })
        }
        kept.delete(second)
      }
      return drained
    },
  }
}
