// R78: how much may be kept for a project, by what was counted and what came since.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { MINUTE_MS } from '../core/clock.ts'
import type { Refusal } from '../core/refusal.ts'
import { noConfigFile } from '../start/config-file.ts'
import { keptQuota } from './kept-quota.ts'

const MIB = 2 ** 20

/** `there`: what the store has, which several processes may share. */
function scene(items: number, mib: number, there = { items: 0, bytes: 0 }) {
  let counts = 0
  const quota = keptQuota({
    kinds: { items: 'kept_answers', mib: 'kept_answers_mib' },
    quotas: { ...noConfigFile().quotas, kept_answers: items, kept_answers_mib: mib },
    own: async (project_id) => (project_id === 'prj_small' ? { kept_answers: 1 } : {}),
    async count(_project_id, most) {
      counts++
      return { items: Math.min(there.items, most), bytes: there.bytes }
    },
  })
  const check = async (now = NOON, project_id = 'prj_1') => {
    try {
      await quota.check(project_id, now)
      return undefined
    } catch (error) {
      return (error as Refusal).message
    }
  }
  const keep = (bytes: number, project_id = 'prj_1') => {
    there.items++
    there.bytes += bytes
    quota.added(project_id, bytes)
  }
  return { quota, there, check, keep, counts: () => counts }
}

test('R78 the bound in number, and in bytes, is named', async () => {
  const few = scene(2, 100)
  expect(await few.check()).toBeUndefined()
  few.keep(1)
  expect(await few.check()).toBeUndefined()
  few.keep(1)
  expect(await few.check()).toContain('as many kept answers as it may have (2)')
  const small = scene(100, 1)
  await small.check()
  small.keep(MIB)
  expect(await small.check()).toContain('as many MiB of kept answers as it may have (1)')
})

test('R78 it is counted once, not at every call; near the bound once a minute', async () => {
  const { check, keep, counts } = scene(10, 100)
  // All of it at once: nobody counts twice in a second.
  for (let n = 0; n < 5; n++) {
    await check()
    keep(1)
  }
  expect(counts()).toBe(1)
  await check(NOON + MINUTE_MS)
  expect(counts()).toBe(2)
})

test('R78 however many processes keep answers of a project, together they pass its bound by little', async () => {
  const there = { items: 0, bytes: 0 }
  const processes = Array.from({ length: 4 }, () => scene(10_000, 128, there))
  let refused = 0
  for (let second = 0; refused < 4; second++) {
    refused = 0
    for (const { check, keep } of processes)
      if (await check(NOON + second * 1_000)) refused++
      else keep(MIB)
  }
  expect(there.bytes / MIB).toBeLessThanOrEqual(128 * 1.1)
  expect(there.bytes / MIB).toBeGreaterThanOrEqual(128 * 0.9)
})

test('R78 what many calls at once want to know is counted once', async () => {
  const { check, counts } = scene(10, 100)
  await Promise.all(Array.from({ length: 20 }, () => check()))
  expect(counts()).toBe(1)
})

test('R78 what has gone makes room within a minute, and what other processes added is seen by then', async () => {
  const { check, keep, there, counts } = scene(2, 100)
  there.items = 3
  await check()
  there.items = 0
  expect(await check(NOON + MINUTE_MS - 1)).toContain('may have')
  expect(counts()).toBe(1) // whoever stands at a bound does not make us count at every try
  expect(await check(NOON + MINUTE_MS)).toBeUndefined()
  there.items = 2
  keep(1)
  expect(await check(NOON + 2 * MINUTE_MS)).toContain('may have')
})

test('R78 calls under way count too, as large as the project’s answers are', async () => {
  const { quota, check, keep } = scene(100, 100)
  await check()
  keep(60 * MIB)
  quota.began('prj_1')
  expect(await check()).toContain('MiB of kept answers')
  quota.ended('prj_1')
  expect(await check()).toBeUndefined()
})

test('R78 another project’s are its own', async () => {
  const { check, keep, there } = scene(1, 100)
  await check()
  keep(1)
  there.items = 0
  expect([await check(NOON, 'prj_1'), await check(NOON, 'prj_2')]).toEqual([expect.any(String), undefined])
})

test('R79 what the operator said for one project goes before what all may have', async () => {
  const { check, keep } = scene(10, 100)
  expect(await check(NOON, 'prj_small')).toBeUndefined()
  keep(1, 'prj_small')
  expect(await check(NOON, 'prj_small')).toContain('as many kept answers as it may have (1)')
})

test('R78 room that is taken for a call under way counts until it is given back: of many at once those fit that fit', async () => {
  const { quota, there, counts } = scene(100, 1)
  const takeMany = (now: number) => Promise.all(Array.from({ length: 10 }, () => quota.take('prj_1', MIB / 4, now)))
  const howMany = async (now: number) => (await takeMany(now)).filter((taken) => taken).length
  expect([await howMany(NOON), await howMany(NOON)]).toEqual([4, 0])
  expect([await howMany(NOON + MINUTE_MS), counts()]).toEqual([0, 2]) // counted anew, and still under way
  for (let n = 0; n < 5; n++) quota.giveBack('prj_1', MIB / 4)
  there.bytes = MIB / 2
  quota.added('prj_1', there.bytes)
  expect(await howMany(NOON + MINUTE_MS)).toBe(2)
})

test('R78 where only bytes have a bound, their number has none', async () => {
  const quota = keptQuota({
    kinds: { mib: 'session_contents_mib' },
    quotas: { ...noConfigFile().quotas, session_contents_mib: 1 },
    own: async () => ({}),
    count: async () => ({ items: 10 ** 9, bytes: 0 }),
  })
  expect(await quota.take('prj_1', MIB, NOON)).toBe(true)
  expect(await quota.take('prj_1', 1, NOON)).toBe(false)
})
