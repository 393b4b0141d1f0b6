// One replica at a time keeps house: whoever has the lease, and nobody who only had it.
import { expect, test } from 'vitest'
import { type HeldClock, heldClock } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { deferred } from '../../test/support/tampered-db.ts'
import { type Db, type OpenDb, sql } from '../storage/db.ts'
import {
  type HousekeepingLeases,
  housekeepingLeases,
  LeaseLost,
  leaseLength,
  type SharedTask,
} from './housekeeping-lease.ts'

const EVERY_MS = 5_000
const LEASE_MS = leaseLength(EVERY_MS)

let tasks = 0
const task = (run: SharedTask['run']): SharedTask => ({ name: `task ${++tasks}`, every_ms: EVERY_MS, run })
const mark = (db: Db, name: string, value: string) =>
  db.rows(sql`
    INSERT INTO setting (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`)

withDb((db) => {
  const replicas = (clock: HeldClock, on: OpenDb = db()) =>
    ['a', 'b', 'c'].map((holder) => housekeepingLeases(on, `${holder} ${tasks}`, clock)) as [
      HousekeepingLeases,
      HousekeepingLeases,
      HousekeepingLeases,
    ]

  const marked = async (name: string) =>
    (await db().rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = ${name}`))[0]?.value

  test('§housekeeping of three replicas that come at once, one takes the turn', async () => {
    let runs = 0
    const sweep = task(async () => void runs++)
    const turns = await Promise.all(replicas(heldClock()).map((replica) => replica.turn(sweep)))
    expect([runs, turns.filter(Boolean).length]).toEqual([1, 1])
  })

  test('§housekeeping the holder keeps it from turn to turn, and every other task is free', async () => {
    const clock = heldClock()
    const [a, b] = replicas(clock)
    const [one, two] = [task(async () => {}), task(async () => {})]
    for (let turn = 0; turn < 10; turn++) {
      expect([await a.turn(one), await b.turn(one)]).toEqual([true, false])
      clock.advance(EVERY_MS)
    }
    expect(await b.turn(two)).toBe(true)
  })

  test('§housekeeping a dead holder is replaced once its lease has lapsed, and not before', async () => {
    const clock = heldClock()
    const [dead, b] = replicas(clock)
    const sweep = task(async () => {})
    await dead.turn(sweep)
    clock.advance(LEASE_MS - 1)
    expect(await b.turn(sweep)).toBe(false)
    clock.advance(1)
    expect(await b.turn(sweep)).toBe(true)
    expect(await dead.turn(sweep)).toBe(false)
  })

  test('§housekeeping one that stops says so, and is replaced at once', async () => {
    const [a, b] = replicas(heldClock())
    const sweep = task(async () => {})
    await a.turn(sweep)
    await a.giveUp()
    expect(await b.turn(sweep)).toBe(true)
  })

  test('§housekeeping where a process is alone, it takes over at once from one that was killed', async () => {
    const [killed, b] = replicas(heldClock())
    const sweep = task(async () => {})
    await killed.turn(sweep)
    await b.forgetOthers()
    expect(await b.turn(sweep)).toBe(true)
  })

  test('§housekeeping a holder that slept through its replacement can change nothing any more', async () => {
    const clock = heldClock()
    const [sleeper, b] = replicas(clock)
    const [asleep, woken] = [deferred(), deferred()]
    const name = `mark ${tasks}`
    const sweep = task(async (fenced) => {
      await mark(fenced, name, 'before')
      asleep.resolve()
      await woken.promise
      await mark(fenced, name, 'too late')
    })
    const turn = sleeper.turn(sweep)
    await asleep.promise
    clock.advance(LEASE_MS)
    const successor = { ...sweep, run: async (fenced: Db) => void (await mark(fenced, name, 'successor')) }
    expect(await b.turn(successor)).toBe(true)
    woken.resolve()
    await expect(turn).rejects.toThrow(LeaseLost) // for the log: lost again and again, it would get nowhere in silence
    expect(await marked(name)).toBe('successor')
  })

  test('§housekeeping work that takes long keeps its lease by working', async () => {
    const clock = heldClock()
    const [a, b] = replicas(clock)
    const others: boolean[] = []
    const sweep = task(async (fenced) => {
      for (let batch = 0; batch < 5; batch++) {
        clock.advance(LEASE_MS - 1)
        await fenced.rows(sql`SELECT 1`)
        others.push(await b.turn({ ...sweep, run: async () => {} }))
      }
    })
    expect(await a.turn(sweep)).toBe(true)
    expect(others).toEqual([false, false, false, false, false])
  })

  test('§housekeeping a failure is the task’s own, and the lease stays', async () => {
    const [a, b] = replicas(heldClock())
    const sweep = task(() => Promise.reject(new Error('away')))
    await expect(a.turn(sweep)).rejects.toThrow('away')
    expect(await b.turn(sweep)).toBe(false)
  })
})
