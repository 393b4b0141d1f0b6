// How purge jobs walk a table, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { rfc3339 } from '../core/clock.ts'
import { replayOutputEraser } from '../replays/replay-output-eraser-store.ts'
import { sessionEraser, sessionEventEraser } from '../sessions/session-eraser-store.ts'
import { traceEraser } from '../usage/trace-eraser-store.ts'
import { sql } from './db.ts'
import { countWalked, nextBatch } from './erasing.ts'

const ROWS = 4_500
const MATCHING = [7, 2_500, 4_499]
const NO_QUOTA = { giveBack: async () => {} }

withDb((db) => {
  test('§8.1 where few of many rows match, a batch looks at two thousand and goes on behind them', async () => {
    const project_id = await projectIn(db())
    await db().transaction(async (tx) => {
      for (let n = 0; n < ROWS; n++)
        await tx.rows(sql`
          INSERT INTO bundle (id, project_id, prefix_hash, tokens_est, bytes, created_at, made_by, sequence)
          VALUES (${`bnd_${n}`}, ${project_id}, ${`${n}`}, 1, 1, ${rfc3339(NOON)},
                  ${MATCHING.includes(n) ? 'key_1' : 'key_2'}, ${n})`)
    })
    const where = sql` WHERE project_id = ${project_id} AND made_by = 'key_1'`
    const walked = { table: 'bundle', order: 'sequence', id: 'id', of_project: project_id, where }
    const steps: (readonly string[])[] = []
    let from: string | null = null
    do {
      const { ids, next } = await nextBatch(db(), walked, from, 500)
      steps.push(ids)
      from = next
    } while (from !== null)
    expect(steps).toEqual([['bnd_7'], ['bnd_2500'], ['bnd_4499']])
  })

  test('§8.1 R77 what matches is counted so many rows at a time, each of them once, however many have one place', async () => {
    const project_id = await projectIn(db())
    await db().transaction(async (tx) => {
      for (let n = 0; n < 50; n++)
        await tx.rows(sql`
          INSERT INTO bundle (id, project_id, prefix_hash, tokens_est, bytes, created_at, made_by, sequence)
          VALUES (${`bnd_c${n}`}, ${project_id}, ${`${n}`}, 1, 1, ${rfc3339(NOON)}, ${n % 2 ? 'key_1' : 'key_2'},
                  ${n < 30 ? n : 30})`)
    })
    const statements: string[] = []
    const noted = tamperedDb(db(), {
      rows(statement, run) {
        statements.push(textOf(statement))
        return run(statement)
      },
    })
    const where = sql` WHERE project_id = ${project_id} AND made_by = 'key_1'`
    const walked = { table: 'bundle', order: 'sequence', id: 'id', of_project: project_id, where }
    expect(await countWalked(noted, walked, 10)).toBe(25)
    const counts = statements.filter((statement) => statement.includes('COUNT(*)'))
    expect(counts.length).toBe(4)
    expect(counts.slice(0, -1).every((statement) => statement.includes('sequence <= ?'))).toBe(true)
  })

  test('§8.1 R77 of a large project each kind that grows with its calls is counted so', async () => {
    const project_id = await projectIn(db())
    const scope = { job_id: 'prg_1', project_id, from_ms: 0, until_ms: NOON, as_of_ms: NOON, key_id: null }
    for (const eraser of [traceEraser, sessionEraser, sessionEventEraser, replayOutputEraser(NO_QUOTA)]) {
      const statements: string[] = []
      const noted = tamperedDb(db(), {
        rows(statement, run) {
          statements.push(textOf(statement))
          return run(statement)
        },
      })
      expect(await eraser.count(noted, { ...scope, is_listed: false })).toBe(0)
      expect(statements[0], eraser.kind).toMatch(/LIMIT 1 OFFSET \?$/)
    }
  })

  test('§8.1 where all match, a batch ends where it is full', async () => {
    const project_id = await projectIn(db())
    for (let n = 0; n < 5; n++)
      await db().rows(sql`
        INSERT INTO bundle (id, project_id, prefix_hash, tokens_est, bytes, created_at, made_by, sequence)
        VALUES (${`bnd_all_${n}`}, ${project_id}, ${`${n}`}, 1, 1, ${rfc3339(NOON)}, 'key_1', 3)`)
    const where = sql` WHERE project_id = ${project_id}`
    const walked = { table: 'bundle', order: 'sequence', id: 'id', of_project: project_id, where }
    const first = await nextBatch(db(), walked, null, 2)
    const second = await nextBatch(db(), walked, first.next, 3)
    const third = await nextBatch(db(), walked, second.next, 3)
    expect([first.ids, second.ids, third]).toEqual([
      ['bnd_all_0', 'bnd_all_1'],
      ['bnd_all_2', 'bnd_all_3', 'bnd_all_4'],
      { ids: [], next: null },
    ])
  })
})
