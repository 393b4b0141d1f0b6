// Sessions with long lines, on whichever engine this run is for: what is deleted or read of them is so in steps.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { ALL, sessionStage } from '../../test/support/session-stage.ts'
import { type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { sql } from '../storage/db.ts'
import { sweepDeletedSessions } from './session-removal-store.ts'

withDb((db) => {
  const { on, store, opened, turnIn } = sessionStage(db)

  const HALF_MIB = 'x'.repeat(512 * 1024)

  /** A session with so many events of half a mebibyte, and what is left of its line. */
  async function longLine(turns: number) {
    const session = await opened()
    for (let n = 0; n < turns; n++) {
      const turn = turnIn(session, { response_id: `resp_${n}`, input: HALF_MIB, output: HALF_MIB })
      await store().recordTurn(session.project_id, turn, NOON)
    }
    const left = async () =>
      (await db().rows(sql`SELECT id FROM session_event WHERE session_id = ${session.id}`)).length
    return { session, left }
  }

  test('R77 a long line is deleted some megabytes at a time', async () => {
    const { session, left } = await longLine(10)
    let transactions = 0
    const transaction: Tampering['transaction'] = (work, begin) => {
      transactions += 1
      return begin(work)
    }
    const watched = on(tamperedDb(db(), { transaction }))
    expect(await watched.remove(session.project_id, session.id, NOON)).toBe(true)
    expect([await left(), transactions]).toEqual([0, 3])
    expect(await db().rows(sql`SELECT id FROM agent_session WHERE id = ${session.id}`)).toEqual([])
  })

  test('R77 a process that ends amid a deletion leaves nothing that can be seen, and the sweep does the rest', async () => {
    const { session, left } = await longLine(10)
    const { project_id, id } = session
    let transactions = 0
    const transaction: Tampering['transaction'] = (work, begin) => {
      transactions += 1
      return transactions === 2 ? Promise.reject(new Error('killed')) : begin(work)
    }
    await expect(on(tamperedDb(db(), { transaction })).remove(project_id, id, NOON)).rejects.toThrow('killed')
    expect(await left()).toBeGreaterThan(0)
    expect([await store().find(project_id, id), await store().maker(project_id, id)]).toEqual([undefined, undefined])
    expect((await allOf(store().list(project_id))).map((one) => one.id)).not.toContain(id)
    expect(await store().close(project_id, id)).toBeUndefined()
    expect(await store().recordTurn(project_id, turnIn(session), NOON)).toBe(false)
    while (await sweepDeletedSessions(db()));
    expect([await left(), await db().rows(sql`SELECT id FROM agent_session WHERE id = ${id}`)]).toEqual([0, []])
  })

  test('R77 contents are opened a few at a time, with a turn for others in between', async () => {
    const { session } = await longLine(20)
    let most = 0
    const rows: Tampering['rows'] = async (statement, run) => {
      const read = await run(statement)
      most = Math.max(most, read.length)
      return read
    }
    const { value, turns } = await turnsDuring(tamperedDb(db(), { rows }), (watched) =>
      on(watched).listEvents(session.project_id, session.id, ALL),
    )
    expect([value.length, most]).toEqual([40, 8])
    expect(turns).toBeGreaterThanOrEqual(4)
    await store().remove(session.project_id, session.id, NOON)
  })
})
