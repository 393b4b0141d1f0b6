// The embedded store's second thread comes and goes by need, and does first what calls wait for.
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freshDb } from '../../test/support/databases.ts'
import { aside, asideFirst, type Db, sql } from './db.ts'

test('§store with nothing to do the thread ends, and another one serves whoever comes next', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const started: Worker[] = []
  const note = (worker: Worker) => void started.push(worker)
  process.on('worker', note)
  onTestFinished(() => {
    process.off('worker', note)
    vi.useRealTimers()
  })
  const { db, drop } = await freshDb('sqlite')
  onTestFinished(drop)
  const read = () => db.rows({ text: ['SELECT 1 AS one'], values: [], once: true })

  await read()
  vi.advanceTimersByTime(10_000) // whichever thread there was has ended
  started.length = 0
  expect(await read()).toEqual([{ one: 1 }])
  expect(await read()).toEqual([{ one: 1 }])
  expect(started).toHaveLength(1)
  const ended = new Promise<number>((resolve) => started[0]?.once('exit', resolve))
  vi.advanceTimersByTime(9_999)
  expect(await read()).toEqual([{ one: 1 }])
  vi.advanceTimersByTime(10_000)
  expect(await ended).toBe(0)
  expect(await read()).toEqual([{ one: 1 }])
  expect(started).toHaveLength(2)
})

/** Told in the order in which they were read. */
async function orderOf(db: Db, asked: readonly { name: string; first?: true; rows?: number }[]): Promise<string[]> {
  const order: string[] = []
  const all = asked.map(async ({ name, first, rows = 1 }) => {
    const counted = sql`SELECT COUNT(*) AS counted FROM (
      WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < ${rows})
      SELECT n FROM counting)`
    expect(await db.rows(first ? asideFirst(counted) : aside(counted))).toEqual([{ counted: rows }])
    order.push(name)
  })
  await Promise.all(all)
  return order
}

test('R78 what a call waits for goes before lists that wait for the thread already', async () => {
  const { db, drop } = await freshDb('sqlite')
  onTestFinished(drop)
  const lists = ['list 1', 'list 2', 'list 3'].map((name) => ({ name, rows: 1_000 }))
  expect(await orderOf(db, [...lists, { name: 'call', first: true }])).toEqual(['list 1', 'call', 'list 2', 'list 3'])
})

test('R78 of nine tasks of the thread one is of the lists, however many calls wait', async () => {
  const { db, drop } = await freshDb('sqlite')
  onTestFinished(drop)
  const calls = Array.from({ length: 20 }, (_, n) => ({ name: `call ${n}`, first: true as const }))
  const order = await orderOf(db, [{ name: 'begun' }, { name: 'list 1' }, { name: 'list 2' }, ...calls])
  expect([order.indexOf('begun'), order.indexOf('list 1'), order.indexOf('list 2')]).toEqual([0, 9, 18])
})
