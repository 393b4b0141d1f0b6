// /v2/sessions, by status.
import { expect, test } from 'vitest'
import { type Answer, SECRET, withService } from '../../test/support/service.ts'
import { sealing } from '../core/sealing.ts'
import { sql } from '../storage/db.ts'
import { sessionStore } from './session-store.ts'

const SESSIONS = '/v2/sessions'
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService((service) => {
  async function recordTurn(project_id: string, session_id: string, response_id: string): Promise<void> {
    const maker = { made_by: null, made_under: null }
    const turn = { session_id, response_id, trace_id: 'trc_1', input: 'hello', output: { text: 'hi' } }
    const sessions = sessionStore(service().db, sealing(SECRET))
    await sessions.recordTurn(project_id, { ...turn, maker, input_tokens: 1, cached_tokens: 0 }, service().clock.now())
  }

  test.each([undefined, null, {}])('§11 200: opened with the body %j', async (asked) => {
    const { post, project } = await service().newProject()
    const at = service().clock.rfc3339()
    expect((await post(SESSIONS, asked)).body).toEqual({
      id: expect.stringMatching(/^ses_/),
      object: 'session',
      project_id: project.id,
      status: 'open',
      turns: 0,
      input_tokens: 0,
      cached_tokens: 0,
      created_at: at,
      last_activity_at: at,
    })
  })

  test('R3 200: an inference key opens, reads, closes and deletes', async () => {
    const { keyWith } = await service().newProject()
    const { post, get, del } = service().as(await keyWith('inference'))
    const parent = (await post(SESSIONS, { agent: ' scout ' })).body
    const { body } = await post(SESSIONS, { parent_session_id: parent.id })
    expect([parent.agent, body.parent_session_id]).toEqual(['scout', parent.id])
    expect((await get(SESSIONS)).body).toEqual({ object: 'list', data: [body, parent], has_more: false })
    const closed = { ...body, status: 'closed' }
    for (let times = 0; times < 2; times++) expect((await post(`${SESSIONS}/${body.id}/close`)).body).toEqual(closed)
    expect((await get(`${SESSIONS}/${body.id}`)).body).toEqual(closed)
    expect((await del(`${SESSIONS}/${body.id}`)).body).toEqual({
      id: body.id,
      object: 'session.deleted',
      deleted: true,
    })
    expect((await get(`${SESSIONS}/${body.id}`)).status).toBe(404)
    expect((await get(`${SESSIONS}/${parent.id}`)).status).toBe(200)
  })

  test.each([
    ['POST', '/close'],
    ['DELETE', ''],
  ] as const)(
    'R74 403 on %s of a session that another key opened, and nothing is stored; admin may',
    async (...how) => {
      const [method, path] = how
      const home = await service().newProject()
      const [own, other] = [
        service().as(await home.keyWith('inference')),
        service().as(await home.keyWith('inference')),
      ]
      const { id } = (await own.post(SESSIONS)).body
      const refused = await service().storingNothing(() => other.send(method, `${SESSIONS}/${id}${path}`))
      expect(identity(refused).slice(0, 2)).toEqual([403, 'insufficient_scope'])
      expect((await home.send(method, `${SESSIONS}/${id}${path}`)).status).toBe(200)
    },
  )

  test('§11 200: events with their contents, newest first; gone with the session', async () => {
    const { post, get, del, project } = await service().newProject()
    const { id } = (await post(SESSIONS)).body
    const url = `${SESSIONS}/${id}/events`
    expect((await get(url)).body).toEqual({ object: 'list', data: [], has_more: false })
    for (const response of ['resp_1', 'resp_1', 'resp_2']) await recordTurn(project.id, id, response)
    const { data } = (await get(url)).body
    expect(data.map((event: { type: string; content: unknown }) => [event.type, event.content])).toEqual([
      ['assistant_output', { text: 'hi' }],
      ['input', 'hello'],
      ['assistant_output', { text: 'hi' }],
      ['input', 'hello'],
    ])
    expect((await get(`${url}?limit=1&before=4`)).body.data).toEqual([data[1]])
    const more = async (query: string) => (await get(`${url}?${query}`)).body.has_more
    expect([await more(''), await more('limit=4'), await more('limit=3')]).toEqual([false, false, true])
    expect([await more('limit=1&before=3'), await more('limit=2&before=3')]).toEqual([true, false])
    expect((await get(`${SESSIONS}/${id}`)).body.turns).toBe(2)
    await del(`${SESSIONS}/${id}`)
    expect((await get(url)).status).toBe(404)
  })

  test.each([
    ['a blank agent', { agent: ' ' }, 'agent'],
    ['a number for an agent', { agent: 1 }, 'agent'],
    ['an unknown parent', { parent_session_id: 'ses_unknown' }, 'parent_session_id'],
    ['a NUL in the parent', { parent_session_id: 'ses_\0' }, 'parent_session_id'],
  ])('R8 400 on %s, naming the field, and nothing is stored', async (_case, wrong, field) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(SESSIONS, wrong))
    expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toContain(`'${field}'`)
  })

  test('§5.8 400 on another project’s session for a parent', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const { id: parent_session_id } = (await other.post(SESSIONS)).body
    expect((await service().storingNothing(() => home.post(SESSIONS, { parent_session_id }))).status).toBe(400)
  })

  test.each(['limit=0', 'limit=1001', 'limit=ten', 'limit=', 'before=0', 'before=-1', 'limit=1&limit=2'])(
    'R9 400 on ?%s',
    async (query) => {
      const { post, get } = await service().newProject()
      const { id } = (await post(SESSIONS)).body
      const answer = await get(`${SESSIONS}/${id}/events?${query}`)
      expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
      expect(answer.body.error.message).toContain(`'${query.split('=')[0]}'`)
    },
  )

  test('§5.8 404 on another project’s session, and on an unknown one; nothing is stored', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const theirs = (await other.post(SESSIONS)).body.id
    for (const id of [theirs, 'ses_unknown', '%00'])
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/events'],
        ['POST', '/close'],
      ] as const) {
        const answer = await service().storingNothing(() => home.send(method, `${SESSIONS}/${id}${path}`))
        expect(identity(answer), `${method} ${path}`).toEqual([404, 'invalid_request_error', undefined])
      }
  })

  test('§11 what a process that ended has left of a deleted session is unknown, and swept', async () => {
    const { post, get, del, project } = await service().newProject()
    const { db, clock } = service()
    const { id } = (await post(SESSIONS)).body
    await recordTurn(project.id, id, 'resp_1')
    await db.rows(sql`UPDATE agent_session SET status = 'closed', deleted_ms = ${clock.now()} WHERE id = ${id}`)
    for (const path of ['', '/events']) expect((await get(`${SESSIONS}/${id}${path}`)).status).toBe(404)
    expect([(await del(`${SESSIONS}/${id}`)).status, (await post(`${SESSIONS}/${id}/close`)).status]).toEqual([
      404, 404,
    ])
    expect((await get(SESSIONS)).body.data).toEqual([])
    await service().housekeep('sweep deleted sessions')
    const left = [
      await db.rows(sql`SELECT id FROM agent_session WHERE id = ${id}`),
      await db.rows(sql`SELECT id FROM session_event WHERE session_id = ${id}`),
    ]
    expect(left).toEqual([[], []])
  })

  test('§11 405 on whatever would change a line: it only grows, by generations', async () => {
    const { post, send } = await service().newProject()
    const { id } = (await post(SESSIONS)).body
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await send(method, `${SESSIONS}/${id}/events`, { body: {} })).status).toBe(405)
  })
})
