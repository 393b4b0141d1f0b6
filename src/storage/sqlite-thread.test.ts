// The embedded store's second thread comes and goes by need.
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freshDb } from '../../test/support/databases.ts'

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
