// R43: a slice is what this process holds of one key's limits, in one row for all of the key's calls. Calls take from
// its free part in memory. All of this is arithmetic; what is true of the money stands in the row.
import type { Hold, HoldOutcome } from './budget.ts'
import type { Spender } from './left-store.ts'

const CALM = 2 // so many extensions in quick succession are exact: a key is not hot yet
const CHUNK_MAX = 32 // holds that an extension takes beyond those that wait for it
const SHARE = 16 // of what the limits leave, an extension takes at most this part beyond what it needs
const OFTEN_MS = 1_000 // a slice that was extended less long ago than this takes more
// R22: half of what makes a process look dead. Whoever was paused for longer asks whether its row is still there.
const SEEN_WITHIN_MS = 30_000

/** Whoever spends, and the limits as the request found them. */
export interface LimitedSpender extends Spender {
  budget_micros?: number | undefined
  window_limit_micros?: number | undefined
  project_cap_micros?: number | undefined
}

export const termsOf = ({ budget_micros, window_limit_micros, project_cap_micros }: LimitedSpender): string =>
  `${budget_micros} ${window_limit_micros} ${project_cap_micros}`

export interface Slice {
  /** Of its row. */
  readonly id: string
  readonly key_id: string
  readonly project_id: string
  /** The calls that draw on it. */
  readonly holds: Set<Hold>
  free_micros: number
  /** The least that was free since somebody last looked: so much was not needed meanwhile. */
  unused_micros: number
  /** None before the first extension; unknown where that was cut off, and its COMMIT may still be under way. */
  has_row: boolean | 'unknown'
  /** The limits that its free part was judged by: where a caller comes with others, it is judged again. */
  terms: string
  /** What the limits left at the last extension. */
  left_micros: number
  extended_at: number
  /** Extensions in quick succession, up to the last one. */
  extensions: number
  /** When its row was last known to be there. */
  seen_at: number
}

/** A call that waits for its hold. */
export interface Waiting {
  micros: number
  spender: LimitedSpender
  now: number
  resolve(outcome: HoldOutcome): void
  reject(reason: unknown): void
}

export interface Answer {
  waiting: Waiting
  outcome: HoldOutcome
}

/** What this process has of one key. */
export interface Account {
  name: string
  slice: Slice | undefined
  waiting: Waiting[]
  /** Its row is being raised or lowered: whoever comes now waits. */
  busy: boolean
}

export function newSlice(id: string, key_id: string, project_id: string): Slice {
  const amounts = { free_micros: 0, unused_micros: 0, left_micros: 0 }
  const times = { extended_at: Number.NEGATIVE_INFINITY, seen_at: Number.NEGATIVE_INFINITY, extensions: 0 }
  return { id, key_id, project_id, holds: new Set(), has_row: false, terms: '', ...amounts, ...times }
}

/** Whether somebody with these limits may take from its free part without asking the store. */
export const isGoodFor = (slice: Slice, terms: string, now: number): boolean =>
  slice.terms === terms && now - slice.seen_at < SEEN_WITHIN_MS

/** Takes one call's hold out of the free part, which must have it. */
export function draw(slice: Slice, micros: number): Hold {
  if (micros > slice.free_micros) throw new Error(`${micros} are not free in ${slice.id}`)
  const { id, key_id, project_id } = slice
  const hold: Hold = { id, key_id, project_id, micros }
  slice.free_micros -= micros
  slice.unused_micros = Math.min(slice.unused_micros, slice.free_micros)
  slice.holds.add(hold)
  return hold
}

/** Puts what a call did not spend back into the free part. A second time changes nothing. */
export function putBack(slice: Slice, hold: Hold, charged_micros: number): void {
  if (slice.holds.delete(hold)) slice.free_micros += hold.micros - charged_micros
}

/**
 * How much an extension takes beyond what is waited for: nothing for the first few, and where the last one is long ago;
 * then one hold, two, four; and never more than a small part of what is left: the end of a limit is not hoarded.
 */
export function chunkFor(slice: Slice, need: { micros: number; calls: number }, now: number): number {
  if (now - slice.extended_at >= OFTEN_MS) slice.extensions = 0
  if (slice.extensions < CALM) return 0
  const holds = Math.min(CHUNK_MAX, 2 ** (slice.extensions - CALM))
  const most = Math.max(0, Math.floor(slice.left_micros / SHARE))
  return Math.min(holds * Math.ceil(need.micros / need.calls), most)
}

export function extended(slice: Slice, by: { micros: number; left_micros: number; terms: string }, now: number): void {
  slice.free_micros += by.micros
  slice.has_row = true
  slice.left_micros = by.left_micros
  slice.terms = by.terms
  slice.extensions++
  slice.extended_at = now
  slice.seen_at = now
}

/** Those that fit, in the order in which they came, and those that do not: a later one may be smaller. */
export function fitting<One extends { micros: number }>(all: readonly One[], micros: number): [One[], One[]] {
  let left = micros
  const [fit, others]: [One[], One[]] = [[], []]
  for (const one of all) {
    if (one.micros <= left) {
      left -= one.micros
      fit.push(one)
    } else others.push(one)
  }
  return [fit, others]
}

export const sumOf = (all: readonly { micros: number }[]): number => all.reduce((sum, one) => sum + one.micros, 0)
