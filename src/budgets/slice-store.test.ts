// R43 with slices, on whichever engine this run is for: as many are admitted as without them, no limit is passed, and
// nothing stays held where nothing runs.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { both, heldIn, sliceScene, take, takeAll } from '../../test/support/slice-scene.ts'
import { keyStore } from '../keys/key-store.ts'
import type { Hold } from './budget.ts'
import { slices } from './slice-store.ts'

withDb((db) => {
  const { one, newKey, spender, books, settle, counted } = sliceScene(db)

  test('R43 a call alone holds exactly its own, and takes its row with it', async () => {
    const [from, who] = [one(), await spender(1_000, 5_000)]
    const hold = await take(from, who, 300)
    expect(await books(who)).toEqual(both(0, 300, [300]))
    expect(await settle(from, who, [hold], 120)).toEqual([{ charged_micros: 120, written_off_micros: 0 }])
    expect(await books(who)).toEqual(both(120, 0, []))
    await from.release(await take(from, who, 300))
    expect(await books(who)).toEqual(both(120, 0, []))
  })

  test('R43 calls side by side share a row, which shrinks by what is charged', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [first, second] = (await takeAll(from, who, 2, 300)) as [Hold, Hold]
    await settle(from, who, [first], 120)
    const { key, rows } = await books(who)
    expect([key, rows]).toEqual([{ spent_micros: 120, held_micros: 480 }, [480]])
    await take(from, who, 180) // free in memory: no statement could refuse or allow it
    expect(await books(who)).toMatchObject({ rows: [480] })
    expect(await from.hold(who, 401, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 400 })
    await settle(from, who, [second], 300)
    expect(await books(who)).toMatchObject({ rows: [180] })
  })

  test('R43 whoever waits is served by one extension, and what comes free by none', async () => {
    const who = await spender(100_000)
    const { from, count } = counted()
    const held = await takeAll(from, who, 100, 20)
    expect(held).toHaveLength(100)
    expect(count.transactions).toBeLessThanOrEqual(2) // the first alone, then all that came meanwhile
    const [, ...rest] = held as [Hold, ...Hold[]]
    await settle(from, who, rest.slice(0, 50), 5)
    const before = count.transactions
    expect(await takeAll(from, who, 35, 20)).toHaveLength(35)
    expect(count.transactions).toBe(before)
  })

  test('R43 an extension takes more while the key is hot, and a small part of what is left at the most', async () => {
    const who = await spender(1_000_000)
    const { from, count } = counted()
    await take(from, who, 10)
    for (let n = 0; n < 200; n++) await take(from, who, 10)
    expect(count.transactions).toBeLessThan(20)
    const tight = await spender(1_000)
    await take(from, tight, 10)
    for (let n = 0; n < 90; n++) await take(from, tight, 10)
    expect((await books(tight)).key).toMatchObject({ held_micros: expect.toSatisfy((held) => held <= 1_000) })
    for (let n = 0; n < 9; n++) await take(from, tight, 10)
    expect(await from.hold(tight, 1, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 0 })
  })

  test.each([
    ['the key’s', 2_019, undefined, 'key'],
    ['the project’s', undefined, 2_019, 'project'],
  ] as const)('R43 of three hundred at once exactly those get a hold that fit into %s limit', async (...row) => {
    const [, budget, cap, limit] = row
    const [from, who] = [one(), await spender(budget, cap)]
    const outcomes = await Promise.all(Array.from({ length: 300 }, () => from.hold(who, 20, NOON)))
    expect(heldIn(outcomes)).toHaveLength(100)
    expect(outcomes.at(-1)).toEqual({ kind: 'refused', limit, available_micros: 19 })
    expect(await books(who)).toEqual(both(0, 2_000, [2_000]))
  })

  test('R43 of many waiting those get a hold that fit, though a larger one before them did not', async () => {
    const [from, who] = [one(), await spender(100)]
    const kinds = await Promise.all([30, 90, 60, 20, 10].map((micros) => from.hold(who, micros, NOON)))
    expect(kinds.map(({ kind }) => kind)).toEqual(['held', 'refused', 'held', 'refused', 'held'])
    expect(kinds[1]).toMatchObject({ available_micros: 0 })
  })

  test('R43 three processes at once admit as many as fit, to the micro, and none of them leaves anything', async () => {
    const who = await spender(6_000)
    const three = ['one', 'two', 'three'].map((process) => slices(db(), process))
    let [served, most] = [0, 0]
    for (let wave = 0; wave < 12; wave++) {
      const waves = three.map(async (from) => {
        const held = await takeAll(from, who, 20, 20)
        served += held.length
        for (const hold of held) await settle(from, who, [hold], 20)
      })
      await Promise.all(waves)
      const { spent_micros, held_micros } = (await books(who)).key as { spent_micros: number; held_micros: number }
      most = Math.max(most, spent_micros + held_micros)
    }
    expect([served, most]).toEqual([300, 6_000])
    expect(await books(who)).toEqual(both(6_000, 0, []))
  })

  test('R43 keys of one project share its cap: what one keeps free goes back before the other is refused', async () => {
    const [from, first] = [one(), await spender(undefined, 1_000)]
    const second = await newKey(first.project_id)
    const [a, b] = (await takeAll(from, first, 2, 400)) as [Hold, Hold]
    await settle(from, first, [a], 100) // 300 are free in the slice of the first
    await take(from, second, 500)
    expect(await from.hold(second, 1, NOON)).toMatchObject({ kind: 'refused', limit: 'project', available_micros: 0 })
    await settle(from, first, [b], 400)
    expect((await books(first)).project).toEqual({ spent_micros: 500, held_micros: 500 })
  })

  test('R6 where the limit was changed meanwhile, what is free is judged again by the new one', async () => {
    const [from, who] = [one(), await spender(1_000)]
    const [a] = (await takeAll(from, who, 2, 400)) as [Hold]
    await settle(from, who, [a], 50) // 350 are free
    await keyStore(db()).setBudget(who.project_id, who.key_id, 460)
    const lowered = { ...who, budget_micros: 460 }
    expect(await from.hold(lowered, 11, NOON)).toEqual({ kind: 'refused', limit: 'key', available_micros: 10 })
    await take(from, lowered, 10)
    expect(await books(who)).toMatchObject({ key: { spent_micros: 50, held_micros: 410 } })
    await keyStore(db()).setBudget(who.project_id, who.key_id, 0)
    expect(await from.hold({ ...who, budget_micros: 0 }, 0, NOON)).toMatchObject({ kind: 'refused' })
  })
  test('R43 what nobody needs goes back while other calls go on', async () => {
    const [from, who] = [one(), await spender(100_000)]
    const [long, ...others] = (await takeAll(from, who, 10, 100)) as [Hold, ...Hold[]]
    for (const hold of others) await settle(from, who, [hold], 1)
    await from.giveBackUnused() // looks
    expect((await books(who)).key).toMatchObject({ held_micros: 991 })
    await take(from, who, 91)
    await from.giveBackUnused()
    expect(await books(who)).toEqual(both(9, 191, [191]))
    await settle(from, who, [long], 100)
    expect(await books(who)).toEqual(both(109, 91, [91]))
  })
})
