// The end of a generation, in one transaction (R21, R43): hold → charge, the usage event, the session's turn, the
// stored response, the kept answer. All of it happens or none of it does. Bills of one project that come at the same
// moment are written together: they share the round trips, the commit and the lock on the rows that carry the money.
// Each caller still waits until its own is committed and, where a limit or a kept answer stands behind it, on the disk
// (decision 0142).
import type { RowFate, Settlement } from '../budgets/budget.ts'
import type { BudgetStore } from '../budgets/budget-store.ts'
import type { Slices } from '../budgets/slice-store.ts'
import type { Sealing } from '../core/sealing.ts'
import type { MoneyFacts } from '../headers/agent-headers.ts'
import { conflict, type KeptResponse } from '../idempotency/idempotency.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import { backgroundStore } from '../responses/background-store.ts'
import { responseStore } from '../responses/response-store.ts'
import { sessionStore } from '../sessions/session-store.ts'
import type { Db } from '../storage/db.ts'
import { PartsGone } from '../storage/large-bodies.ts'
import type { SubscriptionStore } from '../subscriptions/subscription-store.ts'
import type { UsageStore } from '../usage/usage-store.ts'
import { type Bill, blocksOf, isOwed, toldWith } from './bill.ts'
import { type Charge, chargeFor } from './charge.ts'
import { isAway } from './deferred-writes.ts'
import { eventOf, traceOf } from './outcome.ts'
import { aheadOf, isLargeBill, keptBytes, writeAhead } from './written-ahead.ts'

const BATCH_MAX = 256 // bounds how long one transaction keeps the project's row
const BATCH_BYTES = 4_000_000 // of answers to keep: they are sealed, and sent to the store, in one turn

export interface SettleNeeds {
  db: Db
  now(): number
  seals: Sealing
  slices: Pick<Slices, 'beginSettling'>
  budgetsOn(db: Db): Pick<BudgetStore, 'settleAll'>
  usageOn(db: Db): Pick<UsageStore, 'insert'>
  subscriptionsOn(db: Db): Pick<SubscriptionStore, 'useTokens'>
  idempotencyOn(db: Db): Pick<IdempotencyStore, 'keep' | 'ended'>
  /** After the commit. */
  onSettled(bill: Bill, settlement: Settlement, direct_cost_micros: number): void
}

export interface Settled extends MoneyFacts {
  /** As it was kept, where it was. */
  kept: KeptResponse | undefined
}

interface Waiting {
  bill: Bill
  resolve(settled: Settled): void
  reject(reason: unknown): void
}

export type Charges = ReturnType<typeof charges>

export function charges(needs: SettleNeeds) {
  const queues = new Map<string, Waiting[]>()
  const starting: string[] = []

  async function settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const settled = await writeAll(needs, batch)
      batch.forEach(({ resolve }, at) => void resolve(settled[at] as Settled))
    } catch (error) {
      // One that cannot be written, such as an answer that another has kept meanwhile, must not undo its neighbours.
      if (batch.length > 1 && !isAway(error)) await Promise.all(batch.map((one) => settle([one])))
      else for (const { reject } of batch) reject(error)
    }
  }

  async function drain(name: string): Promise<void> {
    const queue = queues.get(name) ?? []
    while (queue.length > 0) await settle(nextOf(queue))
    queues.delete(name)
  }

  /** Those of all projects at once, so that an embedded store can commit them together. */
  function startAll(): void {
    for (const name of starting.splice(0)) void drain(name)
  }

  const settleQueued = (bill: Bill, name: string): Promise<Settled> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(name)
      if (queue) return void queue.push({ bill, resolve, reject })
      queues.set(name, [{ bill, resolve, reject }])
      if (starting.push(name) === 1) setImmediate(startAll)
    })

  /** They have a queue of their own: the others do not wait for them. */
  async function settleLarge(bill: Bill): Promise<Settled> {
    const name = `${bill.spender.project_id} large`
    const ahead = await writeAhead(needs, bill)
    try {
      return await settleQueued({ ...bill, ahead }, name)
    } catch (error) {
      if (error instanceof PartsGone) return settleQueued(bill, name)
      throw error // what it wrote ahead is swept
    }
  }

  return {
    settle: (bill: Bill): Promise<Settled> =>
      isLargeBill(bill) ? settleLarge(bill) : settleQueued(bill, bill.spender.project_id),
  }
}

/** Takes the next batch off the queue. An answer that is larger than a batch may be is one by itself. */
function nextOf(queue: Waiting[]): Waiting[] {
  let bytes = 0
  const past = queue.findIndex(({ bill }, at) => {
    bytes += bill.ahead ? 0 : keptBytes(bill)
    return at === BATCH_MAX || (at > 0 && bytes > BATCH_BYTES)
  })
  return queue.splice(0, past < 0 ? queue.length : past)
}

async function writeAll(needs: SettleNeeds, batch: readonly Waiting[]): Promise<Settled[]> {
  const bills = batch.map(({ bill }) => bill)
  const settling = needs.slices.beginSettling(bills.map(({ hold }) => hold))
  let written: Written[]
  try {
    written = await settling.whileOnItsWay(write(needs, bills, settling.fates))
  } catch (error) {
    settling.failed(error)
    throw error
  }
  await settling.succeeded(
    written.map(({ settlement }) => settlement),
    needs.now(),
  )
  return written.map(({ bill, settlement, charge, kept }) => {
    const { reservation } = bill
    if (reservation) needs.idempotencyOn(needs.db).ended(reservation)
    needs.onSettled(bill, settlement, charge.direct_cost_micros)
    return {
      charged_micros: settlement.charged_micros,
      direct_cost_micros: charge.direct_cost_micros,
      kept,
    }
  })
}

interface Written {
  bill: Bill
  settlement: Settlement
  charge: Charge
  kept: KeptResponse | undefined
}

/** All of a batch, in one transaction. */
function write(needs: SettleNeeds, bills: readonly Bill[], fates: readonly RowFate[]): Promise<Written[]> {
  const lasting = bills.every(leavesEventOnly) ? 'committed' : 'flushed'
  return needs.db.transaction(
    async (tx) => {
      const now = needs.now() // R65: the window that pays is the one that the usage event falls into
      const charged = await chargesOf(needs, tx, bills)
      const written: Written[] = []
      const owings = bills.map(({ spender, hold, most_micros }, at) => ({
        spender,
        hold,
        cost_micros: owedOf(charged[at] as Charge, most_micros),
        row: fates[at] as RowFate,
      }))
      await needs.budgetsOn(tx).settleAll(owings, now, (settlements) => {
        const writes: Promise<unknown>[] = []
        settlements.forEach((settled, at) => {
          const bill = bills[at] as Bill
          const charge = charged[at] as Charge
          const settlement = withBeyond(settled, charge, bill.most_micros)
          written.push({ bill, settlement, charge, kept: undefined })
          writes.push(recordEvent(needs, tx, written[at] as Written, now))
        })
        for (const { at } of inOrderOf(bills, sessionOf)) writes.push(recordTurn(needs, tx, bills[at] as Bill, now))
        for (const { at } of inOrderOf(bills, digestOf)) writes.push(keep(needs, tx, written[at] as Written))
        return writes
      })
      return written
    },
    { lasting, gathered: true },
  )
}

/** A call of our own costs no more than it was allowed to: what is beyond that is written off. */
const owedOf = ({ cost_micros }: Charge, most_micros = Number.POSITIVE_INFINITY) => Math.min(cost_micros, most_micros)

function withBeyond(settlement: Settlement, charge: Charge, most_micros: number | undefined): Settlement {
  const beyond = charge.cost_micros - owedOf(charge, most_micros)
  if (beyond === 0) return settlement
  return { ...settlement, written_off_micros: settlement.written_off_micros + beyond }
}

/** It may be lost with the power: no limit and nobody's retry depends on it. */
const leavesEventOnly = ({ hold, reservation, turn, response, target }: Bill) =>
  !hold && !reservation && !turn && !response && !target.subscription

const NOTHING: Charge = { cost_micros: 0, direct_cost_micros: 0 }

async function chargesOf({ subscriptionsOn }: SettleNeeds, tx: Db, bills: readonly Bill[]): Promise<Charge[]> {
  const all = bills.map(({ outcome, target }) => (isOwed(outcome) ? chargeFor(target, outcome.tokens, 0) : NOTHING))
  for (const { at, id } of inOrderOf(bills, subscriptionOf)) {
    const { outcome, target, spender } = bills[at] as Bill
    const covered = await subscriptionsOn(tx).useTokens(spender.project_id, id, outcome.tokens.input)
    all[at] = chargeFor(target, outcome.tokens, covered)
  }
  return all
}

const subscriptionOf = ({ outcome, target }: Bill) => (isOwed(outcome) ? target.subscription?.id : undefined)
const sessionOf = ({ turn }: Bill) => turn?.session_id
const digestOf = ({ reservation }: Bill) => reservation?.digest

/**
 * The bills that name such a row, in the order of the rows' ids: so does whoever else takes several of them (purges,
 * renewals of reservations, other processes), and no two transactions wait for each other.
 */
function inOrderOf(bills: readonly Bill[], idOf: (bill: Bill) => string | undefined): { id: string; at: number }[] {
  const naming = bills.flatMap((bill, at) => {
    const id = idOf(bill)
    return id === undefined ? [] : [{ id, at }]
  })
  return naming.sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)))
}

async function recordEvent(needs: SettleNeeds, tx: Db, written: Written, now: number): Promise<void> {
  const { outcome, response, is_promised, spender, ahead } = written.bill
  const { charged_micros, written_off_micros, overage_micros } = written.settlement
  const { direct_cost_micros } = written.charge
  const figures = { charged_micros, direct_cost_micros, written_off_micros, overage_micros: overage_micros ?? 0 }
  await needs.usageOn(tx).insert(eventOf(outcome, figures, now), traceOf(outcome))
  if (!response) return
  const named = { project_id: spender.project_id, id: response.response.id }
  if (is_promised && !(await backgroundStore(tx, needs.seals).isAwaited(named))) return // its parts are swept
  const native = blocksOf(outcome, { charged_micros, direct_cost_micros })
  await responseStore(tx, needs.seals).insert(spender.project_id, { native, ...response }, now, ahead?.response)
}

/** Apart from its event: however much one of these has to write first, their sessions' rows are asked for in order. */
async function recordTurn({ seals }: SettleNeeds, tx: Db, { spender, turn, ahead }: Bill, now: number): Promise<void> {
  if (turn) await sessionStore(tx, seals).recordTurn(spender.project_id, turn, now, ahead)
}

/** R22: where another has taken the triple over meanwhile, its answer counts, and this call costs nothing. */
async function keep({ idempotencyOn, now }: SettleNeeds, tx: Db, written: Written): Promise<void> {
  const { reservation, answer, outcome, ahead } = written.bill
  if (!reservation || !answer) return
  const { charged_micros } = written.settlement
  written.kept = toldWith(answer, outcome, { charged_micros, direct_cost_micros: written.charge.direct_cost_micros })
  const large = aheadOf(ahead?.answer, answer, written.kept)
  if (!(await idempotencyOn(tx).keep(reservation, written.kept, now(), large))) throw conflict()
}
