// When the log is brought into the file, with a thread that answers what the test says and time that stands still.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { checkpoints } from './sqlite-checkpoints.ts'
import type { Connection } from './sqlite-connection.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const LONG_BYTES = 2 * 1024 * 1024

function scene(log = { bytes: LONG_BYTES }) {
  const asked: ((answer: number | Error) => void)[] = []
  const executed: string[] = []
  const writer = { connection: { exec: (text: string) => executed.push(text) } } as unknown as Connection
  const checkpoint = () =>
    new Promise<number>((resolve, reject) =>
      asked.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer))),
    )
  const { beforeWrite, stop } = checkpoints(writer, { checkpoint }, () => log.bytes)
  return {
    asked,
    executed,
    beforeWrite,
    stop,
    async answer(answer: number | Error) {
      asked.at(-1)?.(answer)
      await new Promise((next) => setImmediate(next))
    },
  }
}

test('§store the thread is asked a second after a write, once for all that came meanwhile', async () => {
  const { beforeWrite, asked, answer } = scene()
  for (let n = 0; n < 100; n++) beforeWrite()
  vi.advanceTimersByTime(999)
  expect(asked).toHaveLength(0)
  vi.advanceTimersByTime(1)
  beforeWrite()
  vi.advanceTimersByTime(10_000)
  expect(asked).toHaveLength(1)
  await answer(900)
  vi.advanceTimersByTime(10_000)
  expect(asked).toHaveLength(1)
  beforeWrite()
  vi.advanceTimersByTime(1_000)
  expect(asked).toHaveLength(2)
})

test('§store what the thread left of a long log is done by the writer, once', async () => {
  const { beforeWrite, executed, answer } = scene()
  beforeWrite()
  vi.advanceTimersByTime(1_000)
  await answer(4_001)
  beforeWrite()
  beforeWrite()
  expect(executed).toEqual(['PRAGMA wal_checkpoint(PASSIVE)'])
})

test('§store of a short log, what is left waits for the next time', async () => {
  const { beforeWrite, executed, answer } = scene()
  beforeWrite()
  vi.advanceTimersByTime(1_000)
  await answer(4_000)
  beforeWrite()
  expect(executed).toEqual([])
})

test('§store a thread that fails is asked again after the next write; after a stop it is not', async () => {
  const { beforeWrite, stop, asked, answer } = scene()
  beforeWrite()
  vi.advanceTimersByTime(1_000)
  await answer(new Error('The thread of the store has ended.'))
  beforeWrite()
  vi.advanceTimersByTime(1_000)
  expect(asked).toHaveLength(2)
  await answer(1)
  beforeWrite()
  stop()
  vi.advanceTimersByTime(10_000)
  expect(asked).toHaveLength(2)
})

test('§store a short log waits for a minute; one that grows meanwhile does not', async () => {
  const log = { bytes: LONG_BYTES - 1 }
  const { beforeWrite, asked, answer } = scene(log)
  beforeWrite()
  vi.advanceTimersByTime(59_999)
  expect(asked).toHaveLength(0)
  vi.advanceTimersByTime(1)
  expect(asked).toHaveLength(1)
  await answer(300)
  beforeWrite()
  vi.advanceTimersByTime(5_000)
  beforeWrite()
  log.bytes = LONG_BYTES
  vi.advanceTimersByTime(1_000)
  expect(asked).toHaveLength(2)
})
