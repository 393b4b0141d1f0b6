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
      await db().rows(sql`
        INSERT INTO purge_job (id, project_id, status, phase, filter, kinds, is_listed, from_ms, until_ms, as_of_ms, progress,
                               created_at, sequence)
        VALUES ('pur_1', ${project_id}, ${status}, ${phase}, '{}', '[]', 0, 0, ${NOON}, ${NOON}, '{}', '', 1)`)
      waits.push(await purgeStore(db()).isAnyWaiting())
      expect(await purgeStore(db()).waiting()).toHaveLength(waits.at(-1) ? 1 : 0)
    }
    expect(waits).toEqual([true, false, true, true, false, false])
  })

  test.runIf(ENGINE === 'sqlite')('§store whether a purge job waits is found by an index alone', async () => {
    expect(await plansOf(db(), (on) => purgeStore(on).isAnyWaiting(), 'purge_job')).toEqual([
      expect.stringContaining('INDEX purge_job_waiting'),
    ])
  })
})
