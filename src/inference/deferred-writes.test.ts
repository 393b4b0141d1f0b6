// R21: what must be written is written once the store is back, however often that fails, and nothing is written twice.
import { expect, test } from 'vitest'
import { unavailable } from '../storage/db.ts'
import { deferredWrites } from './deferred-writes.ts'

function scene() {
  const told: unknown[] = []
  const { surely, pending, drained } = deferredWrites((error) => void told.push(error))
  return { told, surely, pending, drained }
}

/** Fails so often with the store away, then does this. */
function after<T>(failures: number, then: () => Promise<T>) {
  const tries = { count: 0 }
  const write = () => (tries.count++ < failures ? Promise.reject(unavailable(new Error('away'))) : then())
  return { tries, write }
}

test('R21 where the store answers, the result is there at once', async () => {
  const { surely, pending, told } = scene()
  expect([await surely(async () => 7), pending(), told]).toEqual([7, 0, []])
})

test('R21 where it does not, nobody waits, and it is tried until it is written', async () => {
  const { surely, pending, drained, told } = scene()
  const { tries, write } = after(2, async () => 7)
  expect([await surely(write), pending(), told.length]).toEqual([undefined, 1, 1])
  await drained()
  expect([tries.count, pending()]).toEqual([3, 0])
})

test('R21 what fails for another reason is the caller’s to hear, and not tried again', async () => {
  const { surely, pending } = scene()
  await expect(surely(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(pending()).toBe(0)
})

test('R21 so it is later, when there is nobody left to hear it: told once, and given up', async () => {
  const { surely, drained, told, pending } = scene()
  const { tries, write } = after(1, () => Promise.reject(new Error('conflict')))
  await surely(write)
  await drained()
  expect([tries.count, pending(), (told.at(-1) as Error).message]).toEqual([2, 0, 'conflict'])
})
