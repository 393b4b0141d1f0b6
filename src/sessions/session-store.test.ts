// §11: sessions and their event lines at rest, on whichever engine this run is for.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { contentsOf, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { ALL, MAKER, sessionStage } from '../../test/support/session-stage.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { largeBodies, PartsGone, sweepLooseParts } from '../storage/large-bodies.ts'
import { FOLDER, statements } from '../storage/migrate.ts'
import { openSession, type Session, type Turn } from './session.ts'
import { contentsFor } from './session-store.ts'

withDb((db) => {
  const { seals, on, store, opened, turnIn } = sessionStage(db)

  test('§11 a session comes back as it went in', async () => {
    const session = await opened({ agent: 'scout' })
    expect(await store().find(session.project_id, session.id)).toEqual(session)
    const child = openSession(session.project_id, { parent_session_id: session.id }, NOON)
    await store().insert(child, MAKER, NOON)
    expect(await allOf(store().list(session.project_id))).toEqual([child, session])
  })

  test('§11 a turn is two events, in order, and is counted', async () => {
    const session = await opened()
    const { project_id, id } = session
    expect(await store().recordTurn(project_id, turnIn(session), NOON + 1)).toBe(true)
    expect(await store().recordTurn(project_id, turnIn(session, { response_id: 'resp_2' }), NOON + 2)).toBe(true)
    const events = await store().listEvents(project_id, id, ALL)
    expect(events.map(({ sequence, type, response_id }) => [sequence, type, response_id])).toEqual([
      [4, 'assistant_output', 'resp_2'],
      [3, 'input', 'resp_2'],
      [2, 'assistant_output', 'resp_1'],
      [1, 'input', 'resp_1'],
    ])
    expect(events[3]).toEqual({
      id: expect.stringMatching(/^sev_/),
      object: 'session_event',
      session_id: id,
      sequence: 1,
      type: 'input',
      response_id: 'resp_1',
      trace_id: 'trc_1',
      created_at: rfc3339(NOON + 1),
      content: turnIn(session).input,
    })
    const counted = { turns: 2, input_tokens: 24, cached_tokens: 8, last_activity_at: rfc3339(NOON + 2) }
    expect(await store().find(project_id, id)).toEqual({ ...session, ...counted })
  })

  test('R78 what a line has of contents is counted, of large ones too; of a turn without, why there are none', async () => {
    const session = await opened()
    const { project_id } = session
    const large = await largeBodies(db(), seals).write(project_id, project_id, Buffer.from('"a large one"'), NOON)
    await store().recordTurn(project_id, turnIn(session), NOON, { output: large })
    const none = { input: undefined, output: undefined, content_dropped: 'quota' } as const
    await store().recordTurn(project_id, turnIn(session, { response_id: 'resp_2', ...none }), NOON)
    await store().recordTurn(project_id, turnIn(session), NOON) // which adds nothing
    const [row] = await db().rows<{ bytes: number }>(sql`
      SELECT CAST(SUM(COALESCE(parts_bytes, LENGTH(sealed), 0)) AS BIGINT) AS bytes FROM session_event
      WHERE session_id = ${session.id}`)
    expect(await contentsFor(db(), project_id)).toEqual({ items: 1, bytes: row?.bytes })
    const counted = await contentsFor(db(), project_id)
    await db().rows(sql`UPDATE agent_session SET content_bytes = 0`)
    const script = statements(readFileSync(new URL('0079-session-contents.sql', FOLDER), 'utf8'))
    const counts = script.filter((statement) => statement.startsWith('UPDATE'))
    for (const statement of counts) await db().rows({ text: [statement], values: [] })
    expect([counts.length, await contentsFor(db(), project_id)]).toEqual([1, counted]) // what was there before it
    const events = await store().listEvents(project_id, session.id, ALL)
    expect(events.map(({ content_dropped, content }) => [content_dropped, content !== undefined])).toEqual([
      ['quota', false],
      ['quota', false],
      [undefined, true],
      [undefined, true],
    ])
  })

  /** However many attempts say that they were the one: how often the output of one response stands on the line. */
  async function outputsOf(one: Db): Promise<{ outputs: number; won: number; turns: number | undefined }> {
    const session = await opened()
    const attempts = Array.from({ length: 20 }, (_, n) => turnIn(session, { output: `attempt ${n}` }))
    const won = await Promise.all(attempts.map((turn) => on(one).recordTurn(session.project_id, turn, NOON)))
    const events = await store().listEvents(session.project_id, session.id, ALL)
    return {
      outputs: events.filter((event) => event.type === 'assistant_output').length,
      won: won.filter(Boolean).length,
      turns: (await store().find(session.project_id, session.id))?.turns,
    }
  }

  test('§11 of twenty attempts at one response, one output is written, and the turn is counted once', async () => {
    expect(await outputsOf(db())).toEqual({ outputs: 1, won: 1, turns: 1 })
  })

  test('§11 planted: a turn that is counted without regard to what was written is caught', async () => {
    const tampering: Tampering = {}
    mutateSql(tampering, 'SET last_activity_at =', 'SET turns = turns + 1, last_activity_at =')
    expect((await outputsOf(tamperedDb(db(), tampering))).turns).toBe(21)
  })

  test('R43 a turn is undone with the settling that it was part of', async () => {
    const session = await opened()
    const settling = db().transaction(async (tx) => {
      await on(tx).recordTurn(session.project_id, turnIn(session), NOON)
      throw new Error('the rest failed')
    })
    await expect(settling).rejects.toThrow('the rest failed')
    expect(await store().listEvents(session.project_id, session.id, ALL)).toEqual([])
    expect(await store().find(session.project_id, session.id)).toEqual(session)
  })

  test('R20 contents lie sealed, and do not open on another event', async () => {
    const session = await opened()
    await store().recordTurn(session.project_id, turnIn(session), NOON)
    const contents = await contentsOf(db())
    expect(contents.includes('Phobos') || contents.includes('moons')).toBe(false)
    const [, input] = await store().listEvents(session.project_id, session.id, ALL)
    const [row] = await db().rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM session_event WHERE id = ${input!.id}`)
    expect(Buffer.from(row!.sealed).includes('Mars')).toBe(false)
    await db().rows(sql`UPDATE session_event SET sealed = ${row!.sealed} WHERE session_id = ${session.id}`)
    await expect(store().listEvents(session.project_id, session.id, ALL)).rejects.toThrow()
  })

  const LARGE = 'a long turn '.repeat(60_000) // three parts
  const partsOf = async (project_id: string) =>
    (await db().rows(sql`SELECT part FROM large_body_part WHERE project_id = ${project_id}`)).length
  const ahead = (project_id: string, content: unknown) =>
    largeBodies(db(), seals).write(project_id, project_id, Buffer.from(JSON.stringify(content)), NOON)

  async function largeTurn(session: Session, more: Partial<Turn> = {}): Promise<boolean> {
    const turn = turnIn(session, { input: [{ role: 'user', content: LARGE }], output: `${LARGE}!`, ...more })
    const { project_id } = session
    const large = { input: await ahead(project_id, turn.input), output: await ahead(project_id, turn.output) }
    return db().transaction((tx) => on(tx).recordTurn(project_id, turn, NOON, large))
  }

  test('R77 a large turn lies in parts, reads like any other, and goes with its session', async () => {
    const session = await opened()
    const { project_id, id } = session
    expect(await largeTurn(session)).toBe(true)
    await store().recordTurn(project_id, turnIn(session, { response_id: 'resp_2' }), NOON)
    const events = await store().listEvents(project_id, id, ALL)
    expect(events.map(({ content }) => content)).toEqual([
      ...['Two: Phobos and Deimos.', [{ role: 'user', content: 'How many moons has Mars?' }]],
      ...[`${LARGE}!`, [{ role: 'user', content: LARGE }]],
    ])
    expect(await allOf(store().listAllEvents(project_id, id, ALL))).toEqual(events)
    const hidden = await store().listEvents(project_id, id, { ...ALL, maySee: () => false })
    expect(hidden.map((event) => [event.content, event.content_withheld])).toEqual(Array(4).fill([undefined, true]))
    const rows = await db().rows<{ sealed: Uint8Array | null }>(sql`
      SELECT sealed FROM session_event WHERE session_id = ${id} ORDER BY sequence`)
    expect(rows.map(({ sealed }) => sealed === null)).toEqual([true, true, false, false])
    expect(await partsOf(project_id)).toBe(6)
    expect([await store().remove(project_id, id, NOON), await partsOf(project_id)]).toEqual([true, 0])
  })

  test('R77 parts that no turn came for are swept: of one that was written before, or of a session that is gone', async () => {
    const session = await opened()
    const { project_id, id } = session
    const sweepAll = async () => {
      while (await sweepLooseParts(db(), NOON + HOUR_MS));
    }
    await largeTurn(session)
    expect([await largeTurn(session), await partsOf(project_id)]).toEqual([false, 12])
    await sweepAll()
    expect(await partsOf(project_id)).toBe(6)
    expect((await store().listEvents(project_id, id, ALL))[0]?.content).toBe(`${LARGE}!`)
    await store().close(project_id, id)
    expect(await largeTurn(session, { response_id: 'resp_2' })).toBe(false)
    await sweepAll()
    expect(await partsOf(project_id)).toBe(6)
  })

  test('R77 a turn whose parts were swept is not written by halves', async () => {
    const session = await opened()
    const large = { output: await ahead(session.project_id, LARGE) }
    await sweepLooseParts(db(), NOON + HOUR_MS)
    const turn = turnIn(session, { output: LARGE })
    const writing = db().transaction((tx) => on(tx).recordTurn(session.project_id, turn, NOON, large))
    await expect(writing).rejects.toThrow(PartsGone)
    expect(await store().listEvents(session.project_id, session.id, ALL)).toEqual([])
  })

  test('§8.2 contents that are not to be kept are not', async () => {
    const session = await opened()
    await store().recordTurn(session.project_id, turnIn(session, { input: undefined, output: undefined }), NOON)
    const events = await store().listEvents(session.project_id, session.id, ALL)
    expect(events.map((event) => 'content' in event)).toEqual([false, false])
    expect(JSON.stringify(events)).not.toContain('null')
  })

  test('R84 a turn under way is not written into a session that was closed meanwhile, nor into one that is gone', async () => {
    const session = await opened()
    const closed = await store().close(session.project_id, session.id)
    expect(await store().isClosed(session.project_id, session.id)).toBe(true)
    expect(await store().recordTurn(session.project_id, turnIn(session), NOON + 1_000)).toBe(false)
    expect(await store().find(session.project_id, session.id)).toEqual(closed)
    expect(await store().listEvents(session.project_id, session.id, ALL)).toEqual([])
    expect(await store().remove(session.project_id, session.id, NOON)).toBe(true)
    expect(await store().recordTurn(session.project_id, turnIn(session), NOON)).toBe(false)
    expect(await store().isClosed(session.project_id, session.id)).toBe(false)
  })

  test('R84 a session is closed for its own project alone', async () => {
    const [session, other] = [await opened(), await opened()]
    await store().close(session.project_id, session.id)
    expect(await store().isClosed(other.project_id, session.id)).toBe(session.project_id === other.project_id)
    expect(await store().isClosed('prj_other', session.id)).toBe(false)
    expect(await store().isClosed(other.project_id, other.id)).toBe(false)
  })

  test('§11 turns that race with the deletion leave nothing behind, and fail nobody', async () => {
    const session = await opened()
    const turns = Array.from({ length: 30 }, (_, n) => turnIn(session, { response_id: `resp_${n}` }))
    const work = turns.map((turn) => store().recordTurn(session.project_id, turn, NOON))
    await Promise.all([...work.slice(0, 15), store().remove(session.project_id, session.id, NOON), ...work.slice(15)])
    expect(await db().rows(sql`SELECT id FROM session_event WHERE session_id = ${session.id}`)).toEqual([])
  })

  test('R13 activity never moves back', async () => {
    const session = await opened()
    await store().recordTurn(session.project_id, turnIn(session), NOON + 5)
    await store().recordTurn(session.project_id, turnIn(session, { response_id: 'resp_2' }), NOON + 1)
    expect((await store().find(session.project_id, session.id))?.last_activity_at).toBe(rfc3339(NOON + 5))
  })

  test('§8.2 a long line is read piece by piece', async () => {
    const session = await opened()
    for (let n = 0; n < 5; n++)
      await store().recordTurn(session.project_id, turnIn(session, { response_id: `resp_${n}` }), NOON)
    const read = async (limit: number, before = ALL.before) =>
      (await store().listEvents(session.project_id, session.id, { ...ALL, limit, before })).map(
        (event) => event.sequence,
      )
    expect([await read(3), await read(3, 8), await read(1_000, 2)]).toEqual([[10, 9, 8], [7, 6, 5], [1]])
    const whole = await allOf(store().listAllEvents(session.project_id, session.id, { ...ALL, before: 8 }))
    expect(whole.map((event) => event.sequence)).toEqual([7, 6, 5, 4, 3, 2, 1])
  })

  test('§5.8 another project has no such session', async () => {
    const session = await opened()
    await store().recordTurn(session.project_id, turnIn(session), NOON)
    const before = await contentsOf(db())
    const stranger = await projectIn(db())
    expect(await store().find(stranger, session.id)).toBeUndefined()
    expect(await store().close(stranger, session.id)).toBeUndefined()
    expect(await store().remove(stranger, session.id, NOON)).toBe(false)
    expect(await store().listEvents(stranger, session.id, ALL)).toEqual([])
    expect(await store().recordTurn(stranger, turnIn(session, { response_id: 'resp_9' }), NOON)).toBe(false)
    const sessions = (text: string) =>
      JSON.parse(text)
        .flat()
        .filter((row: { id: string }) => /^se[sv]_/.test(row.id))
    expect(sessions(await contentsOf(db()))).toEqual(sessions(before))
  })
})
