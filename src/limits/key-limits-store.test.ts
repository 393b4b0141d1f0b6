// The limits of keys at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type KeyLimitsStore, keyLimitsStore } from './key-limits-store.ts'

const NONE = {
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_streams: null,
  max_parallel_requests: null,
  models: null,
}
const ALL = {
  requests_per_minute: 1_000_000_000,
  tokens_per_minute: 2,
  concurrent_streams: 3,
  max_parallel_requests: 4,
  models: [{ model: 'gpt-4o*', requests_per_minute: 5 }],
}

withDb((db) => {
  const store = () => keyLimitsStore(db())

  async function key() {
    const project_id = await projectIn(db())
    const minted = createKey(project_id, { name: 'ci' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    return { project_id, key_id: minted.api_key.id, hash: minted.hash }
  }

  test('§8.1 given, left alone, cleared one by one', async () => {
    const { project_id, key_id } = await key()
    expect(await store().find(project_id, key_id)).toEqual(NONE)
    expect(await store().set(project_id, key_id, ALL)).toEqual(ALL)
    expect(await store().set(project_id, key_id, {})).toEqual(ALL)
    expect(await store().set(project_id, key_id, { tokens_per_minute: null })).toEqual({
      ...ALL,
      tokens_per_minute: null,
    })
    expect(await store().set(project_id, key_id, { concurrent_streams: null, tokens_per_minute: 9 })).toEqual({
      ...ALL,
      tokens_per_minute: 9,
      concurrent_streams: null,
    })
    expect(await store().find(project_id, key_id)).toMatchObject({ tokens_per_minute: 9 })
  })

  test('§8.1 they are read together with the key, and absent where it has none', async () => {
    const { project_id, key_id, hash } = await key()
    expect(await keyStore(db()).findHolder(hash, NOON)).not.toHaveProperty('limits')
    await store().set(project_id, key_id, { concurrent_streams: 3 })
    expect((await keyStore(db()).findHolder(hash, NOON))?.limits).toEqual({ ...NONE, concurrent_streams: 3 })
    await store().set(project_id, key_id, NONE)
    expect(await keyStore(db()).findHolder(hash, NOON)).not.toHaveProperty('limits')
  })

  test('§8.1 the key itself comes back as ever, but for how many may run, which is its own field too', async () => {
    const { project_id, key_id } = await key()
    const before = await keyStore(db()).find(project_id, key_id)
    await store().set(project_id, key_id, ALL)
    expect(await keyStore(db()).find(project_id, key_id)).toEqual({ ...before, max_parallel_requests: 4 })
  })

  async function reachOfAStranger(on: KeyLimitsStore): Promise<string[]> {
    const { project_id, key_id } = await key()
    const stranger = await projectIn(db())
    const done: string[] = []
    if (await on.find(stranger, key_id)) done.push('find')
    if (await on.set(stranger, key_id, ALL)) done.push('set')
    expect(await store().find(project_id, key_id)).toEqual(done.includes('set') ? ALL : NONE)
    return done
  }

  test('§5.8 another project’s key is out of reach, and an unknown one unknown', async () => {
    expect(await reachOfAStranger(store())).toEqual([])
    expect(await store().set(await projectIn(db()), 'key_unknown', ALL)).toBeUndefined()
  })

  test('§5.8 planted: statements that do not name the project are caught', async () => {
    const tampering: Tampering = {}
    mutateSql(tampering, /WHERE project_id = $/, "WHERE '' <> ")
    expect(await reachOfAStranger(keyLimitsStore(tamperedDb(db(), tampering)))).toEqual(['find', 'set'])
  })
})
