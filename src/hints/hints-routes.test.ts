// §10.1: /v2/agent-hints over HTTP.
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'

const HINTS = '/v2/agent-hints'
const QOS = { class: 'interactive', target_ttft_ms: 500, deadline_ms: 30_000 }

withService((service) => {
  test('§10.1 200: hints are stored, listed newest first, retrieved and deleted', async () => {
    const { post, get, del, project } = await service().newProject()
    const first = await post(HINTS, { name: 'night shift', hints: { qos: QOS } })
    expect([first.status, first.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^ah_[0-9A-Za-z]{20}$/),
        object: 'agent_hints',
        project_id: project.id,
        name: 'night shift',
        hints: { qos: QOS },
        created_at: service().clock.rfc3339(),
      },
    ])
    const second = await post(HINTS, { reuse: { preference: 'avoid' } })
    expect(second.body.hints).toEqual({ reuse: { preference: 'avoid' } })

    const list = await get(HINTS)
    expect(list.body).toEqual({ object: 'list', data: [second.body, first.body], has_more: false })
    expect((await get(`${HINTS}/${first.body.id}`)).body).toEqual(first.body)

    const gone = await del(`${HINTS}/${first.body.id}`)
    expect(gone.body).toEqual({ id: first.body.id, object: 'agent_hints.deleted', deleted: true })
    expect((await get(`${HINTS}/${first.body.id}`)).status).toBe(404)
    expect((await get(HINTS)).body.data).toEqual([second.body])
  })

  test('§11.4 a keyed POST is replayed and stores once', async () => {
    const { post, get } = await service().newProject()
    const keyed = { 'agent-idempotency-key': 'hints-1' }
    const answers = [await post(HINTS, { qos: QOS }, keyed), await post(HINTS, { qos: QOS }, keyed)]
    expect(answers.map(({ headers }) => headers['agent-idempotent-replay'])).toEqual(['false', 'true'])
    expect(answers[0]?.bytes).toEqual(answers[1]?.bytes)
    expect((await get(HINTS)).body.data).toHaveLength(1)
  })

  test.each([
    ['no section', {}, "'hints' must have at least one of 'reuse', 'qos' and 'safety'."],
    ['an empty object', { hints: {} }, "'hints' must have at least one of 'reuse', 'qos' and 'safety'."],
    ['a text for hints', { hints: 'fast' }, "'hints' must be an object."],
    ['null for hints', { hints: null }, "'hints' must be an object."],
    ['an unknown class', { hints: { qos: { class: 'turbo' } } }, "'hints.qos.class' must be one of"],
    ['no time at all', { qos: { deadline_ms: 0 } }, "'qos.deadline_ms' must be at least 1."],
    ['more than a day', { qos: { deadline_ms: 86_400_001 } }, "'qos.deadline_ms' must be at most 86400000."],
    ['a number as text', { hints: { qos: { target_ttft_ms: '5' } } }, "'hints.qos.target_ttft_ms' must be an integer."],
    ['a foreign session', { reuse: { session_id: 'x' } }, "'reuse.session_id' must be the id of a session"],
    ['an unknown preference', { reuse: { preference: 'maybe' } }, "'reuse.preference' must be one of"],
    ['an unknown mode', { safety: { retry_safety: 'yolo' } }, "'safety.retry_safety' must be one of"],
    ['an empty name', { name: ' ', qos: QOS }, "'name' must not be empty."],
    ['a number for a name', { name: 7, qos: QOS }, "'name' must be a string."],
  ])('§10.1 400 on %s, and nothing is stored', async (_case, body, message) => {
    const { post, get } = await service().newProject()
    const answer = await post(HINTS, body)
    expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(answer.body.error.message).toContain(message)
    expect((await get(HINTS)).body.data).toEqual([])
  })

  test('R3 403: read may look, inference may store and delete', async () => {
    const { keyWith, post } = await service().newProject()
    const [reader, caller] = [service().as(await keyWith('read')), service().as(await keyWith('inference'))]
    const { body } = await post(HINTS, { qos: QOS })
    expect((await reader.post(HINTS, { qos: QOS })).status).toBe(403)
    expect((await reader.del(`${HINTS}/${body.id}`)).status).toBe(403)
    expect((await reader.get(HINTS)).body.data).toHaveLength(1)
    expect((await reader.get(`${HINTS}/${body.id}`)).status).toBe(200)
    expect((await caller.post(HINTS, { qos: QOS })).status).toBe(200)
    expect((await caller.del(`${HINTS}/${body.id}`)).status).toBe(200)
  })

  // Guards the tenant boundary: a 403 here would confirm that the id exists.
  test("T-98 404 on another project's hints", async () => {
    const [mine, theirs] = [await service().newProject(), await service().newProject()]
    const { body } = await theirs.post(HINTS, { qos: QOS })
    for (const answer of [await mine.get(`${HINTS}/${body.id}`), await mine.del(`${HINTS}/${body.id}`)])
      expect([answer.status, answer.body.error.type]).toEqual([404, 'invalid_request_error'])
    expect((await theirs.get(`${HINTS}/${body.id}`)).status).toBe(200)
  })

  test('§10.1 405: stored hints never change', async () => {
    const { post, send } = await service().newProject()
    const { body } = await post(HINTS, { qos: QOS })
    for (const method of ['PUT', 'PATCH', 'POST'])
      expect((await send(method, `${HINTS}/${body.id}`, { body: { qos: QOS } })).status).toBe(405)
  })
})
