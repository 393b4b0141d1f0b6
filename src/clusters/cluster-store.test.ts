// Clusters at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { holdNextTransaction, mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { rfc3339, SECOND_MS } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { foundProject } from '../start/bootstrap.ts'
import { sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import { type Cluster, type ReportedStatus, registerCluster } from './cluster.ts'
import { type ClusterStore, clusterStore } from './cluster-store.ts'

withDb((db) => {
  const store = () => clusterStore(db())
  let projects = 0

  async function project(): Promise<string> {
    const founding = { name: 'p', owner_email: `c${++projects}@example.com`, verified: true }
    return (await foundProject(db(), founding, NOON)).project.id
  }

  async function cluster(project_id: string, now = NOON): Promise<Cluster> {
    const made = registerCluster(project_id, { name: 'atlas', region: 'eu', endpoint: 'http://10.0.0.1/v1' }, now)
    await store().insert(made, now)
    return made
  }

  function planted(from: string | RegExp, to: string): ClusterStore {
    const tampering: Tampering = {}
    mutateSql(tampering, from, to)
    return clusterStore(tamperedDb(db(), tampering))
  }

  test('§2.3 a cluster comes back as it went in', async () => {
    const made = await cluster(await project())
    expect(await store().find(made.project_id, made.id)).toEqual(made)
  })

  /** R11: a hundred in one millisecond, and a few before and after. */
  async function listsNewestFirst(on: ClusterStore): Promise<boolean> {
    const id = await project()
    const made: string[] = []
    for (const now of [NOON, ...Array<number>(100).fill(NOON + 1), NOON + 2]) made.push((await cluster(id, now)).id)
    return JSON.stringify((await allOf(on.list(id))).map((one) => one.id)) === JSON.stringify(made.reverse())
  }

  test('R11 newest first, ties by insertion', async () => {
    expect(await listsNewestFirst(store())).toBe(true)
  })

  test.each(['created_at DESC, id DESC', 'sequence ASC'])('R11 planted: ORDER BY %s is caught', async (order) => {
    expect(await listsNewestFirst(planted('ORDER BY sequence DESC', `ORDER BY ${order}`))).toBe(false)
  })

  test.each(['active', 'draining', 'down'] as const)(
    'R13 %s is applied as reported, from any state',
    async (status) => {
      const made = await cluster(await project())
      for (const before of ['active', 'draining', 'down'] as const) {
        await store().recordHeartbeat(made.project_id, made.id, { status: before }, NOON + 1)
        const after = await store().recordHeartbeat(made.project_id, made.id, { status }, NOON + 2)
        expect(after).toEqual({ ...made, status, updated_at: rfc3339(NOON + 2), last_heartbeat_at: rfc3339(NOON + 2) })
      }
    },
  )

  test('T-77 a late heartbeat does not move last_heartbeat_at back', async () => {
    const { project_id, id } = await cluster(await project())
    await store().recordHeartbeat(project_id, id, { status: 'active' }, NOON + 5_000)
    const late = await store().recordHeartbeat(project_id, id, { status: 'draining' }, NOON + 1_000)
    expect([late?.status, late?.last_heartbeat_at]).toEqual(['draining', rfc3339(NOON + 5_000)])
  })

  test('R13 a heartbeat does not bring a deleted cluster back', async () => {
    const { project_id, id } = await cluster(await project())
    expect(await store().remove(project_id, id, NOON)).toBe(true)
    expect(await store().recordHeartbeat(project_id, id, { status: 'active' }, NOON)).toBeUndefined()
    expect(await allOf(store().list(project_id))).toEqual([])
  })

  test('T-78 fifty heartbeats racing a deletion never bring it back', async () => {
    const { project_id, id } = await cluster(await project())
    const beats = Array.from({ length: 50 }, () => store().recordHeartbeat(project_id, id, { status: 'active' }, NOON))
    await Promise.all([...beats.slice(0, 25), store().remove(project_id, id, NOON), ...beats.slice(25)])
    expect(await store().find(project_id, id)).toBeUndefined()
  })

  /** What of another project's cluster can be seen or touched. */
  async function reachOfAStranger(on: ClusterStore): Promise<string[]> {
    const { project_id, id } = await cluster(await project())
    const stranger = await project()
    const done: string[] = []
    if (await on.find(stranger, id)) done.push('find')
    if ((await allOf(on.list(stranger))).some((one) => one.id === id)) done.push('list')
    if (await on.recordHeartbeat(stranger, id, { status: 'down' }, NOON)) done.push('heartbeat')
    if (await on.remove(stranger, id, NOON)) done.push('remove')
    if (done.length === 0 && (await store().find(project_id, id))?.status !== 'registering') done.push('touched')
    return done
  }

  test('§5.8 another project’s cluster is out of reach', async () => {
    expect(await reachOfAStranger(store())).toEqual([])
  })

  test('§5.8 planted: statements that do not name the project are caught', async () => {
    const open = planted(/WHERE project_id = $/, "WHERE '' <> ")
    expect(await reachOfAStranger(open)).toEqual(['find', 'list', 'heartbeat', 'remove'])
  })

  async function sweepFaults(on: ClusterStore, status: ReportedStatus): Promise<string[]> {
    const { project_id, id } = await cluster(await project())
    const beat = NOON + 1_000
    await store().recordHeartbeat(project_id, id, { status }, beat)
    const faults: string[] = []
    await on.sweepSilent(beat + 90 * SECOND_MS - 1)
    if ((await store().find(project_id, id))?.status !== status) faults.push('too early')
    const swept = await on.sweepSilent(beat + 90 * SECOND_MS)
    const after = await store().find(project_id, id)
    if (after?.status !== 'down') faults.push('too late')
    if (!swept.some((one) => one.id === id && one.project_id === project_id)) faults.push('not told')
    if (after?.last_heartbeat_at !== rfc3339(beat)) faults.push('last_heartbeat_at changed')
    return faults
  }

  test.each(['active', 'draining'] as const)('R13 %s and silent is down at 90 s exactly', async (status) => {
    expect(await sweepFaults(store(), status)).toEqual([])
  })

  test.each([
    ['a millisecond late', 'last_heartbeat_at <= ', 'last_heartbeat_at < ', ['too late', 'not told']],
    ['blind to draining', "('active', 'draining')", "('active')", ['too late', 'not told']],
  ])('R13 planted: a sweep that is %s is caught', async (_case, from, to, faults) => {
    expect(await sweepFaults(planted(from, to), 'draining')).toEqual(faults)
  })

  test('R13 one that never reported stays registering; one that is down is not swept again', async () => {
    const silent = await cluster(await project())
    const down = await cluster(await project())
    await store().recordHeartbeat(down.project_id, down.id, { status: 'down' }, NOON)
    const swept = (await store().sweepSilent(NOON + 1e9)).map((one) => one.id)
    expect(swept).not.toContain(silent.id)
    expect(swept).not.toContain(down.id)
    expect((await store().find(silent.project_id, silent.id))?.status).toBe('registering')
  })

  async function listener(project_id: string): Promise<void> {
    await db().rows(sql`
      INSERT INTO notification_channel (id, project_id, kind, name, status, events, shown, sealed_target, created_at,
                                        sequence)
      VALUES (${newId('nch')}, ${project_id}, 'webhook', 'all', 'active', '*', '', ${new Uint8Array()},
              ${rfc3339(NOON)}, 1)`)
  }

  test('§notifications changes at once have the numbers of their project, each one, and tell them', async () => {
    const project_id = await project()
    await listener(project_id)
    const made = await Promise.all(Array.from({ length: 20 }, () => cluster(project_id)))
    for (const status of ['active', 'down'] as const)
      await Promise.all(made.map(({ id }) => store().recordHeartbeat(project_id, id, { status }, NOON + 1)))
    const told = await db().rows<{ sequence: number; payload: string; subject: string }>(sql`
      SELECT sequence, payload, subject FROM notification_delivery WHERE project_id = ${project_id} ORDER BY sequence`)
    expect(told.map(({ sequence }) => sequence)).toEqual(told.map((_, at) => at + 1))
    expect(new Set(told.map(({ subject }) => subject)).size).toBe(20)
    for (const { sequence, payload, subject } of told)
      expect(JSON.parse(payload)).toMatchObject({ sequence, subject, data: { to: 'down' } })
  })

  test.runIf(ENGINE === 'postgres')(
    '0363 a heartbeat that is told of keeps nobody from the project’s row before it commits',
    async () => {
      const { project_id, id } = await cluster(await project())
      await listener(project_id)
      await store().recordHeartbeat(project_id, id, { status: 'active' }, NOON + 1)
      const tampering: Tampering = {}
      const held = holdNextTransaction(tampering)
      const beat = clusterStore(tamperedDb(db(), tampering)).recordHeartbeat(
        project_id,
        id,
        { status: 'down' },
        NOON + 2,
      )
      await held.entered
      await raiseRoutingEpoch(db(), project_id) // fails after four seconds where the row is locked
      held.release()
      expect(await beat).toMatchObject({ status: 'down' })
      expect(await db().rows(sql`SELECT type FROM notification_delivery WHERE project_id = ${project_id}`)).toEqual([
        { type: 'cluster.down' },
      ])
    },
  )
})
