// R53: what a caller may name, however much there is.
import { expect, test } from 'vitest'
import { turnsDuring } from '../../test/support/turns.ts'
import type { Caller } from '../core/caller.ts'
import { atOnce } from '../core/turns.ts'
import { noGateway } from '../start/gateway-settings.ts'
import type { Db } from '../storage/db.ts'
import { type ClusterFacts, servingOf } from './byoc-targets.ts'
import type { Snapshot } from './choose-route.ts'
import { modelsOfCaller, type Names } from './nameable-models.ts'

const NO_STORE = {} as Db
const modelOf = (n: number) => `m${String(n).padStart(5, '0')}`

/** Each has half of its models from the one before. */
function snapshotOf(clusters: number, models = 1_000) {
  const ofCluster = (at: number) => Array.from({ length: models }, (_, n) => modelOf((at * models) / 2 + models - n))
  const served = Array.from({ length: clusters }, (_, at) => ({
    cluster: { name: `c${at}` } as ClusterFacts,
    models: ofCluster(at),
  }))
  return {
    gateway: { ...noGateway().gateway, providers: [], prices: new Map() },
    aliases: new Map([['fast', {}]]),
    serving: atOnce(servingOf(served)),
    credentials: [],
  } as unknown as Snapshot
}

const caller = (more: Partial<Caller> = {}) => ({ project_id: 'p', ...more }) as Caller
const modelsOn = (of: () => Snapshot) => modelsOfCaller({ snapshots: { of }, listedAt: async () => [] })

test('R77 the models of many clusters are listed in steps, in their order, each under its first owner', async () => {
  const [clusters, models] = [40, 1_000]
  const snapshot = snapshotOf(clusters, models)
  const { value, turns } = await turnsDuring(NO_STORE, () => modelsOn(() => snapshot).all(caller()))
  const { ids, owners } = value
  expect(ids).toEqual([...new Set(ids)].sort())
  expect(ids).toHaveLength(1 + ((clusters + 1) * models) / 2)
  const owner = (id: string) => owners[ids.indexOf(id)]
  expect([owner('fast'), owner(modelOf(1)), owner(modelOf(1_000)), owner(modelOf(1_001))]).toEqual([
    'alias',
    'c0',
    'c0',
    'c1',
  ])
  expect(turns).toBeGreaterThanOrEqual(ids.length / 2_000)
})

test('R78 it is put together once for what is known of the routes, and looked up in from then on', async () => {
  let snapshot = snapshotOf(4)
  const models = modelsOn(() => snapshot)
  const [first, alike] = await Promise.all([models.all(caller()), models.all(caller())])
  expect(alike).toBe(first)
  const { value: owners, turns } = await turnsDuring(NO_STORE, () =>
    Promise.all(['fast', modelOf(1), 'none'].map((id) => models.ownerOf(caller(), id))),
  )
  expect([owners, turns]).toEqual([['alias', 'c0', undefined], 0])
  snapshot = snapshotOf(5)
  const later: Names = await models.all(caller())
  expect([later.ids.length - first.ids.length, await models.all(caller())]).toEqual([500, later])
})

test('R52, R78 so many names are known of all clusters together; of a known one, all that serve it', () => {
  const [one, two] = ['one', 'two'].map((name) => ({ name }) as ClusterFacts) as [ClusterFacts, ClusterFacts]
  const served = [
    { cluster: one, models: ['a', 'b', 'a'] },
    { cluster: two, models: ['c', 'd', 'b'] },
  ]
  expect([...atOnce(servingOf(served, 3))]).toEqual([
    ['a', [one]],
    ['b', [one, two]],
    ['c', [two]],
  ])
})

test('R62 only what the key may name is listed, or found', async () => {
  const snapshot = snapshotOf(4)
  const models = modelsOn(() => snapshot)
  const bound = caller({ allowed_models: [['m0000*', 'fast']] })
  const { ids, owners } = await models.all(bound)
  expect([ids.length, ids[0], owners[0]]).toEqual([10, 'fast', 'alias'])
  const found = await Promise.all([modelOf(9), modelOf(10)].map((id) => models.ownerOf(bound, id)))
  expect(found).toEqual(['c0', undefined])
})
