// §11: the assistant output of a logical response is on its session's line exactly once, however many attempts ran and
// however often it is replayed; and what a conversation is known by (§10.1).
import { describe, expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { asked, CASES, KEY, KEYED, STREAMED, TEXT } from '../support/inference-cases.ts'
import { hintsHeader } from '../support/inference-client.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'
import { mutateSql } from '../support/tampered-db.ts'

async function openSession(stage: Stage): Promise<string> {
  return (await stage.post('/v2/sessions', {})).body.id
}

async function lineOf(stage: Stage, id: string) {
  const { data } = (await stage.get(`/v2/sessions/${id}/events`)).body
  return (data as { type: string; trace_id: string; content?: unknown }[]).reverse()
}

withScene(
  (scene) => {
    describe('the line of a session', () => {
      test.each(CASES)('§11 what went in and what came out, once: $form', async (one) => {
        const stage = await scene().stage()
        const id = await openSession(stage)
        const heard = await stage.chat(...asked(one, {}, { 'x-session-id': id }))
        const line = await lineOf(stage, id)
        expect(line.map(({ type, trace_id }) => [type, trace_id])).toEqual([
          ['input', heard.headers['agent-trace-id']],
          ['assistant_output', heard.headers['agent-trace-id']],
        ])
        expect(line[0]?.content).toEqual(stage.bodyOf().messages)
        expect(line[1]?.content).toMatchObject({ role: 'assistant', content: TEXT })
        const { body: session } = await stage.get(`/v2/sessions/${id}`)
        expect(session).toMatchObject({ turns: 1, input_tokens: 11, cached_tokens: 0 })
      })

      test.each(KEYED)('§11.4 a replay adds nothing: $form', async (one) => {
        const stage = await scene().stage()
        const id = await openSession(stage)
        for (let n = 0; n < 3; n++) await stage.chat(...asked(one, {}, { 'x-session-id': id }))
        expect(await lineOf(stage, id)).toHaveLength(2)
      })

      test.each(CASES)('R47 nor does an attempt that failed: $form', async (one) => {
        const stage = await scene().stage()
        const id = await openSession(stage)
        stage.one.behave({ instead: 'reset' })
        const heard = await stage.chat(...asked(one, { model: stage.both }, { 'x-session-id': id }))
        expect(heard.headers['agent-execution-mode']).toBe('emergency_fallback')
        expect((await lineOf(stage, id)).map(({ type }) => type)).toEqual(['input', 'assistant_output'])
      })

      test.each(STREAMED)('R47 an answer that broke off is not on it: $form', async (one) => {
        const stage = await scene().stage()
        const id = await openSession(stage)
        stage.one.behave({ cut: { after: 3, how: 'reset' } })
        await stage.chat(...asked(one, {}, { 'x-session-id': id }))
        expect(await lineOf(stage, id)).toEqual([])
      })

      test('R26 what a client that left had asked for is on it, where it was finished', async () => {
        const stage = await scene().stage()
        const id = await openSession(stage)
        let goOn = () => {}
        const gate = new Promise<void>((resolve) => {
          goOn = resolve
        })
        stage.one.next({ wait: gate })
        const call = stage.openChat({}, { keyed: KEY, headers: { 'x-session-id': id } })
        await stage.one.request(1)
        call.leave()
        goOn()
        await stage.until(({ events }) => events.length === 1)
        expect(await lineOf(stage, id)).toHaveLength(2)
      })

      test('§5.8 nobody writes to a line of another project, nor to one that is not there', async () => {
        const [mine, other] = [await scene().stage(), await scene().stage()]
        const id = await openSession(other)
        for (const session of [id, 'ses_unknown'])
          expect((await mine.chat({}, { headers: { 'x-session-id': session } })).status).toBe(200)
        expect(await lineOf(other, id)).toEqual([])
      })
    })

    describe('what a conversation is known by', () => {
      const SOURCES: [string, object, Record<string, string>][] = [
        ['hints', {}, hintsHeader({ reuse: { session_id: 'ses_hints' } })],
        ['x-session-id', {}, { 'x-session-id': 'header' }],
        ['x-claude-code-session-id', {}, { 'x-claude-code-session-id': 'claude' }],
        ['x-dynamo-session-id', {}, { 'x-dynamo-session-id': 'dynamo' }],
        ['thread-id', {}, { 'thread-id': 'thread' }],
        ['prompt_cache_key', { prompt_cache_key: 'cache-key' }, {}],
        ['previous_response_id', { previous_response_id: 'resp_1' }, {}],
      ]
      const VALUES = ['ses_hints', 'header', 'claude', 'dynamo', 'thread', 'cache-key', 'resp_1']

      test('§10.1 the first of these that is there', async () => {
        const stage = await scene().stage()
        const told: unknown[] = []
        for (let first = 0; first < SOURCES.length; first++) {
          const sources = SOURCES.slice(first)
          const body = Object.assign({}, ...sources.map(([, more]) => more))
          const headers = Object.assign({}, ...sources.map(([, , sent]) => sent))
          await stage.chat(body, { headers })
          told.push((await stage.get('/v2/usage')).body.data[0].session_id)
        }
        expect(told).toEqual(VALUES)
      })

      test.each([
        ['nothing', {}, null],
        ['an empty name', { prompt_cache_key: '' }, null],
        ['a number', { prompt_cache_key: 7 }, null],
        ['a very long one', { prompt_cache_key: 'x'.repeat(1_000) }, 'x'.repeat(256)],
        ['one with a NUL', { prompt_cache_key: 'a\0b' }, null],
      ])('§10.1 %s', async (_what, more, session_id) => {
        const stage = await scene().stage()
        expect((await stage.chat(more)).status).toBe(200)
        expect((await stage.get('/v2/usage')).body.data[0].session_id).toBe(session_id)
      })
    })

    test('§8.2 the usage event says all that is known of a generation', async () => {
      const stage = await scene().stage()
      const prompt = { messages: [{ role: 'user', content: 'x'.repeat(400) }] }
      stage.one.behave({ usage: { input: 110, cached: 60, cache_written: 10, output: 5, reasoning: 3 } })
      const first = await stage.chat(prompt)
      const again = await stage.chat(prompt)
      const { data } = (await stage.get('/v2/usage')).body
      expect(data.map(({ trace_id }: { trace_id: string }) => trace_id)).toEqual(
        [again, first].map(({ headers }) => headers['agent-trace-id']),
      )
      const [second, earlier] = data
      expect(earlier).toMatchObject({
        object: 'usage_event',
        project_id: stage.project.id,
        key_id: stage.key_id,
        endpoint: '/v1/chat/completions',
        status: 'completed',
        requested_model: stage.model,
        resolved_model: stage.model,
        provider: stage.first,
        profile: 'managed_provider',
        mode: 'live',
        region: 'us',
        input_tokens: 110,
        cached_tokens: 60,
        written_tokens: 10,
        output_tokens: 5,
        reasoning_tokens: 3,
        repeated_tokens_est: 0,
        missed_reuse_tokens: 0,
        charged_micros: 40 + 30 + 20 + 10,
        direct_cost_micros: 120,
        savings_micros: 20,
        written_off_micros: 0,
        admission: 'admitted',
        queue_ms: 0,
        attempts: [{ n: 1, kind: 'first', provider: stage.first, status: 200 }],
      })
      expect(second.repeated_tokens_est).toBeGreaterThan(60) // all of the prompt was there before
      expect(second.missed_reuse_tokens).toBe(second.repeated_tokens_est - 60)
    })

    /** One large turn beside a small one, and how many parts are left of it after `erasing`. */
    async function partsLeft(erasing: (stage: Stage, session_id: string) => Promise<unknown>) {
      const stage = await scene().stage()
      const { id } = (await stage.post('/v2/sessions', {})).body
      const [asked, said] = ['what is asked '.repeat(20_000), 'what is said '.repeat(22_000)]
      await stage.chat({}, { headers: { 'x-session-id': id } })
      stage.one.behave({ text: said })
      await stage.chat({ messages: [{ role: 'user', content: asked }] }, { headers: { 'x-session-id': id } })
      const { data } = (await stage.get(`/v2/sessions/${id}/events`)).body
      expect(data).toHaveLength(4)
      expect(JSON.stringify(data[0].content)).toContain(said)
      expect(data[1].content).toEqual([{ role: 'user', content: asked }])
      const parts = async () =>
        (await scene().db.rows(sql`SELECT part FROM large_body_part WHERE project_id = ${stage.project.id}`)).length
      const [largest] = await scene().db.rows<{ bytes: number }>(sql`
        SELECT MAX(length(sealed)) AS bytes FROM session_event WHERE session_id = ${id}`)
      expect(largest?.bytes).toBeLessThan(10_000)
      expect(await parts()).toBe(4)
      scene().clock.advance(1)
      await erasing(stage, id)
      return parts()
    }

    const purge = async (stage: Stage, filter: object, more: object = {}) => {
      await stage.post('/v2/purge-jobs', { filter, mode: 'erase', ...more })
      await scene().housekeep('run purge jobs')
    }

    test('R77 a large turn is written ahead in parts, and goes with whatever erases it; planted: parts that are forgotten', async () => {
      expect(await partsLeft((stage, id) => stage.del(`/v2/sessions/${id}`))).toBe(0)
      expect(await partsLeft((stage, id) => purge(stage, { session_ids: [id] }))).toBe(0)
      expect(await partsLeft((stage) => purge(stage, { everything: true }, { confirm: 'home' }))).toBe(0)
      expect(await partsLeft((stage) => purge(stage, { key_id: stage.key_id }, { kinds: ['session_events'] }))).toBe(0)
      mutateSql(scene().tampering, ' RETURNING parts_id', ' RETURNING NULL AS parts_id', /DELETE FROM session_event/)
      expect(await partsLeft((stage, id) => purge(stage, { session_ids: [id] }))).toBe(4)
      scene().tampering.rows = undefined
    })
  },
  { config: () => ({ retention: { full_fidelity: true } }) },
)
