// §8.1 replay runs over real upstreams: what they cost, that each call is made once, and what they leave alone.
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { CHAT, holdFor, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { replayFaults } from '../support/replay-books.ts'
import { record } from '../support/replays.ts'
import { deferred, mutateSql, textOf } from '../support/tampered-db.ts'
import { rollEverything } from '../support/usage-answers.ts'

const USD = 1_000_000

withScene(
  (scene) => {
    const run = () => {
      scene().clock.advance(1_000) // no live call is near, so that items do not wait for them
      return scene().housekeep('run replay runs')
    }
    const shown = async (stage: Stage, id: string) => (await stage.get(`/v2/replay-runs/${id}`)).body

    async function recorded(stage: Stage, count: number, more: object = {}): Promise<string[]> {
      const traces: string[] = []
      for (let n = 0; n < count; n++)
        traces.push(await record(stage, CHAT, stage.bodyOf({ max_tokens: 20, n: 1, ...more, user: `u${n}` })))
      return traces
    }

    async function planned(stage: Stage, trace_ids: string[], more: object = {}) {
      const body = { source: { trace_ids }, target: { model: stage.both }, ...more }
      const answer = await stage.post('/v2/replay-runs', body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return answer.body
    }

    async function executed(stage: Stage, id: string, micros: number, concurrency = 1): Promise<void> {
      const terms = { max_cost_usd: micros / USD, concurrency }
      expect((await stage.post(`/v2/replay-runs/${id}/execute`, terms)).body).toMatchObject({ status: 'queued' })
    }

    test('§8.1 a plan calls nobody, and says what it costs at the least and at the most', async () => {
      const stage = await scene().stage()
      const traces = await recorded(stage, 2)
      const before = [stage.one.requests.length, (await stage.ledger()).events.length]
      const plan = await planned(stage, [...traces, 'trc_unknown'])
      expect([stage.one.requests.length, (await stage.ledger()).events.length]).toEqual(before)
      const high = 2 * holdFor({ ...stage.bodyOf({ max_tokens: 20, n: 1, user: 'u0' }), model: stage.both }, 20)
      expect(plan).toMatchObject({
        items: { total: 3, pending: 2, skipped: 1 },
        plan: { low_micros: 2 * USUAL_COST, high_micros: high },
      })
      const { data } = (await stage.get(`/v2/replay-runs/${plan.id}/items`)).body
      expect(data.map(({ status, reason }: { status: string; reason: string }) => [status, reason])).toEqual([
        ...[
          ['pending', null],
          ['pending', null],
          ['skipped', 'not_found'],
        ],
      ])
      expect(data[0].planned.route).toMatchObject({ model: stage.both, provider: stage.first })
    })

    test('§8.1 each call is made once and charged, and the rest of the money goes back to the micro', async () => {
      const stage = await scene().stage({ project: USD })
      const traces = await recorded(stage, 3)
      const spent = (await stage.ledger()).spent
      const { id } = await planned(stage, traces, { control: true })
      await executed(stage, id, 50_000, 4)
      expect((await stage.ledger()).held).toBe(50_000)
      await run()
      expect(await shown(stage, id)).toMatchObject({
        ...{ status: 'completed', spent_micros: 6 * USUAL_COST, returned_micros: 50_000 - 6 * USUAL_COST },
        items: { done: 6 },
      })
      expect(await replayFaults(scene().db, id)).toEqual([])
      expect((await stage.audit()).spent).toBe(spent + 6 * USUAL_COST)
    })

    test('§11.2 nobody answers an item in the place of its run: a client’s key of the same form is another key', async () => {
      const stage = await scene().stage()
      const [trace = ''] = await recorded(stage, 1)
      const { id } = await planned(stage, [trace])
      const { key } = (await stage.post('/v2/api-keys', { name: 'other' })).body
      const headers = { authorization: `Bearer ${key}` }
      const before = () => stage.chat({ max_tokens: 20 }, { keyed: `replay/${id}/${trace}/target`, headers })
      const first = await before()
      expect([first.status, first.headers['agent-idempotent-replay']]).toEqual([200, 'false'])
      expect((await before()).headers['agent-idempotent-replay']).toBe('true')
      await executed(stage, id, 50_000)
      await run()
      const [item] = (await stage.get(`/v2/replay-runs/${id}/items`)).body.data
      expect(item.status).toBe('done')
      expect(item.result.trace_id).not.toBe(first.headers['agent-trace-id'])
      expect((await shown(stage, id)).spent_micros).toBe(USUAL_COST)
    })

    test('R78 beside live calls runs take turns, one item each, however many a run may ask at once', async () => {
      const [one, other] = [await scene().stage(), await scene().stage()]
      const runs = [
        await planned(one, await recorded(one, 2, { seed: 1 })),
        await planned(other, await recorded(other, 2)),
      ]
      const asked: string[] = []
      for (const stage of [one, other])
        stage.one.behave(({ body }) => {
          asked.push(body?.seed === 1 ? 'one' : 'other')
          return {}
        })
      await executed(one, runs[0].id, 50_000, 4)
      await executed(other, runs[1].id, 50_000, 4)
      await scene().housekeep('run replay runs') // the calls that were recorded came just now
      expect(asked).toEqual(['one', 'other', 'one', 'other'])
    })

    test('§8.1 what does not fit into the rest of the money is skipped; nothing is clamped, and no micro is passed', async () => {
      const stage = await scene().stage()
      const traces = await recorded(stage, 4)
      const { id, plan } = await planned(stage, traces)
      const each = plan.high_micros / 4
      await executed(stage, id, each + USUAL_COST, 4) // one hold, and after its settling one more
      await run()
      const { items, spent_micros } = await shown(stage, id)
      expect([items.done + items.skipped, spent_micros]).toEqual([4, items.done * USUAL_COST])
      expect(items.done).toBeGreaterThanOrEqual(2)
      expect(items.skipped).toBeGreaterThanOrEqual(1)
      const { data } = (await stage.get(`/v2/replay-runs/${id}/items?status=skipped`)).body
      expect(data[0].reason).toBe('max_cost')
      expect(await replayFaults(scene().db, id)).toEqual([])
      for (const { body } of stage.one.requests) expect(body).toMatchObject({ max_tokens: 20 })
    })

    test('§8.1 after a crash between the charge and the item, the kept answer counts: asked once, charged once', async () => {
      const stage = await scene().stage()
      const ops = { kind: 'webhook', name: 'ops', url: 'https://example.com/' }
      const channel = (await stage.post('/v2/notification-channels', ops)).body
      const traces = await recorded(stage, 2)
      const { id } = await planned(stage, traces)
      await executed(stage, id, 50_000)
      const asked = stage.one.requests.length
      let broken = 0
      scene().tampering.rows = (statement, go) => {
        if (!/UPDATE replay_item SET status = 'done'/.test(textOf(statement)) || broken >= 2) return go(statement)
        broken++
        return Promise.reject(new Error('killed'))
      }
      await run()
      scene().tampering.rows = undefined
      scene().clock.advance(60_000)
      await run()
      expect([broken, stage.one.requests.length - asked]).toEqual([2, 2])
      expect(await shown(stage, id)).toMatchObject({ status: 'completed', items: { done: 2 } })
      const { data: told } = (await stage.get(`/v2/notification-channels/${channel.id}/deliveries`)).body
      expect(told.map(({ type, subject }: Record<string, string>) => [type, subject])).toEqual([
        ['replay.finished', id],
      ])
      expect(await replayFaults(scene().db, id)).toEqual([])
    })

    test('§8.1 planted: an item that is forgotten to be done is asked twice, and that is seen', async () => {
      const stage = await scene().stage()
      const { id } = await planned(stage, await recorded(stage, 1))
      await executed(stage, id, 50_000)
      const planted = mutateSql(
        scene().tampering,
        "SET status = 'done'",
        "SET status = 'pending'",
        /UPDATE replay_item/,
      )
      const first = run()
      await expect.poll(() => planted.changed()).toBeGreaterThan(1)
      scene().tampering.rows = undefined
      await first
      await run()
      expect((await replayFaults(scene().db, id)).join()).toContain('asked twice')
    })

    test('§8.1 planted: money that does not go back is seen', async () => {
      const stage = await scene().stage()
      const { id } = await planned(stage, await recorded(stage, 1))
      await executed(stage, id, 50_000)
      const planted = mutateSql(
        scene().tampering,
        'held_micros = held_micros +',
        'held_micros = held_micros + 0 *',
        /UPDATE project/,
      )
      await run()
      scene().tampering.rows = undefined
      expect(planted.changed()).toBeGreaterThan(0)
      expect((await replayFaults(scene().db, id)).join()).toContain('not returned')
    })

    test('§8.1 nothing of it is in sessions, responses, recordings, affinity or repeated work, and tools are not run', async () => {
      const stage = await scene().stage()
      const session = (await stage.post('/v2/sessions', {})).body.id
      const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }]
      const trace = await record(stage, CHAT, stage.bodyOf({ tools, prompt_cache_key: session }))
      const response = await record(stage, '/v1/responses', {
        model: stage.model,
        input: 'hi',
        prompt_cache_key: session,
      })
      const count = async () => {
        const db = scene().db
        const [turns] = await db.rows<{ n: number }>(
          sql`SELECT COUNT(*) AS n FROM session_event WHERE session_id = ${session}`,
        )
        const [stored] = await db.rows<{ n: number }>(sql`SELECT COUNT(*) AS n FROM stored_response`)
        return [turns?.n, stored?.n, (await stage.get('/v2/recordings')).body.data.length]
      }
      const before = await count()
      const { id } = await planned(stage, [trace, response], { control: true })
      await executed(stage, id, 50_000)
      await run()
      expect(await shown(stage, id)).toMatchObject({ status: 'completed', items: { done: 4 } })
      expect(await count()).toEqual(before)
      const events = await scene().db.rows(sql`
        SELECT session_id, repeated_tokens_est, missed_reuse_tokens FROM usage_event WHERE key_id IN (
          SELECT key_id FROM replay_run WHERE id = ${id})`)
      expect(events).toHaveLength(4)
      for (const event of events)
        expect(event).toMatchObject({ session_id: null, repeated_tokens_est: 0, missed_reuse_tokens: 0 })
    })

    test('§8.2.3 calls of a replay are in no sum of reuse, rolled up or not, and its events still add up to it', async () => {
      const stage = await scene().stage()
      const usage = { input: 100, output: 10, cached: 60 }
      stage.one.behave({ usage })
      const traces = await recorded(stage, 2)
      const at = (hours: number) => new Date(noon + hours * HOUR_MS).toISOString()
      const noon = scene().clock.now()
      const reuse = async () => (await stage.get(`/v2/usage/reuse?from=${at(-1)}&to=${at(1)}`)).body
      const before = await reuse()
      expect(before).toMatchObject({ events: 2, input_tokens: 200, cached_tokens: 120 })
      const { id } = await planned(stage, traces, { control: true })
      await executed(stage, id, 50_000)
      await run()
      expect(await shown(stage, id)).toMatchObject({ status: 'completed', items: { done: 4 } })
      expect((await stage.get('/v2/usage')).body.data).toHaveLength(6)
      const addsUp = async () => {
        expect(await reuse()).toEqual(before)
        for (const place of before.places)
          expect((await stage.get(place.events_at)).body.data).toHaveLength(place.events)
      }
      await addsUp()
      scene().clock.advance(2 * DAY_MS)
      await rollEverything(scene().db)
      await addsUp()
      const only = (await stage.get('/v2/usage?replays=only')).body.data
      expect(only).toHaveLength(4)
      const named = `/v2/usage?trace_id=${only[0].trace_id}`
      for (const [query, found] of Object.entries({ '': 1, '&replays=only': 1, '&replays=exclude': 0 }))
        expect((await stage.get(named + query)).body.data).toHaveLength(found)
      expect((await stage.get('/v2/usage?replays=no')).status).toBe(400)
      // Long after the run itself is forgotten.
      scene().clock.advance(60 * DAY_MS)
      await scene().housekeep('sweep replay runs')
      expect((await stage.get(`/v2/replay-runs/${id}`)).status).toBe(404)
      expect(await reuse()).toEqual(before)
    })

    test('§8.1 what came by Azure’s paths is asked again by ours, and compared', async () => {
      const stage = await scene().stage()
      const body = { messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 }
      const traces = [
        await record(stage, `/openai/deployments/${stage.both}/chat/completions?api-version=2024-10-21`, body),
        await record(stage, '/openai/v1/chat/completions', { ...body, model: stage.both, stream: true }),
        await record(stage, '/openai/v1/responses', { model: stage.both, input: 'hi' }),
      ]
      const { id, items } = await planned(stage, traces, { control: true })
      expect(items).toMatchObject({ total: 6, pending: 6, skipped: 0 })
      await executed(stage, id, 50_000, 4)
      await run()
      expect(await shown(stage, id)).toMatchObject({ status: 'completed', items: { done: 6 } })
      const { data } = (await stage.get(`/v2/replay-runs/${id}/items`)).body
      for (const { result } of data) expect(result.same).toMatchObject({ text: true, finish_reason: true })
      expect(await replayFaults(scene().db, id)).toEqual([])
      await scene().housekeep('sweep kept responses')
      const kept = await scene().db.rows(sql`SELECT digest FROM idempotency WHERE project_id = ${stage.project.id}`)
      expect(kept).toEqual([]) // the answers of its items are forgotten once they are written down
    })

    test('§8.1 a response of the background is asked again as it was made, and waited for', async () => {
      const stage = await scene().stage()
      await stage.post('/v2/project/recordings', { enabled: true })
      await stage.post('/v1/responses', { model: stage.model, input: 'hi', background: true })
      await scene().inference.jobs.idle()
      const [{ trace_id }] = (await stage.get('/v2/usage')).body.data
      const { id } = await planned(stage, [trace_id])
      await executed(stage, id, 50_000)
      await run()
      const { data } = (await stage.get(`/v2/replay-runs/${id}/items`)).body
      expect(data).toMatchObject([{ status: 'done', result: { same: { text: true } } }])
    })

    test('§8.1 pause, resume, cancel: nothing further is asked, and what is left goes back at once', async () => {
      const stage = await scene().stage({ project: USD })
      const traces = await recorded(stage, 3)
      const { id } = await planned(stage, traces)
      await executed(stage, id, 50_000)
      expect((await stage.post(`/v2/replay-runs/${id}/pause`)).body.status).toBe('paused')
      await run()
      expect((await shown(stage, id)).items.pending).toBe(3)
      const second = await planned(stage, traces)
      const refused = await scene().storingNothing(() =>
        stage.post(`/v2/replay-runs/${second.id}/execute`, { max_cost_usd: 0.01 }),
      )
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining(id)])
      expect((await stage.post(`/v2/replay-runs/${id}/resume`)).body.status).toBe('queued')
      expect((await stage.post(`/v2/replay-runs/${id}/cancel`)).body).toMatchObject({
        ...{ status: 'cancelled', spent_micros: 0, returned_micros: 50_000 },
        items: { skipped: 3 },
      })
      expect(await replayFaults(scene().db, id)).toEqual([])
      for (const step of ['pause', 'resume', 'cancel', 'execute'])
        expect((await stage.post(`/v2/replay-runs/${id}/${step}`, { max_cost_usd: 1 })).status).toBe(400)
    })

    test('R78 calls of a run that was cancelled count until they end: no project has more at once than one run may', async () => {
      const stage = await scene().stage()
      const traces = await recorded(stage, 10)
      const [first, second] = [await planned(stage, traces), await planned(stage, traces)]
      const [one, others] = [deferred(), deferred()]
      const before = stage.one.requests.length
      const asked = () => stage.one.requests.length - before
      stage.one.behave(() => ({ wait: asked() === 1 ? one.promise : others.promise }))
      await executed(stage, first.id, 50_000, 8)
      const turn = run()
      await stage.one.request(before + 8)
      await stage.post(`/v2/replay-runs/${first.id}/cancel`)
      let looks = 0
      scene().tampering.rows = (statement, go) => {
        if (/FROM replay_run .*status IN/.test(textOf(statement))) looks++
        return go(statement)
      }
      await executed(stage, second.id, 50_000, 8)
      looks = 0
      one.resolve()
      await comesTrue(async () => looks >= 2) // the second once all was begun that the first allowed
      scene().tampering.rows = undefined
      const begun = asked()
      others.resolve()
      await turn
      expect(begun).toBe(9)
      expect((await shown(stage, second.id)).items).toMatchObject({ done: 10 })
    })

    test('§4.17 R78 beside calls of a run that was cancelled a run has its own concurrency, within the 8 of the project', async () => {
      const stage = await scene().stage()
      const traces = await recorded(stage, 6)
      const [first, second] = [await planned(stage, traces), await planned(stage, traces)]
      const hung = deferred()
      const before = stage.one.requests.length
      stage.one.behave(() => ({ wait: hung.promise }))
      await executed(stage, first.id, 50_000, 4)
      const turn = run()
      await stage.one.request(before + 4)
      await stage.post(`/v2/replay-runs/${first.id}/cancel`)
      await executed(stage, second.id, 50_000, 4)
      let looks = 0
      scene().tampering.rows = (statement, go) => {
        if (/FROM replay_run .*status IN/.test(textOf(statement))) looks++
        return go(statement)
      }
      await comesTrue(async () => looks >= 2) // the second once all was begun that the first allowed
      scene().tampering.rows = undefined
      const begun = stage.one.requests.length - before
      hung.resolve()
      await turn
      expect(begun).toBe(8)
      expect((await shown(stage, second.id)).items).toMatchObject({ done: 6 })
    })

    test('§8.1 more than the project or the key has left is refused with nothing stored', async () => {
      for (const limits of [{ project: 10_000 }, { key: 10_000 }]) {
        const stage = await scene().stage(limits)
        const { id } = await planned(stage, await recorded(stage, 1))
        const answer = await scene().storingNothing(() =>
          stage.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 0.01 }),
        )
        expect([answer.status, answer.body.error.type]).toEqual([429, 'quota_exceeded'])
      }
    })

    test('§8.1 a recording that is erased in the middle of a run is skipped; an upstream that fails is tried again, then told', async () => {
      const stage = await scene().stage()
      const [gone = '', failing = ''] = await recorded(stage, 2)
      const { id } = await planned(stage, [gone, failing])
      await executed(stage, id, 50_000)
      await scene().housekeep('write recordings')
      scene().clock.advance(1)
      await stage.post('/v2/purge-jobs', { filter: { trace_ids: [gone] }, kinds: ['recordings'], mode: 'erase' })
      await scene().housekeep('run purge jobs')
      for (const upstream of [stage.one, stage.two]) upstream.behave({ status: 500 })
      for (let n = 0; n < 6; n++) {
        await run()
        scene().clock.advance(60_000)
      }
      const { data } = (await stage.get(`/v2/replay-runs/${id}/items`)).body
      expect(data.map((item: { status: string; reason: string }) => [item.status, item.reason])).toEqual([
        ...[
          ['skipped', 'erased'],
          ['failed', 'upstream'],
        ],
      ])
      expect(await shown(stage, id)).toMatchObject({ status: 'completed', spent_micros: 0 })
      expect(await replayFaults(scene().db, id)).toEqual([])
    })

    test('§4.15 an item that failed does not quote the upstream: its output does, and can be erased', async () => {
      const stage = await scene().stage()
      const [trace_id = ''] = await recorded(stage, 1)
      const { id } = await planned(stage, [trace_id])
      stage.one.behave({ status: 400, body: { error: { message: 'I cannot say banana.', type: 'bad' } } })
      await executed(stage, id, 50_000)
      await run()
      const [item] = (await stage.get(`/v2/replay-runs/${id}/items`)).body.data
      expect(item).toMatchObject({ status: 'failed', reason: 'refused', message: 'It was answered 400 bad.' })
      const rows = await scene().db.rows(sql`SELECT * FROM replay_item WHERE run_id = ${id}`)
      expect(JSON.stringify(rows)).not.toContain('banana')
      const output = `/v2/replay-runs/${id}/items/${trace_id}/target/output`
      expect((await stage.get(output)).body.error.message).toContain('banana')
      scene().clock.advance(1)
      const purge = { filter: { trace_ids: [trace_id] }, kinds: ['replay_outputs'], mode: 'erase' }
      await stage.post('/v2/purge-jobs', purge)
      await scene().housekeep('run purge jobs')
      expect((await stage.get(output)).status).toBe(404)
    })

    test('R64 the run ends with its key, and its money is back', async () => {
      const stage = await scene().stage({ project: USD })
      const { id } = await planned(stage, await recorded(stage, 2))
      await executed(stage, id, 50_000)
      const { key_id } = await shown(stage, id)
      await stage.del(`/v2/api-keys/${key_id}`)
      await run()
      expect(await shown(stage, id)).toMatchObject({ status: 'failed', error: expect.stringContaining('revoked') })
      expect(await replayFaults(scene().db, id)).toEqual([])
    })
  },
  { config: { retention: { full_fidelity: true } } },
)
