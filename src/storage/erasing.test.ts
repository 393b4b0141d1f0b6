// How purge jobs walk a table, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { rfc3339 } from '../core/clock.ts'
import { keptAnswerEraser } from '../idempotency/kept-answer-eraser-store.ts'
import { replayOutputEraser } from '../replays/replay-output-eraser-store.ts'
import { responseEraser } from '../responses/response-eraser-store.ts'
import { sessionEraser, sessionEventEraser } from '../sessions/session-eraser-store.ts'
import { traceEraser } from '../usage/trace-eraser-store.ts'
import { type Db, type Sql, sql } from './db.ts'
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
    const [of_calls, of_lines] = [
      [traceEraser, replayOutputEraser(NO_QUOTA), responseEraser, keptAnswerEraser],
      [sessionEraser, sessionEventEraser],
    ]
    for (const eraser of [...of_calls, ...of_lines]) {
      const statements: Sql[] = []
      const noted = tamperedDb(db(), {
        rows(statement, run) {
          statements.push(statement)
          return run(statement)
        },
      })
      expect(await eraser.count(noted, { ...scope, is_listed: false })).toBe(0)
      const ends = statements.filter((statement) => /LIMIT 1 OFFSET \?$/.test(textOf(statement)))
      expect(ends.length, eraser.kind).toBe(statements.length / 2) // before each that counts
      const most = of_lines.includes(eraser) ? 1_000 : 20_000
      for (const { values } of ends) expect(values.at(-1), eraser.kind).toBeLessThanOrEqual(most)
    }
  })

  test('§8.1 R77 kept answers are counted by an index of their sizes, each once, however many are of one size', async () => {
    const [project_id, other_id] = [await projectIn(db()), await projectIn(db())]
    const kept = (tx: Db, n: number, of: string, sealed: Buffer | null, bytes: number | null) =>
      tx.rows(sql`
        INSERT INTO idempotency (digest, project_id, state, owner, process, expires_at, sealed, bytes)
        VALUES (${`${of} ${n}`}, ${of}, ${sealed ? 'kept' : 'erased'}, 'o', 'p', ${NOON + n}, ${sealed}, ${bytes})`)
    await db().transaction(async (tx) => {
      for (let n = 0; n < ROWS; n++) await kept(tx, n, project_id, Buffer.of(1), n < 2_500 ? 7 : n)
      await kept(tx, ROWS, project_id, null, null)
      await kept(tx, 0, other_id, Buffer.of(1), 7)
    })
    const statements: Sql[] = []
    const noted = tamperedDb(db(), {
      rows(statement, run) {
        statements.push(statement)
        return run(statement)
      },
    })
    const scope = { job_id: 'prg_1', project_id, from_ms: 0, until_ms: NOON, as_of_ms: NOON, key_id: null }
    expect(await keptAnswerEraser.count(noted, { ...scope, is_listed: false })).toBe(ROWS)
    expect(statements.length).toBe(4) // up to 2,500 of one size, and the rest
    if (ENGINE !== 'sqlite') return
    for (const { text, values } of statements) {
      const [first = '', ...rest] = text
      const plan = await db().rows<{ detail: string }>({ text: [`EXPLAIN QUERY PLAN ${first}`, ...rest], values })
      expect(plan.map(({ detail }) => detail).join()).toContain('idempotency_by_project (project_id=? AND bytes>?')
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
