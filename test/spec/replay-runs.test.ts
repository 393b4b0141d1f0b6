// §8.1 /v2/replay-runs over HTTP: what is refused, what a plan says, and what one may do with a run.
import { expect, test } from 'vitest'
import { READ_BACK } from '../../src/recordings/recording.ts'
import { sql } from '../../src/storage/db.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { record, recordingSettings } from '../support/replays.ts'
import { type TestProject, withService } from '../support/service.ts'
import { deferred } from '../support/tampered-db.ts'

const CHAT = '/v1/chat/completions'

const chat = (text: string, more: object = {}) => ({
  model: 'a-model',
  messages: [{ role: 'user', content: text }],
  ...more,
})

withService(
  (service) => {
    const run = () => {
      service().clock.advance(1_000) // no live call is near, so that items do not wait for them
      return service().housekeep('run replay runs')
    }
    const shown = async (project: TestProject, id: string) => (await project.get(`/v2/replay-runs/${id}`)).body

    test('§8.1 A/A with the placeholder: all of it equal, and the difference in cost exactly 0', async () => {
      const project = await service().newProject()
      const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
      const traces = [
        await record(project, CHAT, chat('one')),
        await record(project, CHAT, chat('two', { stream: true })),
        await record(project, CHAT, chat('three', { tools: [tool] })),
        await record(project, '/v1/completions', { model: 'a-model', prompt: 'four' }),
        await record(project, '/v1/responses', { model: 'a-model', input: 'five' }),
        await record(project, '/v2/responses', { model: 'a-model', input: 'six', stream: true }),
        await record(project, '/anthropic/v1/messages', { ...chat('seven'), max_tokens: 50 }),
      ]
      const planned = await project.post('/v2/replay-runs', {
        source: { trace_ids: traces },
        target: { model: 'a-model' },
        control: true,
      })
      expect(
        planned.status,
        service()
          .log.filter((l) => l.includes('"err"'))
          .join('\n'),
      ).toBe(200)
      expect(planned.body).toMatchObject({ status: 'planned', items: { total: 14, pending: 14 } })
      const { id } = planned.body
      const begun = await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 1 })
      expect(begun.body).toMatchObject({ status: 'queued', max_cost_micros: 1_000_000, returned_micros: null })
      await run()
      expect(await shown(project, id)).toMatchObject({
        ...{ status: 'completed', spent_micros: 0, returned_micros: 1_000_000, error: null },
        items: { total: 14, done: 14 },
      })
      const { body } = await project.get(`/v2/replay-runs/${id}/comparison`)
      expect(body).toMatchObject({ compared: 7, control_compared: 7, differences: [] })
      for (const { target, control } of body.rates) expect([target.count, control.count]).toEqual([0, 0])
      for (const { measure, target } of body.amounts.filter(
        ({ measure }: { measure: string }) => !measure.endsWith('_ms'),
      ))
        expect([measure, target.delta]).toEqual([measure, 0])
    })

    const plan = async (project: TestProject, more: object = {}) => {
      const source = { trace_ids: [await record(project, CHAT, chat('one'))] }
      return (await project.post('/v2/replay-runs', { source, target: { model: 'a-model' }, ...more })).body
    }

    test('§8.1 live calls come first: they are noticed, and calls of a run are none of them', async () => {
      const project = await service().newProject()
      const { inference, clock } = service()
      const { id } = await plan(project)
      expect(inference.isQuiet()).toBe(false)
      clock.advance(1_000)
      expect(inference.isQuiet()).toBe(true)
      await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 1 })
      await run()
      expect(await shown(project, id)).toMatchObject({ status: 'completed', items: { done: 1 } })
      expect(inference.isQuiet()).toBe(true)
    })

    const SOURCE = { trace_ids: ['trc_1'] }
    const TARGET = { model: 'a-model' }

    test.each([
      ['no source', { target: TARGET }, 'source'],
      ['an empty source', { source: {}, target: TARGET }, "'source'"],
      ['two sources', { source: { ...SOURCE, session_id: 'ses_1' }, target: TARGET }, "'source'"],
      ['an unknown field of the source', { source: { traces: ['a'] }, target: TARGET }, 'traces'],
      ['a sample of named calls', { source: { ...SOURCE, sample: { n: 1, seed: 'a' } }, target: TARGET }, 'sample'],
      ['nothing that matches', { source: { session_id: 'ses_none' }, target: TARGET }, "'source'"],
      ['no target', { source: SOURCE }, 'target'],
      ['an empty target', { source: SOURCE, target: {} }, "'target'"],
      [
        'a release beside a model',
        { source: SOURCE, target: { model: 'a', alias_release_id: 'alr_1' } },
        'alias_release_id',
      ],
      ['another prompt', { source: SOURCE, target: TARGET, overrides: { messages: [] } }, "'overrides.messages'"],
      ['no switch', { source: SOURCE, target: TARGET, control: 'yes' }, 'control'],
    ])('§8.1 refused, with nothing stored: %s', async (_case, body, named) => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post('/v2/replay-runs', body))
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
      expect(answer.body.error.message).toContain(named)
    })

    test.each([
      ['a release', { alias_release_id: 'alr_1' }],
      ['a cluster', { cluster_id: 'byc_1' }],
    ])('§8.1 a target that the project does not have is 404, with nothing stored: %s', async (_case, target) => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post('/v2/replay-runs', { source: SOURCE, target }))
      expect(answer.status).toBe(404)
    })

    test('R74 it needs admin, and another project’s run does not exist', async () => {
      const [one, two] = [await service().newProject(), await service().newProject()]
      const { id } = await plan(one)
      const weak = service().as(await one.keyWith('inference', 'read'))
      expect((await weak.get(`/v2/replay-runs/${id}`)).status).toBe(403)
      for (const path of ['', '/items', '/comparison', '/items/trc_1/target/output'])
        expect((await two.get(`/v2/replay-runs/${id}${path}`)).status).toBe(404)
      for (const step of ['execute', 'pause', 'resume', 'cancel']) {
        const answer = await service().storingNothing(() =>
          two.post(`/v2/replay-runs/${id}/${step}`, { max_cost_usd: 1 }),
        )
        expect(answer.status).toBe(404)
      }
      expect((await two.get('/v2/replay-runs')).body.data).toEqual([])
      expect((await one.get('/v2/replay-runs')).body.data).toMatchObject([{ id, status: 'planned' }])
    })

    test('§8.1 what was not recorded is in the plan with that reason, and a plan without any other cannot be executed', async () => {
      const project = await service().newProject()
      const { headers } = await project.post(CHAT, chat('not recorded'))
      const embedding = await record(project, '/v1/embeddings', { model: 'a-model', input: 'x' })
      const source = { trace_ids: [headers['agent-trace-id'], embedding] }
      const { id, items } = (await project.post('/v2/replay-runs', { source, target: TARGET })).body
      expect(items).toMatchObject({ total: 2, skipped: 2 })
      const { data } = (await project.get(`/v2/replay-runs/${id}/items`)).body
      expect(data.map(({ reason }: { reason: string }) => reason)).toEqual(['not_recorded', 'not_compared'])
      const refused = await service().storingNothing(() =>
        project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 1 }),
      )
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('no item')])
    })

    test('§8.1 a sample is drawn among recorded calls by its seed; a session has all of its own', async () => {
      const project = await service().newProject()
      const session = { prompt_cache_key: 'my-session' }
      await project.post(CHAT, chat('not recorded'))
      const traces: string[] = []
      for (let n = 0; n < 6; n++) traces.push(await record(project, CHAT, chat(`${n}`, n < 2 ? session : {})))
      const drawn = async (seed: string) => {
        const source = { filter: { model: 'a-model' }, sample: { n: 3, seed } }
        const { id, matched } = (await project.post('/v2/replay-runs', { source, target: TARGET })).body
        const { data } = (await project.get(`/v2/replay-runs/${id}/items`)).body
        return { matched, ids: data.map(({ trace_id }: { trace_id: string }) => trace_id) }
      }
      const [first, again] = [await drawn('a'), await drawn('a')]
      expect(first).toEqual(again)
      expect([first.matched, first.ids.length, first.ids.every((id: string) => traces.includes(id))]).toEqual([
        7,
        3,
        true,
      ])
      const all = await project.post('/v2/replay-runs', { source: { session_id: 'my-session' }, target: TARGET })
      expect(all.body).toMatchObject({ matched: 2, items: { total: 2, pending: 2 } })
    })

    test('R78 of a project one plan is made at a time, a few wait, and more are 429', async () => {
      const project = await service().newProject()
      const gate = deferred()
      service().tampering.rows = async (statement, go) => {
        if (statement.values.includes('trc_held')) await gate.promise
        return go(statement)
      }
      const statuses: number[] = []
      const plan = async () => {
        const { status } = await project.post('/v2/replay-runs', {
          source: { trace_ids: ['trc_held'] },
          target: TARGET,
        })
        statuses.push(status)
      }
      const plans = Array.from({ length: 7 }, plan)
      await comesTrue(async () => statuses.length >= 2)
      expect(statuses).toEqual([429, 429])
      service().tampering.rows = undefined
      gate.resolve()
      await Promise.all(plans)
      expect(statuses).toEqual([429, 429, 200, 200, 200, 200, 200])
    })

    test('R78 of all projects two calls are planned at a time, and the others get their turn', async () => {
      const gate = deferred()
      const begun = new Set<unknown>()
      const projects = await Promise.all(Array.from({ length: 4 }, () => service().newProject()))
      service().tampering.rows = async (statement, go) => {
        if (statement.values.includes('trc_held')) {
          begun.add(statement.values.find((value) => projects.some(({ project }) => project.id === value)))
          await gate.promise
        }
        return go(statement)
      }
      const source = { trace_ids: ['trc_held'] }
      const plans = projects.map(({ post }) => post('/v2/replay-runs', { source, target: TARGET }))
      await comesTrue(async () => begun.size >= 2)
      for (let n = 0; n < 20; n++) await service().db.rows(sql`SELECT id FROM project LIMIT 1`)
      const at_once = begun.size
      service().tampering.rows = undefined
      gate.resolve()
      expect((await Promise.all(plans)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(at_once).toBe(2)
    })

    test('R78 what is read back for plans and runs has room, or waits: a plan is 503, an item is tried later', async () => {
      const project = await service().newProject()
      const { id } = await plan(project)
      const { room } = service().recordings
      const places = []
      for (let left = READ_BACK.bytes; left > 64; left /= 2) {
        const place = room.place(`other ${left}`)
        place.take(Math.floor(left / 2))
        places.push(place)
      }
      const trace_ids = [(await project.get(`/v2/replay-runs/${id}/items`)).body.data[0].trace_id]
      const refused = await service().storingNothing(() =>
        project.post('/v2/replay-runs', { source: { trace_ids }, target: TARGET }),
      )
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
      await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 0.5 })
      await run()
      expect(await shown(project, id)).toMatchObject({ status: 'running', items: { running: 1, failed: 0 } })
      for (const place of places) place.giveBack()
      await run()
      expect(await shown(project, id)).toMatchObject({ status: 'completed', items: { done: 1 } })
      expect(room.taken()).toBe(0)
    })

    test('R70 without a limit all items come, however many', async () => {
      const project = await service().newProject()
      const trace_ids = Array.from({ length: 101 }, (_, n) => `trc_nobody${n}`)
      const { id } = (await project.post('/v2/replay-runs', { source: { trace_ids }, target: TARGET })).body
      const { body } = await project.get(`/v2/replay-runs/${id}/items`)
      expect([body.data.length, body.has_more]).toEqual([101, false])
    })

    test('§8.1 items come page by page, and outputs are contents that a purge job erases', async () => {
      const project = await service().newProject()
      const { id } = await plan(project, { control: true })
      await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 0.5 })
      await run()
      const first = (await project.get(`/v2/replay-runs/${id}/items?limit=1`)).body
      expect(first).toMatchObject({ data: [{ arm: 'target', status: 'done' }], has_more: true })
      const { trace_id } = first.data[0]
      const second = (await project.get(`/v2/replay-runs/${id}/items?limit=1&after=${trace_id}/target`)).body
      expect(second).toMatchObject({ data: [{ arm: 'control' }], has_more: false })
      expect((await project.get(`/v2/replay-runs/${id}/items?after=trc_1/target`)).status).toBe(400)
      const output = `/v2/replay-runs/${id}/items/${trace_id}/target/output`
      expect((await project.get(output)).body).toMatchObject({ object: 'chat.completion' })
      service().clock.advance(1)
      const filter = { trace_ids: [trace_id] }
      await project.post('/v2/purge-jobs', { filter, kinds: ['replay_outputs'], mode: 'erase' })
      await service().housekeep('run purge jobs')
      expect((await project.get('/v2/purge-jobs')).body.data[0].kinds).toMatchObject([
        { kind: 'replay_outputs', erased: 2 },
      ])
      expect((await project.get(output)).status).toBe(404)
      expect((await shown(project, id)).items.done).toBe(2)
    })

    test('R70 a run is kept for 30 days, then all of it goes', async () => {
      const project = await service().newProject()
      const { id } = await plan(project)
      await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 0.5 })
      await run()
      service().clock.advance(30 * 24 * 3_600_000 + 1)
      await service().housekeep('sweep replay runs')
      expect((await project.get(`/v2/replay-runs/${id}`)).status).toBe(404)
      for (const table of ['replay_run', 'replay_item', 'replay_output'])
        expect(
          await service().db.rows({
            text: [`SELECT * FROM ${table} WHERE project_id = '${project.project.id}'`],
            values: [],
          }),
        ).toEqual([])
    })

    test('§9.4 a release shows what its replay found, for good, and route-explain names the run', async () => {
      const project = await service().newProject()
      const targets = [{ provider: 'openai', model: 'a-model' }]
      await project.post('/v2/aliases', { name: 'fast', targets })
      const unfinished = await plan(project)
      const release = (body: object) => project.post('/v2/aliases/fast/releases', body)
      for (const [replay_run_id, wanted] of [
        [unfinished.id, targets],
        ['rpl_unknown', targets],
      ] as const) {
        const answer = await service().storingNothing(() => release({ targets: wanted, replay_run_id }))
        expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("'replay_run_id'")])
      }
      await project.post(`/v2/replay-runs/${unfinished.id}/execute`, { max_cost_usd: 0.5 })
      await run()
      const other = [{ provider: 'openai', model: 'another-model' }]
      expect(
        (await service().storingNothing(() => release({ targets: other, replay_run_id: unfinished.id }))).status,
      ).toBe(400)
      const made = (await release({ targets, replay_run_id: unfinished.id })).body
      expect(made.evidence).toMatchObject({
        replay_run_id: unfinished.id,
        compared: 1,
        differences: [],
        charged_micros: 0,
      })
      await project.post(`/v2/alias-releases/${made.id}/activate`)
      const explained = (await project.post('/v2/route-explain', { model: 'fast' })).body
      expect(explained).toMatchObject({ alias_release_id: made.id, replay_run_id: unfinished.id })
      expect((await project.get('/v2/aliases/fast/releases')).body.data[0].evidence).toEqual(made.evidence)
    })

    test('§9.4 a release can be replayed before it is activated, and is then the evidence of one with its targets', async () => {
      const project = await service().newProject()
      const targets = [{ provider: 'openai', model: 'b-model' }]
      await project.post('/v2/aliases', { name: 'fast', targets: [{ provider: 'openai', model: 'a-model' }] })
      const { id } = (await project.post('/v2/aliases/fast/releases', { targets })).body
      const tested = await plan(project, { target: { alias_release_id: id } })
      const { data } = (await project.get(`/v2/replay-runs/${tested.id}/items`)).body
      expect(data[0].planned.route).toMatchObject({ model: 'b-model' })
      await project.post(`/v2/replay-runs/${tested.id}/execute`, { max_cost_usd: 0.5 })
      await run()
      const made = await project.post('/v2/aliases/fast/releases', { targets, replay_run_id: tested.id })
      expect(made.body.evidence).toMatchObject({ replay_run_id: tested.id, compared: 1 })
    })
  },
  { parts: { settings: recordingSettings() } },
)
