// §3.1, R13: every change of a status is on record, once, with the change; and nothing else is.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS, rfc3339, SECOND_MS } from '../core/clock.ts'
import { registerCluster } from './cluster.ts'
import { type ClusterStore, clusterStore } from './cluster-store.ts'
import { transitionStore } from './transition-store.ts'

const DAY_MS = 24 * HOUR_MS

withDb((db) => {
  const store = () => clusterStore(db())
  const transitions = () => transitionStore(db())

  async function cluster(now = NOON) {
    const made = registerCluster(await projectIn(db()), { name: 'atlas', region: 'eu' }, now)
    await store().insert(made, now)
    return made
  }

  const told = async ({ project_id, id }: { project_id: string; id: string }, now: number) =>
    (await transitions().isKnown(project_id, id, now))
      ? (await allOf(transitions().list(project_id, id, now))).map(({ from, to, why }) => `${from} → ${to}, ${why}`)
      : undefined

  /** A whole life, with every change twice over where it can be. */
  async function life(on: ClusterStore) {
    const made = await cluster()
    const { project_id, id } = made
    const beats = ['active', 'active', 'draining', 'draining', 'active'] as const
    for (const [at, status] of beats.entries()) await on.recordHeartbeat(project_id, id, { status }, NOON + at)
    await on.sweepSilent(NOON + 91 * SECOND_MS)
    await on.sweepSilent(NOON + 92 * SECOND_MS)
    await on.recordHeartbeat(project_id, id, { status: 'active' }, NOON + 93 * SECOND_MS)
    await on.remove(project_id, id, NOON + 94 * SECOND_MS)
    return told(made, NOON + 95 * SECOND_MS)
  }

  const LIFE = [
    'active → deregistered, deregister',
    'down → active, heartbeat',
    'active → down, sweep',
    'draining → active, heartbeat',
    'active → draining, heartbeat',
    'registering → active, heartbeat',
    'null → registering, register',
  ]

  test('§3.1 each change once, newest first, of a cluster that is gone as well', async () => {
    expect(await life(store())).toEqual(LIFE)
  })

  test('§3.1 planted: a status set without the one before it is caught', async () => {
    const tampering: Tampering = {}
    mutateSql(tampering, 'SET previous_status = status, status =', 'SET status =')
    expect(await life(clusterStore(tamperedDb(db(), tampering)))).not.toEqual(LIFE)
  })

  test('R21 of fifty heartbeats at once, the change is recorded by one', async () => {
    const made = await cluster()
    const { project_id, id } = made
    await Promise.all(
      Array.from({ length: 50 }, () => store().recordHeartbeat(project_id, id, { status: 'active' }, NOON)),
    )
    expect(await told(made, NOON)).toEqual(['registering → active, heartbeat', 'null → registering, register'])
  })

  test('R21 what does not happen is not on record', async () => {
    const made = await cluster()
    const { project_id, id } = made
    const failing = db().transaction(async (tx) => {
      await clusterStore(tx).recordHeartbeat(project_id, id, { status: 'down' }, NOON)
      throw new Error('undone')
    })
    await expect(failing).rejects.toThrow('undone')
    expect(await told(made, NOON)).toEqual(['null → registering, register'])
  })

  test('of the last day only; after it, none, as long as the cluster is there', async () => {
    const made = await cluster()
    expect(await told(made, NOON + DAY_MS - 1)).toHaveLength(1)
    expect(await told(made, NOON + DAY_MS)).toEqual([])
    await store().remove(made.project_id, made.id, NOON + DAY_MS)
    expect(await told(made, NOON + 2 * DAY_MS)).toBeUndefined()
  })

  test('§5.8 another project’s are out of reach', async () => {
    const made = await cluster()
    const stranger = await projectIn(db())
    expect(await transitions().isKnown(stranger, made.id, NOON)).toBe(false)
    expect(await allOf(transitions().list(stranger, made.id, NOON))).toEqual([])
  })

  test('swept after 30 days, not a moment before', async () => {
    const made = await cluster()
    const left = async () => {
      const all = await allOf(transitionStore(db()).list(made.project_id, made.id, NOON))
      return all.length
    }
    await transitions().sweep(NOON + 30 * DAY_MS - 1)
    expect(await left()).toBe(1)
    expect(await transitions().sweep(NOON + 30 * DAY_MS)).toBe(false)
    expect(await left()).toBe(0)
    expect((await store().find(made.project_id, made.id))?.updated_at).toBe(rfc3339(NOON))
  })
})
