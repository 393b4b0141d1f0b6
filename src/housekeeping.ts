// What happens without a request: each task at its own pace, never twice at once, a failure logged and tried again.
// What concerns this process alone, and queues whose rows are claimed one by one, run on every replica; sweeps over
// what belongs to all of them run on one replica at a time.
import type { Service } from './app.ts'
import { carveStore } from './budgets/carve-store.ts'
import { clusterStore } from './clusters/cluster-store.ts'
import { loadStore } from './clusters/load-store.ts'
import { transitionStore } from './clusters/transition-store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './core/clock.ts'
import { isShared } from './counters/counters.ts'
import { RENEWAL_MS } from './idempotency/idempotency.ts'
import { keyStore } from './keys/key-store.ts'
import { refusalStore } from './refusals/refusal-store.ts'
import { FLUSH_EVERY_MS } from './refusals/refusal-tally.ts'
import { refusedCallStore } from './refusals/refused-call-store.ts'
import { sweepDeletedSessions } from './sessions/session-removal-store.ts'
import type { HousekeepingLeases, SharedTask, Task } from './start/housekeeping-lease.ts'
import { LOOK_EVERY_MS } from './start/live-providers.ts'
import { sweepLooseParts } from './storage/large-bodies.ts'
import { forgetTags } from './usage/usage-tag-store.ts'

const BEAT_MS = 5 * SECOND_MS
const KEPT_TAG_MS = 90 * DAY_MS
const KEPT_CHILD_MS = 35 * DAY_MS // longer than any window whose spending may have to be counted again (R65)

export function housekeepingTasks(service: Service, leases: HousekeepingLeases, clock: Clock): Task[] {
  const { uses, refusals, refused, idempotency, inference, people, metrics, counters, artifacts } = service
  const { notifications, recordings, providers } = service
  const { budgets } = inference
  const beat = async () => {
    await budgets.beat(clock.now())
    if (counters && isShared(counters)) counters.shareAmong(await budgets.living(clock.now())) // R50
  }
  const shared = [...sharedTasks(service, clock), ...people.sharedTasks, ...notifications.sharedTasks]
  const own: Task[] = [
    { name: 'write key use', every_ms: SECOND_MS, run: uses.flush },
    { name: 'write refusal counts', every_ms: FLUSH_EVERY_MS, run: refusals.flush },
    { name: 'write refused generations', every_ms: FLUSH_EVERY_MS, run: refused.flush },
    { name: 'write artifact use', every_ms: FLUSH_EVERY_MS, run: artifacts.flushUses },
    { name: 'write recordings', every_ms: SECOND_MS, run: recordings.tapes.flush },
    { name: 'renew reservations', every_ms: RENEWAL_MS, run: () => idempotency.renewAll(clock.now()) },
    { name: 'run background responses', every_ms: SECOND_MS, run: inference.jobs.turn },
    { name: 'probe providers', every_ms: SECOND_MS, run: inference.probes.turn },
    { name: 'look for changed providers', every_ms: LOOK_EVERY_MS, run: providers.look },
    { name: 'heartbeat', every_ms: BEAT_MS, run: beat },
    { name: 'look for other projects', every_ms: MINUTE_MS, run: inference.neighbours.look },
    { name: 'give back unused slices', every_ms: SECOND_MS, run: inference.slices.giveBackUnused },
    ...people.tasks,
    ...notifications.tasks,
  ]
  return [
    ...own,
    ...shared.map((task) => ({
      ...task,
      async run() {
        if (task.isDue && !(await task.isDue())) return
        if (await leases.turn(task)) metrics.housekeepingRuns.inc({ task: task.name })
      },
    })),
  ]
}

function sharedTasks(
  { idempotencyOn, inference, artifacts, contents, recordings, purges, replays, metrics, app: { log } }: Service,
  clock: Clock,
): SharedTask[] {
  return [
    {
      name: 'return orphaned holds',
      every_ms: RENEWAL_MS,
      async run(db) {
        const returned = await inference.budgetsOn(db).returnOrphans(clock.now())
        if (returned > 0) log.warn({ returned }, 'returned the holds of a process that died')
      },
    },
    {
      name: 'end keys',
      every_ms: 5 * SECOND_MS,
      async run(db) {
        while (await keyStore(db).forgetPrevious(clock.now()));
        while ((await carveStore(db).returnDue(clock.now())) > 0);
      },
    },
    {
      name: 'forget ended child keys',
      every_ms: HOUR_MS,
      async run(db) {
        while (await carveStore(db).forgetEnded(clock.now() - KEPT_CHILD_MS));
      },
    },
    {
      name: 'sweep kept responses',
      every_ms: MINUTE_MS,
      async run(db) {
        while (await idempotencyOn(db).sweep(clock.now()));
      },
    },
    {
      name: 'sweep background responses',
      every_ms: MINUTE_MS,
      async run(db) {
        while (await inference.backgroundOn(db).sweep(clock.now()));
      },
    },
    {
      name: 'sweep deleted sessions',
      every_ms: MINUTE_MS,
      async run(db) {
        while (await sweepDeletedSessions(db));
      },
    },
    {
      name: 'sweep parts of large bodies',
      every_ms: MINUTE_MS,
      async run(db) {
        while (await sweepLooseParts(db, clock.now()));
      },
    },
    { name: 'sweep artifacts', every_ms: MINUTE_MS, run: (db) => artifacts.sweep(db) },
    { name: 'sweep recordings', every_ms: MINUTE_MS, run: (db) => recordings.sweep(db) },
    { name: 'sweep contents', every_ms: MINUTE_MS, run: (db) => contents.sweep(db) },
    { name: 'run purge jobs', every_ms: SECOND_MS, isDue: purges.isDue, run: purges.turn },
    { name: 'sweep purge jobs', every_ms: MINUTE_MS, run: purges.sweep },
    { name: 'run replay runs', every_ms: SECOND_MS, isDue: replays.isDue, run: replays.turn },
    { name: 'sweep replay runs', every_ms: MINUTE_MS, run: replays.sweep },
    {
      name: 'forget tags',
      every_ms: HOUR_MS,
      async run(db) {
        while (await forgetTags(db, clock.now() - KEPT_TAG_MS));
      },
    },
    {
      name: 'sweep silent clusters',
      every_ms: 5 * SECOND_MS,
      async run(db) {
        for (const cluster of await clusterStore(db).sweepSilent(clock.now()))
          log.warn(
            { cluster_id: cluster.id, project_id: cluster.project_id },
            'no heartbeat for too long: the cluster is down',
          )
      },
    },
    {
      name: 'count budgets',
      every_ms: MINUTE_MS,
      run: async () => metrics.targets.noteBudgets(await inference.budgetState()),
    },
    {
      name: 'sweep refusals and transitions',
      every_ms: MINUTE_MS,
      async run(db) {
        while (await refusalStore(db).sweep(clock.now()));
        while (await refusedCallStore(db).sweep(clock.now()));
        while (await transitionStore(db).sweep(clock.now()));
        while (await loadStore(db).sweep(clock.now()));
      },
    },
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
