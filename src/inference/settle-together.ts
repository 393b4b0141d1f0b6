// Charges of one project that come at the same moment are written in one transaction: they share its round trips, its
// commit and the lock on the rows that carry the money, which every one of them needs. Each caller still waits until
// its own charge is committed and, where a limit or a kept answer stands behind it, on the disk (decision 0142). What
// must be written together with more than that and its usage event does not come here.
import type { Hold, RowFate, Settlement } from '../budgets/budget.ts'
import type { BudgetStore, Spender } from '../budgets/budget-store.ts'
import type { Slices } from '../budgets/slice-store.ts'
import type { Db } from '../storage/db.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { UsageEvent } from '../usage/usage-event.ts'
import type { UsageStore } from '../usage/usage-store.ts'
import { isAway } from './deferred-writes.ts'

const BATCH_MAX = 256 // bounds how long one transaction keeps the project's row

export interface Owed {
  spender: Spender
  hold: Hold | undefined
  cost_micros: number
  event(settlement: Settlement, now: number): UsageEvent
  facts: TraceFacts
  /** Keeps the answer for whoever asks again, in one statement. Rejects where nothing may be charged after all. */
  keep?: ((tx: Db, settlement: Settlement) => Promise<void>) | undefined
}

interface Needs {
  db: Db
  now(): number
  budgetsOn(db: Db): Pick<BudgetStore, 'settleAll'>
  slices: Pick<Slices, 'settling'>
  usageOn(db: Db): Pick<UsageStore, 'insert'>
}

interface Waiting {
  owed: Owed
  resolve(settlement: Settlement): void
  reject(reason: unknown): void
}

export type SettleTogether = ReturnType<typeof settleTogether>

export function settleTogether(needs: Needs) {
  const { now, slices } = needs
  const queues = new Map<string, Waiting[]>()
  const starting: string[] = []

  async function settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const owed = batch.map((one) => one.owed)
      const settlements = await slices.settling(
        owed.map(({ hold }) => hold),
        now(),
        (fates) => write(needs, owed, fates),
        (written) => written,
      )
      batch.forEach(({ resolve }, at) => void resolve(settlements[at] as Settlement))
    } catch (error) {
      // One that cannot be written, such as an answer that another has kept meanwhile, must not undo its neighbours.
      if (batch.length > 1 && !isAway(error)) await Promise.all(batch.map((one) => settle([one])))
      else for (const { reject } of batch) reject(error)
    }
  }

  async function drain(project_id: string): Promise<void> {
    const queue = queues.get(project_id) ?? []
    while (queue.length > 0) await settle(queue.splice(0, BATCH_MAX))
    queues.delete(project_id)
  }

  /** Those of all projects at once, so that an embedded store can commit them together. */
  function startAll(): void {
    for (const project_id of starting.splice(0)) void drain(project_id)
  }

  return (owed: Owed): Promise<Settlement> =>
    new Promise((resolve, reject) => {
      const { project_id } = owed.spender
      const queue = queues.get(project_id)
      if (queue) return void queue.push({ owed, resolve, reject })
      queues.set(project_id, [{ owed, resolve, reject }])
      if (starting.push(project_id) === 1) setImmediate(startAll)
    })
}

/** All of a batch, in one transaction. */
function write({ db, now, budgetsOn, usageOn }: Needs, owed: readonly Owed[], fates: RowFate[]): Promise<Settlement[]> {
  const lasting = owed.some(({ hold, keep }) => hold || keep) ? 'flushed' : 'committed'
  return db.transaction(
    async (tx) => {
      const time_ms = now() // R65: the window that pays is the one that the usage event falls into
      const owings = owed.map(({ spender, hold, cost_micros }, at) => {
        return { spender, hold, cost_micros, row: fates[at] as RowFate }
      })
      const usage = usageOn(tx)
      return budgetsOn(tx).settleAll(owings, time_ms, (settlements) => [
        ...owed.map(async ({ event, facts }, at) => usage.insert(event(settlements[at] as Settlement, time_ms), facts)),
        ...owed.flatMap(({ keep }, at) => keep?.(tx, settlements[at] as Settlement) ?? []),
      ])
    },
    { lasting, gathered: true },
  )
}
