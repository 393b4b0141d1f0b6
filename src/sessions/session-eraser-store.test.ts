// Sessions and purge jobs, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { sessionStage } from '../../test/support/session-stage.ts'
import { deferred, type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { type Db, type Sql, sql, type Tx } from '../storage/db.ts'
import type { Eraser, PurgeScope } from '../storage/erasing.ts'
import type { Session } from './session.ts'
import { sessionEraser, sessionEventEraser } from './session-eraser-store.ts'

const AS_OF = NOON + 10

withDb((db) => {
  const { on, opened, turnIn } = sessionStage(db)

  const scopeOf = (project_id: string): PurgeScope => ({
    ...{ job_id: 'prg_1', project_id, from_ms: 0, until_ms: AS_OF, as_of_ms: AS_OF, key_id: null, is_listed: false },
  })

  async function withTurn(project_id: string): Promise<Session> {
    const session = await opened({}, project_id)
    await on(db()).recordTurn(project_id, turnIn(session), NOON + 1)
    return session
  }

  test('§8.1 a turn that is written after as_of, while its session is about to be erased, stays with its session', async () => {
    const project_id = await projectIn(db())
    const [quiet, busy] = [await withTurn(project_id), await withTurn(project_id)]
    const late = (store: Db) => on(store).recordTurn(project_id, turnIn(busy, { response_id: 'resp_2' }), AS_OF + 10)
    const reached = deferred()
    const elsewhere = ENGINE === 'sqlite' ? undefined : reached.promise.then(() => late(db()))
    const tampering: Tampering = {}
    let written: Promise<boolean> | undefined
    tampering.rows = async (statement, run) => {
      if (/^UPDATE agent_session SET status/.test(textOf(statement))) {
        reached.resolve()
        // Where one writes at a time, in the same transaction: nothing else can come between.
        written ??= elsewhere ?? late(dbOf(run))
        await written
      }
      return run(statement)
    }
    const erased = await tamperedDb(db(), tampering).transaction((tx) =>
      sessionEraser.erase(tx, scopeOf(project_id), null, 500),
    )
    expect(erased).toEqual({ ids: [quiet.id], next: null })
    expect(await on(db()).find(project_id, quiet.id)).toBeUndefined()
    expect(await on(db()).find(project_id, busy.id)).toMatchObject({ status: 'open', turns: 2 })
    expect(await sessionEraser.count(db(), scopeOf(project_id))).toBe(0)
  })

  test('§8.1 sessions are taken one by one, in the order of their ids, as settling takes them', async () => {
    const project_id = await projectIn(db())
    const ids: string[] = []
    for (let n = 0; n < 10; n++) ids.push((await withTurn(project_id)).id)
    const taken: unknown[][] = []
    const tampering: Tampering = {
      rows(statement, run) {
        if (/^UPDATE agent_session SET status/.test(textOf(statement)))
          taken.push(statement.values.filter((value) => value !== project_id))
        return run(statement)
      },
    }
    const erased = await tamperedDb(db(), tampering).transaction((tx) =>
      sessionEraser.erase(tx, scopeOf(project_id), null, 500),
    )
    const sorted = [...ids].sort()
    expect([[...erased.ids].sort(), taken]).toEqual([sorted, sorted.map((id) => [id])])
  })

  /** Each batch in a transaction of its own: what it erased, and how many turns were left then. */
  async function batchesOf(eraser: Eraser, scope: PurgeScope, most: number) {
    const batches: { ids: readonly string[]; left: number }[] = []
    for (let from: string | null = null, is_over = false; !is_over; ) {
      const { ids, next } = await db().transaction((tx) => eraser.erase(tx, scope, from, most))
      const left = await db().rows(sql`SELECT id FROM session_event WHERE project_id = ${scope.project_id}`)
      batches.push({ ids, left: left.length })
      from = next
      is_over = next === null
    }
    return batches
  }

  test.each([sessionEventEraser, sessionEraser])(
    'R77 R78 §8.1 of a long line some megabytes go in one transaction, as $kind',
    async (eraser) => {
      const project_id = await projectIn(db())
      const session = await opened({}, project_id)
      const [input, output] = ['x'.repeat(2 ** 19), 'y'.repeat(2 ** 19)]
      for (let n = 0; n < 10; n++)
        await on(db()).recordTurn(project_id, turnIn(session, { response_id: `resp_${n}`, input, output }), NOON + 1)
      const batches = await batchesOf(eraser, scopeOf(project_id), 500)
      expect(batches.map(({ left }) => left)).toEqual([13, 6, 0])
      expect(batches.map(({ ids }) => ids.length)).toEqual(eraser === sessionEraser ? [0, 0, 1] : [7, 7, 6])
      expect(await eraser.count(db(), scopeOf(project_id))).toBe(0)
      const [row] = await db().rows<{ content_bytes: number }>(sql`
        SELECT content_bytes FROM agent_session WHERE id = ${session.id}`)
      expect(row?.content_bytes).toBe(eraser === sessionEraser ? undefined : 0)
    },
  )

  test('§4.15 R84 §8.1 a session of which some turns went takes no more, and goes with the rest', async () => {
    const project_id = await projectIn(db())
    const session = await opened({}, project_id)
    for (let n = 0; n < 3; n++)
      await on(db()).recordTurn(project_id, turnIn(session, { response_id: `resp_${n}` }), NOON + 1)
    const first = await db().transaction((tx) => sessionEraser.erase(tx, scopeOf(project_id), null, 4))
    expect([first.ids, first.next]).toEqual([[], expect.any(String)])
    const late = turnIn(session, { response_id: 'resp_late' })
    expect(await on(db()).recordTurn(project_id, late, AS_OF + 10)).toBe(false)
    expect((await batchesOf(sessionEraser, scopeOf(project_id), 4)).at(-1)).toEqual({ ids: [session.id], left: 0 })
    expect(await on(db()).find(project_id, session.id)).toBeUndefined()
  })

  test('R78 §8.1 one transaction looks at so many turns, however few match, and comes to each of them', async () => {
    const project_id = await projectIn(db())
    const others = []
    for (let n = 0; n < 9; n++) others.push(await withTurn(project_id))
    const mine = { maker: { made_by: 'key_2', made_under: null } }
    await on(db()).recordTurn(project_id, turnIn(others[5] as Session, { response_id: 'resp_2', ...mine }), NOON + 1)
    const batches = await batchesOf(sessionEventEraser, { ...scopeOf(project_id), key_id: 'key_2' }, 4)
    expect(batches.length).toBeGreaterThanOrEqual(5)
    expect([batches.flatMap(({ ids }) => ids).length, batches.at(-1)?.left]).toEqual([2, 18])
  })
})

function dbOf(run: (statement: Sql) => Promise<unknown[]>): Db {
  const rows = run as Db['rows']
  const tx: Tx = {
    rows,
    transaction: (work) => work(tx),
    tryLock: async () => true,
    last: async (statement) => void (await run(statement)),
  }
  return tx
}
