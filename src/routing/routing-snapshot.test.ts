// R40: what is known of a project's routes, at rest on whichever engine this run is for.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { registerCluster } from '../clusters/cluster.ts'
import { clusterStore } from '../clusters/cluster-store.ts'
import { sealing } from '../core/sealing.ts'
import { enterCredential } from '../credentials/credential.ts'
import { credentialStore } from '../credentials/credential-store.ts'
import { noGateway } from '../start/gateway-settings.ts'
import type { Db } from '../storage/db.ts'
import { listedModels } from './listed-models.ts'
import { type ClusterAddress, routingSnapshots } from './routing-snapshot.ts'

withDb((db) => {
  const snapshotOn = (on: Db, project_id: string) => {
    const listed = { of: async () => ['m1', 'm2'] }
    const snapshots = routingSnapshots({ db: on, gateway: noGateway().gateway, listed, onRestart: () => {} })
    return snapshots.of({ project_id, routing_epoch: 1 } as Parameters<typeof snapshots.of>[0])
  }

  test('R77 many credentials are read in steps, newest first, and those that are revoked not at all', async () => {
    const project_id = await projectIn(db())
    const credentials = credentialStore(db(), sealing('the secret of this server, long enough'))
    const ids: string[] = []
    for (let n = 0; n < 41; n++) {
      const told = { provider: 'openai', name: `c${n}`, secret: 'sk-proj-0123456789', models: { [`m${n}`]: 'gpt-4o' } }
      const made = enterCredential(project_id, told, NOON)
      await credentials.insert(made, NOON)
      ids.push(made.credential.id)
    }
    await credentials.revoke(project_id, ids.shift() as string)
    const { value, turns } = await turnsDuring(db(), async (on) => snapshotOn(on, project_id))
    expect(value.credentials.map(({ id }) => id)).toEqual(ids.reverse())
    expect(value.credentials[0]).toMatchObject({ provider: 'openai', settings: { models: { m40: 'gpt-4o' } } })
    if (ENGINE === 'sqlite') expect(turns).toBeGreaterThanOrEqual(4) // elsewhere others are served while it reads
  })

  test('R52 what one project’s cluster answers, or does not, is no other’s at the same address', async () => {
    const endpoint = 'https://shared.example.com'
    const clusterOf = async (served?: string[]) => {
      const project_id = await projectIn(db())
      const made = registerCluster(project_id, { name: 'c', region: 'eu', endpoint }, NOON)
      await clusterStore(db()).insert({ ...made, status: 'active' }, NOON)
      if (served) await clusterStore(db()).noteServed(project_id, made.id, served)
      return { project_id, id: made.id }
    }
    const [theirs, ours, another] = [await clusterOf(), await clusterOf(['m']), await clusterOf()]
    const listed = listedModels(heldClock(), async ({ id }: ClusterAddress) => {
      if (id === another.id) return ['x']
      throw new Error('down')
    })
    const snapshots = routingSnapshots({ db: db(), gateway: noGateway().gateway, listed, onRestart: () => {} })
    const served = async ({ project_id }: { project_id: string }) => {
      const { serving } = await snapshots.of({ project_id, routing_epoch: 1 } as Parameters<typeof snapshots.of>[0])
      const [{ served_models } = { served_models: undefined }] = await clusterStore(db()).listReported(project_id)
      return { serving: [...serving.keys()], served_models }
    }
    expect(await served(theirs)).toEqual({ serving: [], served_models: undefined })
    expect(await served(ours)).toEqual({ serving: ['m'], served_models: ['m'] })
    expect(await served(another)).toEqual({ serving: ['x'], served_models: ['x'] })
    expect(await served(theirs)).toEqual({ serving: [], served_models: undefined })
  })

  test('R77 what many clusters serve is put together in steps', async () => {
    const project_id = await projectIn(db())
    for (let n = 0; n < 40; n++) {
      const told = { name: `c${n}`, region: 'eu', endpoint: `https://c${n}.example.com` }
      await clusterStore(db()).insert(registerCluster(project_id, told, NOON), NOON)
    }
    const { value, turns } = await turnsDuring(db(), async (on) => snapshotOn(on, project_id))
    expect(value.clusters).toHaveLength(40)
    if (ENGINE === 'sqlite') expect(turns).toBeGreaterThanOrEqual(8) // of which reading takes five
  })
})
