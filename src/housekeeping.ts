// What happens without a request: each task at its own pace, never twice at once, a failure logged and tried again.
import type { FastifyBaseLogger } from 'fastify'
import type { Service } from './app.ts'
import { carveStore } from './budgets/carve-store.ts'
import { clusterStore } from './clusters/cluster-store.ts'
import { transitionStore } from './clusters/transition-store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './core/clock.ts'
import { RENEWAL_MS } from './idempotency/idempotency.ts'
import { keyStore } from './keys/key-store.ts'
import { refusalStore } from './refusals/refusal-store.ts'
import { FLUSH_EVERY_MS } from './refusals/refusal-tally.ts'
import type { Db } from './storage/db.ts'

const BEAT_MS = 5 * SECOND_MS
const KEPT_CHILD_MS = 35 * DAY_MS // longer than any window whose spending may have to be counted again (R65)

export interface Task {
  name: string
  every_ms: number
  run(): Promise<void>
}

export function housekeepingTasks(
  { uses, refusals, idempotency, inference, people }: Service,
  db: Db,
  clock: Clock,
  log: FastifyBaseLogger,
): Task[] {
  return [
    { name: 'write key use', every_ms: SECOND_MS, run: uses.flush },
    { name: 'write refusal counts', every_ms: FLUSH_EVERY_MS, run: refusals.flush },
    { name: 'renew reservations', every_ms: RENEWAL_MS, run: () => idempotency.renewAll(clock.now()) },
    { name: 'say that we live', every_ms: BEAT_MS, run: () => inference.budgets.beat(clock.now()) },
    {
      name: 'return orphaned holds',
      every_ms: RENEWAL_MS,
      run: async () => {
        const returned = await inference.budgets.returnOrphans(clock.now())
        if (returned > 0) log.warn({ returned }, 'returned the holds of a process that died')
      },
    },
    {
      name: 'end keys',
      every_ms: 5 * SECOND_MS,
      run: async () => {
        await keyStore(db).forgetPrevious(clock.now())
        while ((await carveStore(db).returnDue(clock.now())) > 0);
      },
    },
    {
      name: 'forget ended child keys',
      every_ms: HOUR_MS,
      run: () => carveStore(db).forgetEnded(clock.now() - KEPT_CHILD_MS),
    },
    {
      name: 'sweep kept responses',
      every_ms: MINUTE_MS,
      run: async () => {
        while (await idempotency.sweep(clock.now()));
      },
    },
    {
      name: 'sweep silent clusters',
      every_ms: 5 * SECOND_MS,
      run: async () => {
        for (const cluster of await clusterStore(db).sweepSilent(clock.now()))
          log.warn({ cluster_id: cluster.id, project_id: cluster.project_id }, 'cluster is silent: down')
      },
    },
    {
      name: 'sweep refusal counts and transitions',
      every_ms: MINUTE_MS,
      run: async () => {
        while (await refusalStore(db).sweep(clock.now()));
        while (await transitionStore(db).sweep(clock.now()));
      },
    },
    ...people.tasks,
  ]
}

/** Starts every task and returns how to stop them all; stopping waits for those that are under way. */
export function startHousekeeping(tasks: readonly Task[], onFailure: (task: string, error: unknown) => void) {
  const stops = tasks.map((task) => {
    let running: Promise<void> | undefined
    const timer = setInterval(() => {
      running ??= task
        .run()
        .catch((error) => onFailure(task.name, error))
        .finally(() => {
          running = undefined
        })
    }, task.every_ms)
    return async () => {
      clearInterval(timer)
      await running
    }
  })
  return async () => void (await Promise.all(stops.map((stop) => stop())))
}
