// §5, R5: from a raw key to its holder, asking the store only about keys that can exist.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import type { Caller } from '../core/caller.ts'
import { createKey, hashKey } from './key.ts'
import { type KeyHolders, keyHolders } from './key-holders.ts'

const OPERATORS = `svc_live_${'o'.repeat(40)}`

/** A store that tells of changes, where it `tells` at all. */
async function holdersOver(known: readonly string[], tells = false) {
  const asked: string[] = []
  const active = new Map(known.map((raw, n) => [hashKey(raw), holder(`key_${n}`)]))
  const clock = heldClock()
  let changed = () => {}
  const watch = (tell: () => void) => {
    changed = tell
  }
  const store = {
    async findHolder(hash: string) {
      asked.push(hash)
      return active.get(hash)
    },
    findHolderById: async (_project_id: string, key_id: string) =>
      [...active.values()].find((one) => one.key_id === key_id),
    operatorHashes: async () => new Set([hashKey(OPERATORS)]),
  }
  const noted: string[] = []
  const uses = { note: (key_id: string) => void noted.push(key_id) }
  const holders = await keyHolders({ store, uses, clock, ...(tells && { watch }) })
  const revoke = (raw: string) => {
    active.delete(hashKey(raw))
    changed()
  }
  const end = (raw: string, works_until: number) => active.set(hashKey(raw), { ...holder('key_0'), works_until })
  return { holders, asked, noted, clock, revoke, end }
}

const holder = (key_id: string): Caller => ({
  key_id,
  project_id: 'prj_1',
  scopes: ['admin'],
  owner_verified: true,
  budget_micros: undefined,
  project_cap_micros: undefined,
  routing_epoch: 0,
})
const NOWHERE = () => undefined
const minted = () => createKey('prj_1', { name: 'ci' }, NOON).raw

test('§5.1 a known key is its holder, and its use is noted', async () => {
  const raw = minted()
  const { holders, noted } = await holdersOver([raw])
  expect(await holders.find(raw, NOWHERE)).toEqual(holder('key_0'))
  expect(noted).toEqual(['key_0'])
})

test('R5 ten thousand keys with a wrong checksum cause no look-up at all', async () => {
  const { holders, asked, noted } = await holdersOver([])
  const wrong = Array.from({ length: 10_000 }, () => {
    const raw = minted()
    return raw.slice(0, -1) + (raw.endsWith('a') ? 'b' : 'a')
  })
  const answers = await Promise.all(
    [...wrong, `svc_live_${'x'.repeat(40)}`, 'a', ''].map((raw) => holders.find(raw, NOWHERE)),
  )
  expect(answers.every((caller) => caller === undefined)).toBe(true)
  expect([asked, noted]).toEqual([[], []])
})

test('R5 an operator’s key of any form is looked up', async () => {
  const { holders } = await holdersOver([OPERATORS])
  expect(await holders.find(OPERATORS, NOWHERE)).toEqual(holder('key_0'))
})

test('§5.3 a well-formed key that nobody has is nobody’s, and no use is noted', async () => {
  const { holders, asked, noted } = await holdersOver([])
  expect(await holders.find(minted(), NOWHERE)).toBeUndefined()
  expect([asked.length, noted.length]).toEqual([1, 0])
})

type Finder = Pick<KeyHolders, 'find'>

/** §5.4: used, revoked, used again at once. */
async function worksAfterRevocation(tells: boolean, wrap = (holders: Finder) => holders): Promise<boolean> {
  const raw = minted()
  const { holders, revoke } = await holdersOver([raw], tells)
  const finder = wrap(holders)
  if (!(await finder.find(raw, NOWHERE))) throw new Error('it should have worked before')
  revoke(raw)
  return (await finder.find(raw, NOWHERE)) !== undefined
}

test('§5.4 a revoked key stops at once, remembered or not', async () => {
  expect([await worksAfterRevocation(false), await worksAfterRevocation(true)]).toEqual([false, false])
})

test('§5.4 planted: a cache of holders is caught', async () => {
  const caching = (holders: Finder): Finder => {
    const cache = new Map<string, Caller | undefined>()
    return {
      async find(raw) {
        if (!cache.has(raw)) cache.set(raw, await holders.find(raw, NOWHERE))
        return cache.get(raw)
      },
    }
  }
  expect(await worksAfterRevocation(false, caching)).toBe(true)
})

test('§5 where the store tells of changes it is asked once, and each use is noted all the same', async () => {
  const [raw, other] = [minted(), minted()]
  const { holders, asked, noted, revoke } = await holdersOver([raw, other], true)
  await holders.find(raw, NOWHERE)
  expect(holders.find(raw, NOWHERE)).toEqual(holder('key_0')) // at once: no promise
  expect([asked.length, noted.length]).toEqual([1, 2])
  revoke(other)
  expect(await holders.find(raw, NOWHERE)).toEqual(holder('key_0'))
  expect(asked.length).toBe(2)
})

test('§5 where the store tells of nothing it is asked on every request', async () => {
  const raw = minted()
  const { holders, asked } = await holdersOver([raw])
  for (const _ of [1, 2, 3]) await holders.find(raw, NOWHERE)
  expect(asked.length).toBe(3)
})

test('§5.4 what was read before a change is not remembered after it', async () => {
  const raw = minted()
  const { holders, revoke } = await holdersOver([raw], true)
  const reading = holders.find(raw, NOWHERE)
  revoke(raw)
  await reading
  expect(await holders.find(raw, NOWHERE)).toBeUndefined()
})

test('R60, R61 a remembered key is asked for again at its end', async () => {
  const raw = minted()
  const { holders, asked, clock, end } = await holdersOver([raw], true)
  end(raw, NOON + 1_000)
  await holders.find(raw, NOWHERE)
  clock.advance(999)
  expect(holders.find(raw, NOWHERE)).toMatchObject({ key_id: 'key_0' })
  clock.advance(1)
  await holders.find(raw, NOWHERE)
  expect(asked.length).toBe(2)
})

test('R74 a lent secret speaks for its key until it is ended, and for none that is revoked', async () => {
  const raw = minted()
  const { holders, revoke } = await holdersOver([raw], true)
  const lent = holders.lend('prj_1', 'key_0')
  expect((await holders.find(lent.secret, NOWHERE))?.key_id).toBe('key_0')
  revoke(raw)
  expect(await holders.find(lent.secret, NOWHERE)).toBeUndefined()
  lent.end()
  expect(await holders.find(lent.secret, NOWHERE)).toBeUndefined()
})
