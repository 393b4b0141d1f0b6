// R43: holds out of slices (slice.ts). While a key's calls run side by side they share one row, which an extension
// raises for all that wait; a call alone holds exactly its own, as a row that ends with it. The row shrinks with every
// charge and in the same transaction, so it is exact whenever this process dies; whatever memory believes, no charge
// takes more than the row has. The last call takes the row with it: where nothing runs, nothing is held.
import { newId } from '../core/ids.ts'
import { CommitUnknown, type Db } from '../storage/db.ts'
import { holdApart, isApart } from './apart-hold-store.ts'
import type { Hold, HoldOutcome, Limit, RowFate, Settlement } from './budget.ts'
import { type BudgetStore, budgetStore, type Spender } from './budget-store.ts'
import { type Left, leastOf, leftAfter, refusalOf } from './left-store.ts'
import {
  type Account,
  type Answer,
  chunkFor,
  draw,
  extended,
  fitting,
  isGoodFor,
  type LimitedSpender,
  newSlice,
  putBack,
  type Slice,
  sumOf,
  termsOf,
  type Waiting,
} from './slice.ts'
import { type Raised, sliceRows } from './slice-rows-store.ts'

const TOGETHER_MAX = 256 // calls that one extension serves
const TRIES = 3 // while others take from the same limits; after that, one call at a time

export type Slices = ReturnType<typeof slices>

/** Holds that are being settled together. */
export interface Settling {
  /** What becomes of the row of each. */
  fates: readonly RowFate[]
  /** What the transaction frees is waited for before anybody is refused. */
  whileOnItsWay<Written>(writing: Promise<Written>): Promise<Written>
  failed(error: unknown): void
  /** Frees what was not charged. */
  succeeded(settlements: readonly Settlement[], now: number): Promise<void>
}

export function slices(db: Db, process: string) {
  const rows = sliceRows(db, process)
  const direct: BudgetStore = budgetStore(db, process)
  const accounts = new Map<string, Account>()
  const sliceOf = new WeakMap<Hold, Slice>()
  /** Nobody draws on these any more; they stay here until their rows are known to be gone. */
  const retired = new Set<Slice>()
  /** What is on its way back, and into which project's limits. */
  const returning = new Map<Promise<unknown>, string>()

  const isLive = (slice: Slice) => accounts.get(nameOf(slice))?.slice === slice
  const isBusy = (slice: Slice) => isLive(slice) && accounts.get(nameOf(slice))?.busy === true

  function drawFrom(slice: Slice, micros: number): HoldOutcome {
    const hold = draw(slice, micros)
    sliceOf.set(hold, slice)
    return { kind: 'held', hold }
  }

  const give = (slice: Slice, to: readonly Waiting[]): Answer[] =>
    to.map((waiting) => ({ waiting, outcome: drawFrom(slice, waiting.micros) }))

  /** The last of its calls takes the row with it. */
  function retire(slice: Slice): void {
    const account = accounts.get(nameOf(slice))
    if (account?.slice === slice) {
      account.slice = undefined
      if (!account.busy) accounts.delete(nameOf(slice))
    }
    if (slice.has_row) retired.add(slice)
  }

  async function onItsWay<T>(project_id: string, back: Promise<T>): Promise<T> {
    const over = back.catch(() => {})
    returning.set(over, project_id)
    return back.finally(() => returning.delete(over))
  }

  /** Where nothing draws on it. A row that is gone already changes nothing. */
  async function giveBack(slice: Slice): Promise<void> {
    if (slice.holds.size === 0 && !isBusy(slice) && (isLive(slice) || retired.has(slice))) await returnRow(slice)
  }

  async function returnRow(slice: Slice): Promise<void> {
    retire(slice)
    const { id, key_id, project_id, has_row } = slice
    await onItsWay(project_id, direct.release({ id, key_id, project_id, micros: 0 }, has_row))
    retired.delete(slice)
  }

  /** Gives back what lies free; those who come meanwhile wait. */
  async function trim(account: Account, slice: Slice, micros: number): Promise<void> {
    account.busy = true
    slice.free_micros -= micros
    try {
      if (!(await onItsWay(slice.project_id, rows.lower(slice, micros)))) retire(slice)
    } catch (error) {
      retire(slice) // whether it was written or not: the row tells, when its last call takes it
      throw error
    } finally {
      void drain(account)
    }
  }

  /** Before anybody is refused: what this process keeps free of the same project goes back. Whether anything did. */
  async function collect({ project_id }: Spender): Promise<boolean> {
    const back = [...returning].flatMap(([over, project]) => (project === project_id ? [over] : []))
    for (const account of [...accounts.values()]) {
      const { slice, busy } = account
      if (!busy && slice?.project_id === project_id && slice.free_micros > 0)
        back.push(trim(account, slice, slice.free_micros))
    }
    await Promise.all(back)
    return back.length > 0
  }

  async function decide(account: Account, batch: readonly Waiting[]): Promise<Answer[]> {
    const { spender, now } = batch.at(-1) as Waiting
    const terms = termsOf(spender)
    for (let tries = 0; tries < TRIES; tries++) {
      account.slice ??= newSlice(newId('hld'), spender.key_id, spender.project_id)
      const { slice } = account
      const free = slice.free_micros // more may come free meanwhile, never less
      const need = { micros: sumOf(batch), calls: batch.length }
      if (need.micros <= free && isGoodFor(slice, terms, now)) return give(slice, batch)
      const chunk = chunkFor(slice, need, now)
      const raised = await rows.extend(slice, { micros: need.micros - free, chunk }, now)
      if (take(slice, raised, terms, now)) return give(slice, batch)
      if (raised.kind !== 'refused' || (tries === 0 && (await collect(spender)))) continue
      const [fit, others] = fitting(batch, leastOf(raised.left) + free)
      if (fit.length === 0) return refuse(others, raised, leftAfter(raised.left, -free))
      if (others.length === 0) continue // all of it came free after it was refused
      const micros = sumOf(fit) - free
      if (!take(slice, await rows.extend(slice, { micros, chunk: 0 }, now), terms, now)) continue
      return [...give(slice, fit), ...refuse(others, raised, leftAfter(raised.left, micros))]
    }
    const answers: Answer[] = []
    try {
      for (const one of batch) answers.push(...(await decideAlone(account, one)))
    } catch (error) {
      answers.forEach(undo) // all of them will be told that it failed
      throw error
    }
    return answers
  }

  function undo({ outcome }: Answer): void {
    const slice = outcome.kind === 'held' && sliceOf.get(outcome.hold)
    if (slice) putBack(slice, outcome.hold, 0)
    else if (outcome.kind === 'held') direct.abandon(outcome.hold)
  }

  /** One statement decides, as for a call that meets no other. */
  async function decideAlone(account: Account, one: Waiting): Promise<Answer[]> {
    const { spender, micros, now } = one
    account.slice ??= newSlice(newId('hld'), spender.key_id, spender.project_id)
    const { slice } = account
    const free = slice.free_micros
    const raised = await rows.extend(slice, { micros: micros - free, chunk: 0 }, now)
    if (take(slice, raised, termsOf(spender), now)) return give(slice, [one])
    if (raised.kind === 'refused') return refuse([one], raised, leftAfter(raised.left, -free))
    return [{ waiting: one, outcome: await direct.hold(spender, micros, now) }]
  }

  function take(slice: Slice, raised: Raised, terms: string, now: number): boolean {
    if (raised.kind === 'raised') extended(slice, { ...raised, terms }, now)
    else if (raised.kind === 'gone') retire(slice)
    else slice.left_micros = leastOf(raised.left)
    return raised.kind === 'raised' && isLive(slice) // it may have been retired meanwhile
  }

  /** What is to be told to these, and how. Never rejects. */
  async function serve(account: Account, batch: readonly Waiting[]): Promise<() => void> {
    try {
      const answers = await decide(account, batch)
      return () => answers.forEach(({ waiting, outcome }) => void waiting.resolve(outcome))
    } catch (error) {
      // The row may have been made or raised although nobody said so: it is not known what is free in it.
      if (account.slice && error instanceof CommitUnknown) {
        account.slice.has_row ||= 'unknown'
        retire(account.slice)
      }
      return () => batch.forEach(({ reject }) => void reject(error))
    }
  }

  /** Serves whoever waits. The last are told once an unused row has been released. Never rejects. */
  async function drain(account: Account): Promise<void> {
    account.busy = true
    for (;;) {
      const batch = account.waiting.splice(0, TOGETHER_MAX)
      const tell = batch.length > 0 ? await serve(account, batch) : () => {}
      const { slice, waiting } = account
      const unused = waiting.length === 0 && slice?.has_row && slice.holds.size === 0
      if (unused) await returnRow(slice).catch(() => {}) // the next tick tries again
      if (waiting.length === 0) {
        account.busy = false
        if (!account.slice?.has_row) accounts.delete(account.name)
        return tell()
      }
      tell()
    }
  }

  /** What becomes of each row when these are settled together: that of a slice ends with the last of its calls. */
  function fatesOf(holds: readonly (Hold | undefined)[]): RowFate[] {
    const drawing = new Map<Slice, number>()
    for (const hold of holds) {
      const slice = drawnFrom(hold)
      if (slice) drawing.set(slice, (drawing.get(slice) ?? 0) + 1)
    }
    const ending = [...drawing].filter(([slice, calls]) => calls === slice.holds.size && !isBusy(slice))
    for (const [slice] of ending) retire(slice)
    const ends = new Set(ending.map(([slice]) => slice))
    return holds.map((hold) => {
      const slice = hold && sliceOf.get(hold)
      if (!slice) return 'ends' // it has a row of its own, or none
      if (!slice.holds.has(hold)) return 'lost'
      return ends.has(slice) ? 'ends' : 'stays'
    })
  }

  /** After the commit: what was not charged is free again. */
  async function settled(hold: Hold | undefined, fate: RowFate | undefined, settlement: Settlement, now: number) {
    const slice = hold && sliceOf.get(hold)
    if (!slice || fate === 'lost') return
    putBack(slice, hold, settlement.charged_micros)
    if (fate === 'ends') return void retired.delete(slice)
    if (settlement.charged_micros > 0) slice.seen_at = now
    // R22: where the row was gone, nothing is free in it either.
    if (settlement.written_off_micros > 0 && settlement.charged_micros < hold.micros) retire(slice)
    await giveBack(slice).catch(() => {}) // the charge stands; the next tick tries again
  }

  return {
    hold(spender: LimitedSpender, micros: number, now: number): Promise<HoldOutcome> {
      if (isApart(spender)) return holdApart({ direct, collect }, spender, micros, now)
      const name = nameOf(spender)
      const account = accounts.get(name) ?? { name, slice: undefined, waiting: [], busy: false }
      const { slice, busy, waiting } = account
      return new Promise((resolve, reject) => {
        if (!busy && slice && slice.free_micros >= micros && isGoodFor(slice, termsOf(spender), now))
          return resolve(drawFrom(slice, micros))
        waiting.push({ micros, spender, now, resolve, reject })
        accounts.set(name, account)
        if (!busy) void drain(account)
      })
    },

    /** Gives a hold back. A second time changes nothing, but tries again what failed before. */
    async release(hold: Hold): Promise<void> {
      const slice = sliceOf.get(hold)
      if (!slice) return direct.release(hold)
      putBack(slice, hold, 0)
      await giveBack(slice)
    },

    beginSettling(holds: readonly (Hold | undefined)[]): Settling {
      const fates = fatesOf(holds)
      const frees = holds.find((hold, at) => fates[at] === 'ends' && (drawnFrom(hold)?.free_micros ?? 0) > 0)
      return {
        fates,
        whileOnItsWay: (writing) => (frees ? onItsWay(frees.project_id, writing) : writing),
        failed(error) {
          // It may have been charged: nobody may draw on what memory takes for free.
          if (error instanceof CommitUnknown) for (const slice of holds.map(drawnFrom)) if (slice) retire(slice)
        },
        async succeeded(settlements, now) {
          for (const [at, hold] of holds.entries()) await settled(hold, fates[at], settlements[at] as Settlement, now)
        },
      }
    },

    /** What nobody needed since the last time goes back, and so do rows that could not be given back before. */
    async giveBackUnused(): Promise<void> {
      for (const slice of [...retired]) await giveBack(slice)
      for (const account of [...accounts.values()]) {
        const { slice, busy } = account
        if (!slice || busy) continue
        if (slice.unused_micros > 0) await trim(account, slice, slice.unused_micros)
        slice.unused_micros = slice.free_micros
      }
      await direct.releaseAbandoned()
    },
  }

  function drawnFrom(hold: Hold | undefined): Slice | undefined {
    const slice = hold && sliceOf.get(hold)
    return slice?.holds.has(hold as Hold) ? slice : undefined
  }
}

const nameOf = ({ project_id, key_id }: Pick<Spender, 'project_id' | 'key_id'>) => `${project_id} ${key_id}`

const refuse = (all: readonly Waiting[], { limit }: { limit: Limit }, left: Left): Answer[] =>
  all.map((waiting) => ({ waiting, outcome: refusalOf(waiting, limit, left) }))
