// R53: what a caller may name, however much there is.
import { expect, test } from 'vitest'
import { turnsDuring } from '../../test/support/turns.ts'
import type { Caller } from '../core/caller.ts'
import { noGateway } from '../start/gateway-settings.ts'
import type { Db } from '../storage/db.ts'
import type { Snapshot } from './choose-route.ts'
import { modelsOfCaller } from './model-routes.ts'

const NO_STORE = {} as Db

test('R77 the models of many clusters are listed in steps, in their order, each under its first owner', async () => {
  const [clusters, models] = [40, 1_000]
  const modelOf = (n: number) => `m${String(n).padStart(5, '0')}`
  // Each has half of its models from the one before.
  const ofCluster = (at: number) => Array.from({ length: models }, (_, n) => modelOf((at * models) / 2 + models - n))
  const snapshot = {
    gateway: { ...noGateway().gateway, providers: [], prices: new Map() },
    aliases: new Map([['fast', {}]]),
    clusters: Array.from({ length: clusters }, (_, at) => ({ name: `c${at}`, models: ofCluster(at) })),
    credentials: [],
  } as unknown as Snapshot
  const listing = modelsOfCaller({ snapshots: { of: () => snapshot }, listedAt: async () => [] })
  const { value, turns } = await turnsDuring(NO_STORE, () => listing({} as Caller))
  const ids = value.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)].sort())
  expect(ids).toHaveLength(1 + ((clusters + 1) * models) / 2)
  const owner = (id: string) => value.find((one) => one.id === id)?.owned_by
  expect([owner('fast'), owner(modelOf(1)), owner(modelOf(1_000)), owner(modelOf(1_001))]).toEqual([
    'alias',
    'c0',
    'c0',
    'c1',
  ])
  expect(turns).toBeGreaterThanOrEqual((clusters * models) / 2_000)
})
