// §4.11, §10.2: the events of a background response that came to nothing end with one that says so, whatever ended it:
// refused before an upstream was asked, stopped, or broken off at every attempt.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { hintsHeader } from '../support/inference-client.ts'
import { type Scene, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'error']
const RESPONSES = '/v1/responses'

interface Told {
  type: string
  sequence_number: number
  response: { id: string; status: string; error: { code: string } | null }
}

const eventsIn = (text: string): Told[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string))

withScene((scene) => {
  type TheStage = Awaited<ReturnType<Scene['stage']>>
  const done = () => scene().inference.jobs.idle()
  const post = (stage: TheStage, more: object = {}, headers: Record<string, string> = {}) =>
    stage.ask(RESPONSES, { body: { model: stage.model, input: 'x', background: true, ...more }, headers })
  const eventsOf = async (stage: TheStage, id: string, after = '') =>
    eventsIn((await stage.ask(`${RESPONSES}/${id}?stream=true${after}`, { method: 'GET' })).text)
  const idOf = async (stage: TheStage) => {
    const [row] = await scene().db.rows<{ id: string }>(sql`
      SELECT id FROM background_response WHERE project_id = ${stage.project.id} ORDER BY sequence DESC LIMIT 1`)
    return row?.id ?? ''
  }

  test.each([
    ['an unknown model', { model: 'nope' }, {}, 'model_not_found'],
    ['an unknown bundle', {}, { 'agent-bundle': 'bnd_none' }, undefined],
    ['no such previous response', { previous_response_id: 'resp_none' }, {}, undefined],
    ['a deadline before the first byte', {}, hintsHeader({ qos: { deadline_ms: 50 } }), 'deadline_exceeded'],
  ])('§10.2 %s: the one event says that it failed, and why', async (_what, more, headers, code) => {
    const stage = await scene().stage()
    stage.one.behave({ wait: new Promise(() => {}) })
    const { status, text } = await post(stage, { stream: true, ...more }, headers as Record<string, string>)
    const events = eventsIn(text)
    const id = await idOf(stage)
    const { body } = await stage.get(`${RESPONSES}/${id}`)
    expect(body.status).toBe('failed')
    if (code) expect(body.error.code).toBe(code)
    expect([status, events]).toEqual([200, [{ type: 'response.failed', sequence_number: 0, response: body }]])
    expect(await eventsOf(stage, id)).toEqual(events)
    await done()
  })

  test('§10.2 what an upstream refuses is told by the official client as failed', async () => {
    const stage = await scene().stage()
    stage.one.behave({ status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } })
    const created = await stage.openai().responses.create({
      model: stage.model,
      input: 'x',
      background: true,
      stream: true,
    })
    const events: { type: string }[] = []
    for await (const event of created) events.push(event)
    expect(events.map(({ type }) => type)).toEqual(['response.failed'])
  })

  /** One that says some of it and no more. */
  async function inTheMiddle(stage: TheStage) {
    const rest = deferred()
    stage.one.behave({ pace: (event) => (event === 3 ? rest.promise : undefined) })
    const { id } = (await post(stage)).json
    await expect.poll(async () => (await keptOf(id)).length).toBeGreaterThan(0)
    const made = await stage.post('/v2/api-keys', { name: 'stays', scopes: ['admin'] })
    const { get } = scene().as(made.body.key)
    const follow = async (after = '') =>
      eventsIn((await get(`${RESPONSES}/${id}?stream=true${after}`)).bytes.toString())
    return { id, live: follow(), follow, goOn: rest.resolve }
  }

  const keptOf = (id: string) =>
    scene().db.rows(sql`SELECT response_id FROM background_events WHERE response_id = ${id}`)

  test('§10.2 R74 a key that is revoked in mid-stream: whoever follows, or comes again, is told so', async () => {
    const stage = await scene().stage()
    const { id, live, follow, goOn } = await inTheMiddle(stage)
    await scene().db.rows(sql`UPDATE api_key SET status = 'revoked', hash = NULL WHERE id = ${stage.key_id}`)
    const events = await live
    goOn()
    await done()
    const last = events.at(-1)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number))
    expect(events.length).toBeGreaterThan(1)
    expect(last).toMatchObject({
      type: 'response.failed',
      response: { id, status: 'failed', error: { code: 'invalid_api_key' } },
    })
    expect(await follow(`&starting_after=${events.length - 2}`)).toEqual([last])
  })

  test('§10.2 one that broke off at every attempt ends with an event, for whoever saw more of an earlier run too', async () => {
    const stage = await scene().stage()
    stage.one.behave({ instead: 'reset' })
    const { id } = (await post(stage)).json
    await done()
    const { db, clock } = scene()
    await db.rows(sql`UPDATE background_response SET attempts = 19 WHERE id = ${id}`)
    clock.advance(60_000)
    await scene().housekeep('run background responses')
    await done()
    const { body } = await stage.get(`${RESPONSES}/${id}`)
    expect(body.status).toBe('failed')
    expect(await eventsOf(stage, id)).toEqual([{ type: 'response.failed', sequence_number: 0, response: body }])
    expect(await eventsOf(stage, id, '&starting_after=4')).toEqual([
      { type: 'response.failed', sequence_number: 5, response: body },
    ])
  })

  test('§10.2 one that was cancelled in mid-stream is told as what it is', async () => {
    const stage = await scene().stage()
    const { id, live, goOn } = await inTheMiddle(stage)
    const cancelled = (await stage.send('POST', `${RESPONSES}/${id}/cancel`)).body
    goOn()
    await done()
    expect((await live).at(-1)).toMatchObject({ type: 'response.failed', response: { id, status: cancelled.status } })
    expect(cancelled.status).toBe('cancelled')
  })

  test('§10.2 what has told its last event is told no other, to whoever comes again behind it either', async () => {
    const stage = await scene().stage()
    stage.one.behave({ cut: { after: 3, how: 'reset' } })
    const broke = (await post(stage)).json.id
    await done()
    stage.one.behave({})
    const made = (await post(stage)).json.id
    await done()
    for (const [id, type] of [
      [broke, 'error'],
      [made, 'response.completed'],
    ]) {
      const events = await eventsOf(stage, id)
      expect(events.filter((event) => ENDS.includes(event.type))).toHaveLength(1)
      expect(events.at(-1)?.type).toBe(type)
      expect(await eventsOf(stage, id, `&starting_after=${events.at(-1)?.sequence_number}`)).toEqual([])
    }
  })

  test('§4.11 the events of a response that there is not are 404, of another key’s 403, of one that is none 400', async () => {
    const stage = await scene().stage()
    const told = async (id: string, key = stage.key) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await stage.ask(`${RESPONSES}/${id}?stream=true`, { method: 'GET', headers })).status
    }
    const { id } = (await stage.ask(RESPONSES, { body: { model: stage.model, input: 'x' } })).json
    expect([await told('resp_none'), await told('nonsense'), await told(id)]).toEqual([404, 404, 400])
    const other = (await stage.post('/v2/api-keys', { name: 'other' })).body.key
    expect([await told(id, other), await told('resp_none', other)]).toEqual([403, 404])
  })
})
