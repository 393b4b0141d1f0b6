// R21: what must be written is written once the store is back, however often that fails, and nothing is written twice.
import { expect, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import type { Refusal } from '../core/refusal.ts'
import { unavailable } from '../storage/db.ts'
import { deferredWrites } from './deferred-writes.ts'

function scene(probe: () => Promise<unknown> = async () => {}) {
  const told: unknown[] = []
  return { told, ...deferredWrites({ onDefer: (error) => void told.push(error), probe }) }
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

test('R21 a stop waits for what was put off by something that was put off', async () => {
  const { surely, drained, pending } = scene()
  const inner = after(1, async () => {})
  const outer = after(1, () => surely(inner.write))
  await surely(outer.write)
  await drained()
  expect([inner.tries.count, pending()]).toEqual([2, 0])
})

/** What is told to a new call. */
function welcomes({ refuseWhileBehind }: Pick<ReturnType<typeof scene>, 'refuseWhileBehind'>): string {
  try {
    refuseWhileBehind()
    return 'welcome'
  } catch (error) {
    return (error as Refusal).kind
  }
}

test('R21 with sixteen waiting nothing new is begun, until they are written', async () => {
  const writes = scene()
  for (let n = 0; n < 16; n++) {
    expect(welcomes(writes)).toBe('welcome')
    await writes.surely(after(1, async () => {}).write)
  }
  expect(welcomes(writes)).toBe('unavailable')
  await writes.drained()
  expect(welcomes(writes)).toBe('welcome')
})

test('R21 so it is with sixteen that were refused at once, until the store takes a write', async () => {
  const back = after(1, async () => {})
  const asked = deferred()
  const writes = scene(() => back.write().finally(asked.resolve))
  for (let n = 0; n < 16; n++) {
    expect(welcomes(writes)).toBe('welcome')
    await after(1, async () => {})
      .write()
      .catch(writes.noteRefused)
  }
  expect([welcomes(writes), writes.pending(), writes.told]).toEqual(['unavailable', 0, []])
  await asked.promise
  expect(welcomes(writes)).toBe('unavailable') // the store was asked, and is still away
  await expect.poll(() => welcomes(writes)).toBe('welcome')
  expect(back.tries.count).toBe(2) // one asks for all
})

test('R21 what fails for another reason counts against nobody', async () => {
  const writes = scene()
  for (let n = 0; n < 20; n++) writes.noteRefused(new Error('no'))
  expect(welcomes(writes)).toBe('welcome')
})
