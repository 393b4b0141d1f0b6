// When the log is brought into the file, with a thread that answers what the test says.
import { expect, test } from 'vitest'
import { checkpoints } from './sqlite-checkpoints.ts'
import type { Connection } from './sqlite-connection.ts'
import type { Checkpoint } from './sqlite-thread.ts'

function scene() {
  const asked: ((answer: Checkpoint | Error) => void)[] = []
  const executed: string[] = []
  const writer = { connection: { exec: (text: string) => executed.push(text) } } as unknown as Connection
  const checkpoint = () =>
    new Promise<Checkpoint>((resolve, reject) =>
      asked.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer))),
    )
  const checkpointing = checkpoints(writer, { checkpoint })
  return {
    asked,
    executed,
    before: checkpointing.before,
    async answer(answer: Checkpoint | Error) {
      asked.at(-1)?.(answer)
      await new Promise((next) => setImmediate(next))
    },
  }
}

test('§store the thread is asked after some hundred writes, and once at a time', async () => {
  const { before, asked, answer } = scene()
  for (let n = 0; n < 300; n++) before(1)
  expect(asked).toHaveLength(0)
  for (let n = 0; n < 900; n++) before(1)
  expect(asked).toHaveLength(1)
  await answer({ log: 900, checkpointed: 900 })
  for (let n = 0; n < 301; n++) before(1)
  expect(asked).toHaveLength(2)
})

test('§store what the thread left of a long log is done by the writer, once', async () => {
  const { before, executed, answer } = scene()
  before(301)
  await answer({ log: 5_000, checkpointed: 4_990 })
  before(1)
  before(1)
  expect(executed).toEqual(['PRAGMA wal_checkpoint(PASSIVE)'])
})

test('§store of a short log, what is left waits for the next time', async () => {
  const { before, executed, answer } = scene()
  before(301)
  await answer({ log: 900, checkpointed: 880 })
  before(1)
  expect(executed).toEqual([])
})

test('§store a thread that fails is asked again after as many writes', async () => {
  const { before, asked, answer } = scene()
  before(301)
  await answer(new Error('The thread of the store has ended.'))
  before(300)
  expect(asked).toHaveLength(1)
  before(1)
  expect(asked).toHaveLength(2)
})
