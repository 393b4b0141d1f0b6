// §5, R5: from a raw key to its holder, asking the store only about keys that can exist.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import type { Caller } from '../core/caller.ts'
import { createKey, hashKey } from './key.ts'
import { type KeyHolders, keyHolders } from './key-holders.ts'
import { keyUse } from './key-use.ts'

const OPERATORS = `svc_live_${'o'.repeat(40)}`

async function holdersOver(known: readonly string[]) {
  const asked: string[] = []
  const active = new Map(known.map((raw, n) => [hashKey(raw), holder(`key_${n}`)]))
  const store = {
    async findHolder(hash: string) {
      asked.push(hash)
      return active.get(hash)
    },
    operatorHashes: async () => new Set([hashKey(OPERATORS)]),
  }
  const noted: string[] = []
  const uses = keyUse({ recordUses: async () => {} }, heldClock())
  const holders = await keyHolders(store, { ...uses, note: (key_id) => void noted.push(key_id) }, heldClock())
  return { holders, asked, noted, revoke: (raw: string) => active.delete(hashKey(raw)) }
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
async function worksAfterRevocation(wrap: (holders: Finder) => Finder): Promise<boolean> {
  const raw = minted()
  const { holders, revoke } = await holdersOver([raw])
  const finder = wrap(holders)
  if (!(await finder.find(raw, NOWHERE))) throw new Error('it should have worked before')
  revoke(raw)
  return (await finder.find(raw, NOWHERE)) !== undefined
}

test('§5.4 a revoked key stops at once', async () => {
  expect(await worksAfterRevocation((holders) => holders)).toBe(false)
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
  expect(await worksAfterRevocation(caching)).toBe(true)
})
