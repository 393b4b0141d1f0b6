// What it costs to write usage at a size: inserts as settlements make them, rolling up, and the tasks of housekeeping.
import { systemClock } from '../src/core/clock.ts'
import { startHousekeeping } from '../src/housekeeping.ts'
import { usageTasks } from '../src/start/usage-tasks.ts'
import type { OpenDb } from '../src/storage/db.ts'
import { usageRollups } from '../src/usage/usage-rollup-store.ts'
import { usageStore } from '../src/usage/usage-store.ts'
import { median } from './figures.ts'
import { BENCH_FACTS, benchEvent, type Owner, randomness } from './usage-events.ts'
import { type Timed, time } from './usage-questions.ts'

const SETTLED_TOGETHER = 64 // as many as the load of the other benches keeps in flight
const INSERTS = 12_800
const BESIDE_MS = 14_500 // two turns of rolling up, and most of the time until the third
const KEPT_DAYS = 36_500 // nothing is old enough to go: what is timed is finding that out

export interface Writes {
  /** How many events were written to find out. */
  written: number
  insert_us: number
  insert_cpu_us: number
  inserts_per_second: number
  rolled_per_second: number
  /** Both at once: inserts without a pause, roll-ups at their own pace; what then waits. */
  beside: { inserts_per_second: number; rolled_per_second: number; left: number }
}

export async function measureWrites(db: OpenDb, owner: Owner): Promise<Writes> {
  const rollUp = taskNamed(db, 'roll up usage')
  await rollUp.run()
  const { settle, written } = settlements(db, owner)
  for (let n = 0; n < 20; n++) await settle()
  const [wall, cpu] = await inserts(settle)
  const waiting = await usageRollups(db).waiting()
  const began = performance.now()
  while ((await usageRollups(db).waiting()) > 0) await rollUp.run()
  const rolled_per_second = (waiting / (performance.now() - began)) * 1_000
  const insert_us = median(wall)
  const [insert_cpu_us, inserts_per_second] = [median(cpu), 1e6 / (wall.reduce((a, b) => a + b) / wall.length)]
  const beside = await sideBySide(db, settle)
  return { written: written(), insert_us, insert_cpu_us, inserts_per_second, rolled_per_second, beside }
}

/** Microseconds an event, by the clock and of this process's CPU, for each batch. */
async function inserts(settle: () => Promise<void>): Promise<[wall: number[], cpu: number[]]> {
  const [wall, cpu]: [number[], number[]] = [[], []]
  for (let done = 0; done < INSERTS; done += SETTLED_TOGETHER) {
    const [began, before] = [performance.now(), process.cpuUsage()]
    await settle()
    const { user, system } = process.cpuUsage(before)
    wall.push(((performance.now() - began) * 1_000) / SETTLED_TOGETHER)
    cpu.push((user + system) / SETTLED_TOGETHER)
  }
  return [wall, cpu]
}

/** One transaction for the events of charges that come together, durable when it resolves, as settlements do it. */
function settlements(db: OpenDb, owner: Owner) {
  const random = randomness(systemClock.now() % 2 ** 31)
  let made = 0
  const settle = () =>
    db.transaction(async (tx) => {
      const [store, now] = [usageStore(tx), systemClock.now()]
      for (let n = 0; n < SETTLED_TOGETHER; n++) await store.insert(benchEvent(made++, now, random, owner), BENCH_FACTS)
    })
  return { settle, written: () => made }
}

/** Inserts without a pause while housekeeping rolls up at its own pace, as a server does. */
async function sideBySide(db: OpenDb, settle: () => Promise<void>): Promise<Writes['beside']> {
  const failures: unknown[] = []
  const stop = startHousekeeping([taskNamed(db, 'roll up usage')], (_task, error) => failures.push(error))
  const began = performance.now()
  let inserted = 0
  for (; performance.now() - began < BESIDE_MS; inserted += SETTLED_TOGETHER) await settle()
  const inserts_per_second = (inserted / (performance.now() - began)) * 1_000
  const left = await usageRollups(db).waiting()
  await stop()
  if (failures.length > 0) throw failures[0]
  const rolled_per_second = inserts_per_second - (left / BESIDE_MS) * 1_000
  await taskNamed(db, 'roll up usage').run()
  return { inserts_per_second, rolled_per_second, left }
}

function taskNamed(db: OpenDb, name: string) {
  const task = usageTasks({ db, clock: systemClock, retention_days: KEPT_DAYS }).find((one) => one.name === name)
  if (!task) throw new Error(`there is no task '${name}'`)
  return task
}

/** With nothing to do, which is what they mostly have. */
export async function housekeepingTimes(db: OpenDb): Promise<Timed[]> {
  const timed: Timed[] = []
  for (const { name, run } of usageTasks({ db, clock: systemClock, retention_days: KEPT_DAYS }))
    timed.push(await time(`task: ${name}`, run))
  return timed
}
