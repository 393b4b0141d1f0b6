// R78: one project's work waits behind its own.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import { lanes } from './lanes.ts'

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
