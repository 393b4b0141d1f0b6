// Events added up as they come, those together that differ in nothing a roll-up tells apart. A process keeps what it
// has written itself this way, so that rolling it up need not read it back.
import {
  addAmounts,
  type Countable,
  countSpread,
  DIMENSIONS,
  emptyRollup,
  FINEST_MS,
  keyOf,
  type Place,
  type Rollup,
} from './usage-rollup.ts'

export const BATCH_EVENTS = 250
const BATCH_KINDS = 32

export interface Alike {
  /** Not kept as it is: what all roll-ups can be added up from. */
  sum: Rollup
  trace_ids: string[]
}

export type AlikeEvents = ReturnType<typeof alikeEvents>

/** How much is kept: of each event its id, of each kind its sums. */
export interface Room {
  events: number
  kinds: number
}

const ENDLESS: Room = { events: Number.POSITIVE_INFINITY, kinds: Number.POSITIVE_INFINITY }

/** Beyond its `room`, all are forgotten: whoever rolls up reads them then. */
export function alikeEvents(room = ENDLESS) {
  const open = new Map<string, Alike>()
  let full: Alike[] = []
  let events = 0

  function clear(): void {
    open.clear()
    full = []
    events = 0
  }

  return {
    count: () => events,
    clear,

    add(event: Countable & { trace_id: string }, place: Place, created_ms: number): void {
      const start_ms = created_ms - (created_ms % FINEST_MS)
      const kind = keyOf(place, '', start_ms, DIMENSIONS)
      if (events >= room.events || (open.size >= room.kinds && !open.has(kind))) clear()
      let alike = open.get(kind)
      if (!alike) {
        alike = { sum: emptyRollup(place, '', start_ms, DIMENSIONS), trace_ids: [] }
        open.set(kind, alike)
      }
      alike.sum.events++
      addAmounts(alike.sum, event)
      countSpread(alike.sum.spread, event)
      events++
      if (alike.trace_ids.push(event.trace_id) < BATCH_EVENTS) return
      open.delete(kind)
      full.push(alike)
    },

    /** All of them, in batches; from then on there are none. */
    take(): Alike[][] {
      const kinds = [...open].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, alike]) => alike)
      const batches = batchesOf([...full, ...kinds])
      clear()
      return batches
    },
  }
}

/**
 * Few at a time, and those of a kind together: what a batch costs is the roll-ups that it touches, and it keeps the
 * embedded store from everybody else meanwhile.
 */
function batchesOf(all: readonly Alike[]): Alike[][] {
  const batches: Alike[][] = []
  let [batch, events]: [Alike[], number] = [[], 0]
  for (const alike of all) {
    const { length } = alike.trace_ids
    if (events + length > BATCH_EVENTS || batch.length === BATCH_KINDS) [batch, events] = [[], 0]
    if (batch.length === 0) batches.push(batch)
    batch.push(alike)
    events += length
  }
  return batches
}
