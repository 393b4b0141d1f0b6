// R78: one project's work waits behind its own.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { heldTimers } from '../../test/support/held-timers.ts'
import { deferred } from '../../test/support/tampered-db.ts'
import { lanes } from './lanes.ts'
import { paced } from './paced.ts'

test('R78 of one name so much runs at a time, in order, and of others at once; what fails makes room as well', async () => {
  const inLane = lanes({ at_once: 2, waiting_max: 10 })
  const [order, ends] = [[] as string[], [deferred(), deferred(), deferred()]]
  const work = (name: string, at: number) =>
    inLane(name, async () => {
      order.push(`${name}${at}`)
      await ends[at]?.promise
      if (at === 0) throw new Error('failed')
    }).catch(() => {})
  const all = [work('a', 0), work('a', 1), work('a', 2), work('b', 2)]
  await turn()
  expect(order).toEqual(['a0', 'a1', 'b2'])
  ends[0]?.resolve()
  await all[0]
  await turn()
  expect(order).toEqual(['a0', 'a1', 'b2', 'a2'])
  for (const end of ends) end.resolve()
  await Promise.all(all)
})

test('R78 beyond so many that wait, one more is 429; afterwards there is room', async () => {
  const inLane = lanes({ at_once: 1, waiting_max: 1 })
  const end = deferred()
  const two = [inLane('a', () => end.promise), inLane('a', () => end.promise)]
  await expect(inLane('a', async () => {})).rejects.toMatchObject({ kind: 'rate_limited' })
  await expect(inLane('b', async () => 'done')).resolves.toBe('done')
  end.resolve()
  await Promise.all(two)
  await expect(inLane('a', async () => 'done')).resolves.toBe('done')
})

test('R78 who has had more than a share of the time is answered at once, and begins nothing more until it has rested', async () => {
  const timers = heldTimers()
  const time = { now: 0 }
  const inLane = lanes({ at_once: 1, waiting_max: 9, pace: paced({ share: 0.5, burst_ms: 100 }, () => time.now) })
  const begun: string[] = []
  const work = (name: string, took_ms: number) =>
    inLane(name, async () => {
      begun.push(name)
      time.now += took_ms
    })
  await work('a', 100)
  await work('a', 100)
  const third = work('a', 1)
  await work('b', 1)
  await turn()
  expect(begun).toEqual(['a', 'a', 'b'])
  timers.pass(99)
  await turn()
  expect(begun).toHaveLength(3)
  timers.pass(1)
  await third
  expect(begun).toEqual(['a', 'a', 'b', 'a'])
})
