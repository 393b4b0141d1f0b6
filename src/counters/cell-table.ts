// A bounded number of counted cells in typed arrays (T-74). However many subjects come, memory ends at the capacity,
// and what must go is what nobody misses: a cell whose minute has passed, or else the one that rested longest. Cells
// that are at half their limit or beyond stand in a list of their own and go last, so that nobody gets a fresh count
// by flooding new subjects.

/** How a cell counts: over `size` numbers that begin at `base`, one for each second that it remembers. */
export interface WindowRule {
  readonly size: number
  /** Where the number of a second stands. */
  place(second: number): number
  /** Clears what no longer counts, and returns how much it was. */
  expire(counts: Uint32Array, base: number, newest_s: number, now_s: number): number
  /** After how many seconds at least `needed` no longer count. */
  wait(counts: Uint32Array, base: number, now_s: number, needed: number): number
}

const SLAB_BITS = 10 // cells come by the thousand, so that memory is taken as it is needed
const SLAB_CELLS = 1 << SLAB_BITS
const COUNT_MAX = 0xffff_ffff
const NONE = 0xffff_ffff

export function cellTable(rule: WindowRule, capacity: number) {
  const { size } = rule
  const [TOTAL, NEWEST, BEFORE, AFTER, LIST] = [size, size + 1, size + 2, size + 3, size + 4] as const
  const stride = size + 5
  const slabs: Uint32Array[] = []
  const indices = new Map<string, Map<string, number>>() // by name, then by subject
  const homes: Map<string, number>[] = [] // by index: where it is known, and as whose
  const subjects: string[] = []
  const first = [NONE, NONE]
  const last = [NONE, NONE]
  let busy = 0 // how many stand in the second list

  const slabOf = (index: number) => slabs[index >>> SLAB_BITS] as Uint32Array
  const baseOf = (index: number) => (index & (SLAB_CELLS - 1)) * stride
  const read = (index: number, word: number) => slabOf(index)[baseOf(index) + word] as number
  const write = (index: number, word: number, value: number) => {
    slabOf(index)[baseOf(index) + word] = value
  }

  function unlink(index: number): void {
    const before = read(index, BEFORE)
    const after = read(index, AFTER)
    const list = read(index, LIST)
    if (before === NONE) first[list] = after
    else write(before, AFTER, after)
    if (after === NONE) last[list] = before
    else write(after, BEFORE, before)
    busy -= list
  }

  function linkFirst(index: number, list: number): void {
    const after = first[list] as number
    write(index, BEFORE, NONE)
    write(index, AFTER, after)
    write(index, LIST, list)
    if (after === NONE) last[list] = index
    else write(after, BEFORE, index)
    first[list] = index
    busy += list
  }

  function moveFirst(index: number, list: number): void {
    if (first[list] === index) return
    unlink(index)
    linkFirst(index, list)
    if (busy * 2 <= capacity) return
    // More than half of all are that busy: then the one that rested longest is no longer spared.
    const demoted = last[1] as number
    unlink(demoted)
    linkFirst(demoted, 0)
  }

  /** An index for a new cell: of one that nobody misses, or a further one, or of the cell that rested longest. */
  function vacate(now_s: number): number {
    const over = last.find((index) => index !== NONE && now_s - read(index, NEWEST) >= size)
    if (over === undefined && subjects.length < capacity) {
      if ((subjects.length & (SLAB_CELLS - 1)) === 0) slabs.push(new Uint32Array(SLAB_CELLS * stride))
      return subjects.length
    }
    const index = over ?? (last[last[0] === NONE ? 1 : 0] as number)
    unlink(index)
    homes[index]?.delete(subjects[index] as string)
    slabOf(index).fill(0, baseOf(index), baseOf(index) + stride)
    return index
  }

  function settle(home: Map<string, number>, subject: string, now_s: number): number {
    const index = vacate(now_s)
    homes[index] = home
    subjects[index] = subject
    home.set(subject, index)
    write(index, NEWEST, now_s)
    linkFirst(index, 0)
    return index
  }

  function homeOf(name: string): Map<string, number> {
    const known = indices.get(name)
    if (known) return known
    const fresh = new Map<string, number>()
    indices.set(name, fresh)
    return fresh
  }

  return {
    /** The subject's cell as of now, and as the one that was used last. */
    find({ name, subject, limit }: { name: string; subject: string; limit: number }, now_s: number): number {
      const home = homeOf(name)
      const index = home.get(subject)
      if (index === undefined) return settle(home, subject, now_s)
      const [words, base] = [slabOf(index), baseOf(index)]
      const newest_s = words[base + NEWEST] as number
      if (now_s > newest_s) {
        words[base + TOTAL] = (words[base + TOTAL] as number) - rule.expire(words, base, newest_s, now_s)
        words[base + NEWEST] = now_s
      }
      const list = (words[base + TOTAL] as number) * 2 >= limit ? 1 : 0
      // Once a second is often enough to know who rests; where room has run out, every time.
      if (now_s > newest_s || list !== words[base + LIST] || subjects.length === capacity) moveFirst(index, list)
      return index
    },

    total: (index: number): number => read(index, TOTAL),

    /** Of a cell that was just found. */
    wait(index: number, needed: number): number {
      const [words, base] = [slabOf(index), baseOf(index)]
      return rule.wait(words, base, words[base + NEWEST] as number, needed)
    },

    add(index: number, amount: number): void {
      const [words, base] = [slabOf(index), baseOf(index)]
      const at = base + rule.place(words[base + NEWEST] as number)
      words[at] = (words[at] as number) + amount
      words[base + TOTAL] = (words[base + TOTAL] as number) + amount
    },

    /** Changes a second that the cell still remembers; never below nothing, never beyond what a number holds. */
    correct({ name, subject }: { name: string; subject: string }, second: number, by: number): void {
      const index = indices.get(name)?.get(subject)
      if (index === undefined) return
      const age_s = read(index, NEWEST) - second
      if (age_s < 0 || age_s >= size) return
      const at = rule.place(second)
      const had = read(index, at)
      const change = Math.max(-had, Math.min(by, COUNT_MAX - read(index, TOTAL)))
      write(index, at, had + change)
      write(index, TOTAL, read(index, TOTAL) + change)
    },

    size: () => subjects.length,
  }
}
