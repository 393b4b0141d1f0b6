// §4.11: `background: true`: a response that nobody waits for. It is promised at once, run by whichever process has the
// lease, charged once, read back, followed from any event, cancelled, and stopped with its key.
import { expect, test } from 'vitest'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { hintsHeader } from '../support/inference-client.ts'
import { anotherProcess, MAX_OUTPUT, PRICES, type Scene, USUAL_COST, withScene } from '../support/inference-scene.ts'

const RESPONSES = '/v1/responses'

const jobsIn = (db: OpenDb, project_id: string) =>
  db.rows<{ id: string; status: string; attempts: number }>(sql`
    SELECT id, status, attempts FROM background_response WHERE project_id = ${project_id} ORDER BY sequence`)

withScene(
  (scene) => {
    type TheStage = Awaited<ReturnType<Scene['stage']>>
    const ask = (stage: TheStage, more: object = {}, headers: Record<string, string> = {}) =>
      stage.ask(RESPONSES, { body: { model: stage.model, input: 'hello', background: true, ...more }, headers })
    const done = () => scene().inference.jobs.idle()

    test.each([
      ['over chat', undefined],
      ['on an upstream with a Responses API of its own', 'native'],
    ])(
      '§4.11 %s by the official client: queued, then completed under the same id, charged once',
      async (_what, model) => {
        const stage = await scene().stage({ key: 100_000 })
        const client = stage.openai()
        const queued = await client.responses.create({ model: model ?? stage.model, input: 'hello', background: true })
        expect(queued).toMatchObject({ status: 'queued', background: true, output: [] })
        await done()
        const made = await client.responses.retrieve(queued.id)
        expect(made).toMatchObject({ id: queued.id, status: 'completed', background: true })
        expect(made.output_text).toBe('Hello from the upstream.')
        const { spent, events } = await stage.audit()
        expect([spent, events.length, stage.one.requests.length]).toEqual([USUAL_COST, 1, 1])
        const next = await client.responses.create({
          model: model ?? stage.model,
          input: 'more',
          previous_response_id: queued.id,
        })
        expect(next.previous_response_id).toBe(queued.id)
      },
    )

    test('§4.11 its events are read from any number on, while it runs and after', async () => {
      const stage = await scene().stage()
      let go: () => void = () => {}
      const held = new Promise<void>((resolve) => {
        go = resolve
      })
      stage.one.behave({ pace: (event) => (event === 2 ? held : undefined) })
      const client = stage.openai()
      const created = await client.responses.create({ model: stage.model, input: 'hi', background: true, stream: true })
      const live: { type: string; sequence_number: number }[] = []
      let id = ''
      for await (const event of created) {
        live.push(event)
        if (event.type === 'response.created') id = event.response.id
        if (event.type === 'response.output_text.delta') go()
      }
      await done()
      expect(live.map(({ sequence_number }) => sequence_number)).toEqual(live.map((_, n) => n))
      expect(live.at(-1)?.type).toBe('response.completed')
      const again: object[] = []
      for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 2 }))
        again.push(event)
      expect(again).toEqual(live.slice(3))
    })

    test('§4.18.1 tags that cannot be read are 400 at once: nobody is promised what would fail', async () => {
      const stage = await scene().stage()
      const refused = await ask(stage, {}, { 'agent-tags': 'team search' })
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining("'Agent-Tags'")])
      expect(await jobsIn(scene().db, stage.project.id)).toEqual([])
      const { id } = (await ask(stage, {}, { 'agent-tags': 'team=search' })).json
      await done()
      expect((await stage.get(`${RESPONSES}/${id}`)).body.status).toBe('completed')
      expect((await stage.get('/v2/usage?tag=team=search')).body.data).toHaveLength(1)
    })

    test('§11 idempotent creation: one job, one charge, the same answer', async () => {
      const stage = await scene().stage()
      const keyed = { 'agent-idempotency-key': 'k' }
      const [first, again] = [await ask(stage, {}, keyed), await ask(stage, {}, keyed)]
      expect([again.json, again.headers['agent-idempotent-replay']]).toEqual([first.json, 'true'])
      await done()
      expect(await jobsIn(scene().db, stage.project.id)).toMatchObject([{ id: first.json.id, status: 'completed' }])
      expect((await stage.audit()).events).toHaveLength(1)
      const both = await ask(stage, { stream: true }, { 'agent-idempotency-key': 'other' })
      expect([both.status, both.json.error.message]).toEqual([400, expect.stringContaining("'stream'")])
    })

    test('§4.11 a job whose process died is run by another: from the start, or out of what was kept; charged once', async () => {
      const stage = await scene().stage({ key: 100_000 })
      const { db, clock } = scene()
      let go: () => void = () => {}
      stage.one.next({
        wait: new Promise<void>((resolve) => {
          go = resolve
        }),
      })
      const { id } = (await ask(stage)).json
      await stage.one.request(1)
      const [asked] = await db.rows<{ sealed: Uint8Array }>(
        sql`SELECT sealed FROM background_response WHERE id = ${id}`,
      )
      go()
      await done()
      // As a process leaves it that is killed between the charge and the end of the job.
      await db.rows(sql`
        UPDATE background_response
        SET status = 'in_progress', owner = 'dead', lease_until = ${clock.now() - 1}, finished_ms = NULL,
            sealed = ${asked?.sealed ?? null}
        WHERE id = ${id}`)
      await scene().housekeep('run background responses')
      await done()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'completed', attempts: 2 }])
      expect([(await stage.audit()).spent, stage.one.requests.length]).toEqual([USUAL_COST, 1])
    })

    test('§4.11 a lease that is held is nobody else’s; one that is over is taken, and the run begins anew', async () => {
      const stage = await scene().stage()
      const { db, clock } = scene()
      stage.one.behave({ instead: 'reset' })
      const { id } = (await ask(stage)).json
      await done()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'queued', attempts: 1 }])
      stage.one.behave({})
      await scene().housekeep('run background responses')
      await done()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'queued', attempts: 1 }])
      clock.advance(60_000)
      await scene().housekeep('run background responses')
      await done()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'completed', attempts: 2 }])
      expect((await stage.get(`${RESPONSES}/${id}`)).body.status).toBe('completed')
      expect((await stage.audit()).spent).toBe(USUAL_COST)
    })

    test('§4.11 R22 a process that lost its lease is taken over by another; what it still hears changes nothing', async () => {
      const stage = await scene().stage({ key: 100_000 })
      const { db, clock } = scene()
      let go: () => void = () => {}
      stage.one.next({
        wait: new Promise<void>((resolve) => {
          go = resolve
        }),
      })
      const { id } = (await ask(stage)).json
      await stage.one.request(1)
      const second = await anotherProcess(scene(), 'second')
      clock.advance(61_000)
      await db.rows(sql`UPDATE background_response SET owner = 'gone', lease_until = ${clock.now()} WHERE id = ${id}`)
      await second.inference.jobs.turn()
      await second.inference.jobs.idle()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'completed', attempts: 2 }])
      go()
      await done()
      expect(await jobsIn(db, stage.project.id)).toEqual([{ id, status: 'completed', attempts: 2 }])
      const { spent, events } = await stage.until(({ held }) => held === 0)
      const paid = events.filter(({ charged_micros }) => charged_micros > 0)
      expect([spent, paid.length, stage.one.requests.length]).toEqual([USUAL_COST, 1, 2])
      expect((await stage.get(`${RESPONSES}/${id}`)).body).toMatchObject({ id, status: 'completed' })
      await second.app.close()
    })

    test('§4.11 cancelled while it runs: the upstream is let go, and it stays cancelled', async () => {
      const stage = await scene().stage({ key: 100_000 })
      stage.one.behave({ wait: new Promise(() => {}) })
      const { id } = (await ask(stage)).json
      const { over } = await stage.one.request(1)
      const client = stage.openai()
      expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
      expect(await over).toBe('left')
      await done()
      expect((await client.responses.retrieve(id)).status).toBe('cancelled')
      expect((await client.responses.cancel(id)).status).toBe('cancelled')
      expect(await stage.audit()).toMatchObject({ spent: 0, held: 0 })
    })

    test('R26 cancelled once its text is there: what was produced is paid for, as the upstream tells it', async () => {
      const stage = await scene().stage({ key: 100_000 })
      let go: () => void = () => {}
      const held = new Promise<void>((resolve) => {
        go = resolve
      })
      stage.one.behave({ chunks: 3, pace: (event) => (event === 4 ? held : undefined) }) // the usage comes last
      const client = stage.openai()
      const { id } = (await ask(stage)).json
      for await (const { type } of await client.responses.retrieve(id, { stream: true }))
        if (type === 'response.output_text.delta') break
      expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
      go()
      await done()
      expect(await stage.audit()).toMatchObject({ spent: USUAL_COST, held: 0 })
      expect((await client.responses.retrieve(id)).status).toBe('cancelled')
    })

    test('§8.2.3, §4.11 one that is not made yet is read on every path, and not told to be unknown', async () => {
      const stage = await scene().stage({ key: 100_000 })
      stage.one.behave({ wait: new Promise(() => {}) })
      const { id } = (await ask(stage)).json
      await stage.one.request(1)
      const [items, native, attempts] = [
        await stage.get(`${RESPONSES}/${id}/input_items`),
        await stage.get(`/v2/responses/${id}`),
        await stage.get(`/v2/responses/${id}/attempts`),
      ]
      expect([items.status, items.body.object]).toEqual([200, 'list'])
      expect([native.status, native.body]).toMatchObject([200, { id, status: 'in_progress' }])
      expect([attempts.status, attempts.body.data]).toEqual([200, []])
      await stage.send('POST', `${RESPONSES}/${id}/cancel`)
      await done()
    })

    test('R80 one that failed leads to the trace of its last run', async () => {
      const stage = await scene().stage()
      const { id } = (await ask(stage, { model: 'nobody-has-it' })).json
      await done()
      const failed = await stage.get(`/v2/responses/${id}`)
      expect([failed.status, failed.body.status, failed.body.error.code]).toEqual([200, 'failed', 'model_not_found'])
      const { status, body } = await stage.get(`/v2/traces/${id}`)
      expect([status, body.outcome]).toEqual([200, 'refused'])
      expect(body).toMatchObject({ requested_model: 'nobody-has-it', refusal: { code: 'model_not_found' } })
    })

    test('R74 a key that is revoked before its turn, or meanwhile, stops it', async () => {
      const stage = await scene().stage()
      const { db, clock } = scene()
      stage.one.behave({ instead: 'reset' })
      const { id } = (await ask(stage)).json
      await done()
      stage.one.behave({})
      const asked = stage.one.requests.length
      await db.rows(sql`UPDATE api_key SET status = 'revoked', hash = NULL WHERE id = ${stage.key_id}`)
      clock.advance(60_000)
      await scene().housekeep('run background responses')
      await done()
      expect(await jobsIn(db, stage.project.id)).toMatchObject([{ id, status: 'failed' }])
      expect(stage.one.requests.length).toBe(asked)
    })

    test('R74 and one that is revoked in the middle of it: the upstream is let go', async () => {
      const stage = await scene().stage()
      stage.one.behave({ wait: new Promise(() => {}) })
      const { id } = (await ask(stage)).json
      const { over } = await stage.one.request(1)
      await scene().db.rows(sql`UPDATE api_key SET status = 'revoked', hash = NULL WHERE id = ${stage.key_id}`)
      expect(await over).toBe('left')
      await done()
      expect(await jobsIn(scene().db, stage.project.id)).toMatchObject([{ id, status: 'failed' }])
      expect(await stage.audit()).toMatchObject({ spent: 0, held: 0 })
    })

    test('R43 the hold is taken when it runs: one that the budget does not buy fails by that name', async () => {
      const stage = await scene().stage({ key: 10 })
      const { id } = (await ask(stage, { max_output_tokens: 1_000 })).json
      await done()
      const { body } = await stage.get(`${RESPONSES}/${id}`)
      expect(body).toMatchObject({ status: 'failed', error: { code: 'quota_exceeded' } })
      expect(stage.one.requests.length).toBe(0)
    })

    test.each([
      [{ store: false }, "'store' must not be false"],
      [{ background: 'yes' }, "'background' must be a boolean"],
      [{ model: 7 }, "'model' must be"],
      [{ input: undefined }, "'input' is required"],
    ])('R76 %j is 400 by name, and nothing is promised', async (more, message) => {
      const stage = await scene().stage()
      const refused = await ask(stage, more)
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(message)])
      expect(await jobsIn(scene().db, stage.project.id)).toEqual([])
    })

    test.each(['/v2/responses', '/openai/v1/responses', '/openai/responses', '/openai/deployments/gpt/responses'])(
      '0350 %s makes none: 400 that says where, and nothing is promised',
      async (path) => {
        const stage = await scene().stage()
        const refused = await stage.ask(path, { body: { model: stage.model, input: 'hello', background: true } })
        expect([refused.status, refused.json.error.message]).toEqual([
          400,
          expect.stringContaining("'background' must not be true here: only /v1/responses"),
        ])
        expect(await jobsIn(scene().db, stage.project.id)).toEqual([])
        expect(stage.one.requests).toEqual([])
      },
    )

    test.each([
      ['a header that is none', { 'agent-hints': '{"qos":{}}' }, 'agent-hints'],
      ['a section of the wrong type', hintsHeader({ qos: 7 }), 'agent-hints.qos'],
      ['a field out of range', hintsHeader({ qos: { deadline_ms: 0 } }), 'agent-hints.qos.deadline_ms'],
      ['a reference to none', { 'agent-hints-ref': 'ah_none' }, 'agent-hints-ref'],
      ['nothing', hintsHeader({ qos: { deadline_ms: 60_000 } }), undefined],
    ])('R75 what nobody acts on of its hints is told where it is promised: %s', async (_what, hints, wanted) => {
      const stage = await scene().stage()
      const headers = { ...hints, 'agent-idempotency-key': 'k' }
      const answers = [await ask(stage, {}, headers), await ask(stage, {}, headers)] // the second is a replay
      await done()
      answers.push(await ask(stage, { stream: true }, hints))
      expect(answers.map((one) => [one.status, one.headers['agent-ignored-fields']])).toEqual(
        answers.map(() => [200, wanted]),
      )
      await done()
    })

    test('R78 a project has a bound of those under way; hints go along; another project sees none of it', async () => {
      const [stage, other] = [await scene().stage(), await scene().stage()]
      const { db, clock } = scene()
      stage.one.behave({ instead: 'reset' })
      const { id } = (await ask(stage, {}, hintsHeader({ qos: { class: 'background' } }))).json
      await done()
      expect((await other.get(`${RESPONSES}/${id}`)).status).toBe(404)
      for (let n = 0; n < 99; n++)
        await db.rows(sql`
          INSERT INTO background_response (id, project_id, key_id, status, lease_until, attempts, created_ms, sequence,
                                           sealed)
          SELECT ${`resp_fill${n}`}, project_id, key_id, 'queued', ${clock.now() + 1e9}, 0, created_ms, sequence, sealed
          FROM background_response WHERE id = ${id}`)
      const refused = await ask(stage)
      expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
      expect((await ask(other)).status).toBe(200)
      await done()
    })

    test('R78 and a bound of what their events take, until they are gone', async () => {
      const stage = await scene().stage()
      const { db, clock } = scene()
      const { id } = (await ask(stage)).json
      await done()
      const [taken] = await db.rows<{ event_bytes: number; kept: number }>(sql`
        SELECT event_bytes, (SELECT SUM(LENGTH(sealed)) FROM background_events WHERE response_id = ${id}) AS kept
        FROM background_response WHERE id = ${id}`)
      expect(taken?.event_bytes).toBeGreaterThan(100)
      expect(Number(taken?.kept)).toBe(Number(taken?.event_bytes))
      await db.rows(sql`UPDATE background_response SET event_bytes = ${256 * 2 ** 20} WHERE id = ${id}`)
      const refused = await ask(stage)
      expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
      expect(refused.json.error.message).toContain('256')
      expect(await jobsIn(db, stage.project.id)).toHaveLength(1)
      clock.advance(3_600_000)
      expect((await ask(stage)).status).toBe(200)
      await done()
    })

    test('§4.11 deleted, it is gone with its events; what ended long ago is swept', async () => {
      const stage = await scene().stage()
      const { db, clock } = scene()
      const eventsOf = () =>
        db.rows(sql`SELECT response_id FROM background_events WHERE project_id = ${stage.project.id}`)
      const { id } = (await ask(stage)).json
      await done()
      expect((await eventsOf()).length).toBeGreaterThan(0)
      await stage.send('DELETE', `${RESPONSES}/${id}`)
      expect([(await stage.get(`${RESPONSES}/${id}`)).status, await eventsOf()]).toEqual([404, []])
      await ask(stage)
      await done()
      clock.advance(25 * 3_600_000)
      await scene().housekeep('sweep background responses')
      expect([await jobsIn(db, stage.project.id), await eventsOf()]).toEqual([[], []])
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          id: 'native',
          base_url: one.base_url,
          api_key: 'sk-upstream',
          responses: true,
          models: [{ id: 'native', ...PRICES, max_output_tokens: MAX_OUTPUT }],
        },
      ],
    }),
  },
)
