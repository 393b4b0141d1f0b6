// Replay runs at rest, on whichever engine this run is for.
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { plansOf } from '../../test/support/plans.ts'
import { projectIn } from '../../test/support/projects.ts'
import { sql } from '../storage/db.ts'
import { replayStore } from './replay-store.ts'

const MIB = 2 ** 20

withDb((db) => {
  async function fill(project_id: string, run_id: string, { outputs = 0, bytes = 0, items = 0 }): Promise<void> {
    await db().transaction(async (tx) => {
      for (let n = 0; n < outputs; n++)
        await tx.rows(sql`
          INSERT INTO replay_output (id, run_id, project_id, trace_id, key_id, created_ms, sequence, sealed, bytes)
          VALUES (${`${run_id} ${n}`}, ${run_id}, ${project_id}, 'trc_1', 'key_1', ${NOON}, ${n}, ${randomBytes(bytes)},
                  ${bytes})`)
      for (let n = 0; n < items; n++)
        await tx.rows(sql`
          INSERT INTO replay_item (run_id, project_id, trace_id, arm, position, status, planned)
          VALUES (${run_id}, ${project_id}, ${`trc_${n}`}, 'target', ${n}, 'done', '{}')`)
    })
  }

  const left = async (run_id: string) => {
    const [row] = await db().rows<{ outputs: number; items: number }>(sql`
      SELECT (SELECT COUNT(*) FROM replay_output WHERE run_id = ${run_id}) AS outputs,
             (SELECT COUNT(*) FROM replay_item WHERE run_id = ${run_id}) AS items`)
    return [Number(row?.outputs), Number(row?.items)]
  }

  test('R70 what a run left is forgotten in steps of some megabytes, and nothing of another run', async () => {
    const [project_id, run_id] = [await projectIn(db()), 'rpl_old']
    await fill(project_id, run_id, { outputs: 7, bytes: 3 * MIB, items: 600 })
    await fill(project_id, 'rpl_other', { outputs: 1, bytes: 10, items: 1 })
    const steps: number[][] = []
    let more = true
    while (more) {
      ;({ more } = await replayStore(db()).forgetSome(project_id, run_id))
      steps.push(await left(run_id))
    }
    expect(steps).toEqual([
      [4, 600],
      [1, 600],
      [0, 600],
      [0, 100],
      [0, 0],
    ])
    expect(await left('rpl_other')).toEqual([1, 1])
  })

  test.runIf(ENGINE === 'sqlite')('§store whether a run is at work is found by an index alone', async () => {
    expect(await plansOf(db(), (on) => replayStore(on).isAnyAtWork(), 'replay_run')).toEqual([
      expect.stringMatching(/USING (COVERING )?INDEX replay_run_(open|under_way)/),
    ])
  })
})
