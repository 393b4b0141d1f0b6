// Purge jobs at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { plansOf } from '../../test/support/plans.ts'
import { projectIn } from '../../test/support/projects.ts'
import { sql } from '../storage/db.ts'
import { purgeStore } from './purge-store.ts'

withDb((db) => {
  test('§8.1 a purge job waits while it is to be counted or erased, and not between the two', async () => {
    const project_id = await projectIn(db())
    const statuses = [
      'planned count',
      'planned done',
      'queued erase',
      'running erase',
      'succeeded done',
      'cancelled count',
    ]
    const waits: boolean[] = []
    for (const [status, phase] of statuses.map((one) => one.split(' ') as [string, string])) {
      await db().rows(sql`DELETE FROM purge_job`)
      await insert({ id: 'pur_1', project_id, status, phase, sequence: 1 })
      waits.push(await purgeStore(db()).isAnyWaiting())
      expect(await waiting()).toHaveLength(waits.at(-1) ? 1 : 0)
    }
    expect(waits).toEqual([true, false, true, true, false, false])
  })

  interface Inserted {
    id: string
    project_id: string
    status: string
    phase: string
    sequence: number
  }

  const insert = ({ id, project_id, status, phase, sequence }: Inserted) =>
    db().rows(sql`
      INSERT INTO purge_job (id, project_id, status, phase, filter, kinds, is_listed, from_ms, until_ms, as_of_ms, progress,
                             created_at, sequence)
      VALUES (${id}, ${project_id}, ${status}, ${phase}, '{}', '[]', 0, 0, ${NOON}, ${NOON}, '{}', '', ${sequence})`)

  /** In the order of their turns. */
  async function waiting(): Promise<string[]> {
    const ids: string[] = []
    for await (const some of purgeStore(db()).waiting()) ids.push(...some.map(({ job }) => job.id))
    return ids
  }

  test('R78 of each project one job has a turn: what erases before what is planned, then the oldest; and all projects', async () => {
    await db().rows(sql`DELETE FROM purge_job`)
    const [many, one] = [await projectIn(db()), await projectIn(db())]
    const planned = { status: 'planned', phase: 'count' }
    for (let n = 0; n < 5; n++) await insert({ id: `plan_${n}`, project_id: many, ...planned, sequence: n })
    await insert({ id: 'one', project_id: one, ...planned, sequence: 10 })
    await insert({ id: 'twin', project_id: one, ...planned, sequence: 10 })
    expect(await waiting()).toEqual(['plan_0', 'one'])
    await insert({ id: 'erases', project_id: many, status: 'queued', phase: 'count', sequence: 20 })
    expect(await waiting()).toEqual(['one', 'erases'])
    for (let n = 0; n < 120; n++)
      await insert({ id: `other_${n}`, project_id: await projectIn(db()), ...planned, sequence: 15 })
    expect(new Set(await waiting()).size).toBe(122)
  })

  test.runIf(ENGINE === 'sqlite')('§store whether a purge job waits is found by an index alone', async () => {
    expect(await plansOf(db(), (on) => purgeStore(on).isAnyWaiting(), 'purge_job')).toEqual([
      expect.stringContaining('INDEX purge_job_waiting'),
    ])
  })
})
