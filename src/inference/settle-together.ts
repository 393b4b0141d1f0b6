// Charges of one project that come at the same moment are written in one transaction: they share its round trips, its
// commit and the lock on the rows that carry the money, which every one of them needs. Each caller still waits until
// its own charge is committed and, where a limit or a kept answer stands behind it, on the disk (decision 0142). What
// must be written together with more than that and its usage event does not come here.
import type { Hold, RowFate, Settlement } from '../budgets/budget.ts'
import type { BudgetStore, Spender } from '../budgets/budget-store.ts'
import type { Slices } from '../budgets/slice-store.ts'
import { byDigest } from '../idempotency/idempotency.ts'
import type { Db } from '../storage/db.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { UsageEvent } from '../usage/usage-event.ts'
import type { UsageStore } from '../usage/usage-store.ts'
import { isAway } from './deferred-writes.ts'

const BATCH_MAX = 256 // bounds how long one transaction keeps the project's row
const BATCH_BYTES = 4_000_000 // of answers to keep: they are sealed, and sent to the store, in one turn
const LARGE_BYTES = 256_000 // such answers have a queue of their own: the others do not wait for them

export interface Owed {
  spender: Spender
  hold: Hold | undefined
  cost_micros: number
  event(settlement: Settlement, now: number): UsageEvent
  facts: TraceFacts
  keep?: Keeping | undefined
}

/** An answer that is kept for whoever asks again. */
export interface Keeping {
  digest: string
  /** How much there is to seal and to send. */
  bytes: number
  /** In one statement. Rejects where nothing may be charged after all. */
  write(tx: Db, settlement: Settlement): Promise<void>
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

  async function drain(name: string): Promise<void> {
    const queue = queues.get(name) ?? []
    while (queue.length > 0) await settle(nextOf(queue))
    queues.delete(name)
  }

  /** Those of all projects at once, so that an embedded store can commit them together. */
  function startAll(): void {
    for (const name of starting.splice(0)) void drain(name)
  }

  return (owed: Owed): Promise<Settlement> =>
    new Promise((resolve, reject) => {
      const name = queueOf(owed)
      const queue = queues.get(name)
      if (queue) return void queue.push({ owed, resolve, reject })
      queues.set(name, [{ owed, resolve, reject }])
      if (starting.push(name) === 1) setImmediate(startAll)
    })
}

const queueOf = ({ spender, keep }: Owed) =>
  keep && keep.bytes > LARGE_BYTES ? `${spender.project_id} large` : spender.project_id

/** Takes the next batch off the queue. An answer that is larger than a batch may be is one by itself. */
function nextOf(queue: Waiting[]): Waiting[] {
  let bytes = 0
  const past = queue.findIndex(({ owed }, at) => {
    bytes += owed.keep?.bytes ?? 0
    return at === BATCH_MAX || (at > 0 && bytes > BATCH_BYTES)
  })
  return queue.splice(0, past < 0 ? queue.length : past)
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
        ...keepsOf(owed).map(({ keep, at }) => keep.write(tx, settlements[at] as Settlement)),
      ])
    },
    { lasting, gathered: true },
  )
}

/** In the order in which reservations are renewed, too. */
const keepsOf = (owed: readonly Owed[]) =>
  owed.flatMap(({ keep }, at) => (keep ? [{ keep, at }] : [])).sort((a, b) => byDigest(a.keep, b.keep))
