// Counting in memory and writing in bulk: nothing twice, nothing lost but by a crash, and never without bound.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { HOUR_MS } from '../core/clock.ts'
import type { RefusalCount } from './refusal-kind.ts'
import { refusalStore } from './refusal-store.ts'
import { refusalTally } from './refusal-tally.ts'

const ALWAYS = { from_ms: 0, to_ms: Number.MAX_SAFE_INTEGER }
const DAY_MS = 24 * HOUR_MS

test('what is counted while it is being written stays for the next time', async () => {
  const written: RefusalCount[] = []
  const recorder = {
    async add(counts: readonly RefusalCount[]) {
      tally.note('prj_1', 'scope')
      written.push(...counts)
    },
  }
  const tally = refusalTally(recorder, heldClock(), () => {})
  tally.note('prj_1', 'scope')
  await tally.flush()
  expect(written.map(({ count }) => count)).toEqual([1])
  expect(tally.pendingOf('prj_1').map(({ count }) => count)).toEqual([1])
})

test('what could not be written is written the next time', async () => {
  let away = true
  const written: RefusalCount[] = []
  const add = async (counts: readonly RefusalCount[]) => {
    if (away) throw new Error('away')
    written.push(...counts)
  }
  const tally = refusalTally({ add }, heldClock(), () => {})
  tally.note('prj_1', 'budget')
  await expect(tally.flush()).rejects.toThrow('away')
  away = false
  tally.note('prj_1', 'budget')
  await tally.flush()
  await tally.flush()
  expect(written.map(({ kind, count }) => [kind, count])).toEqual([['budget', 2]])
})

test('memory is bounded: beyond 20,000 cells only those already there count on, and the rest is told', () => {
  let lost = 0
  const tally = refusalTally({ add: async () => {} }, heldClock(), () => lost++)
  for (let n = 0; n < 20_010; n++) tally.note(`prj_${n}`, 'scope')
  tally.note('prj_0', 'scope')
  expect([lost, tally.pendingOf('prj_0')[0]?.count, tally.pendingOf('prj_20005')]).toEqual([10, 2, []])
})

withDb((db) => {
  const store = () => refusalStore(db())

  test('two processes add to the same hour, and each project sees its own', async () => {
    const clock = heldClock()
    const tallies = [1, 2].map(() => refusalTally(store(), clock, () => {}))
    for (const tally of tallies)
      for (let n = 0; n < 3; n++) {
        tally.note('prj_a', 'key_limit')
        tally.note('prj_b', 'deadline')
      }
    await Promise.all(tallies.map((tally) => tally.flush()))
    clock.advance(HOUR_MS)
    tallies[0]?.note('prj_a', 'key_limit')
    await tallies[0]?.flush()
    const counts = (await store().list('prj_a', ALWAYS)).sort((a, b) => a.hour_ms - b.hour_ms)
    expect(counts.map(({ hour_ms, kind, count }) => [hour_ms, kind, count])).toEqual([
      [NOON, 'key_limit', 6],
      [NOON + HOUR_MS, 'key_limit', 1],
    ])
  })

  test('swept after 90 days, not a moment before', async () => {
    await store().add([{ project_id: 'prj_old', hour_ms: NOON, kind: 'scope', count: 1 }])
    await store().sweep(NOON + 90 * DAY_MS - 1)
    expect(await store().list('prj_old', ALWAYS)).toHaveLength(1)
    expect(await store().sweep(NOON + 90 * DAY_MS)).toBe(false)
    expect(await store().list('prj_old', ALWAYS)).toEqual([])
  })
})
