// R84 over the wire: `agent-hints-honored` names `reuse` where it was done, and closed sessions take no more turns; and
// §1: repeated work is seen inside long messages.
import { describe, expect, test } from 'vitest'
import { asked, CASES, STREAMED } from '../support/inference-cases.ts'
import { type Heard, hintsHeader } from '../support/inference-client.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

const MINUTE_MS = 60_000
const says = (content: string) => ({ messages: [{ role: 'user', content }] })
const words = (characters: number) =>
  'some words of a long text '.repeat(Math.ceil(characters / 26)).slice(0, characters)

withScene((scene) => {
  const honored = async (call: Promise<Heard>) => {
    const { status, headers } = await call
    return [status, headers['agent-hints-honored']]
  }

  describe('agent-hints-honored', () => {
    const ask = (stage: Stage, reuse: object, more: object = {}) =>
      honored(stage.chat(more, { headers: hintsHeader({ reuse }) }))

    test.each([
      ['prefer', 'prefer'],
      ['require', 'require'],
    ])('R84 %s: not named for a new prompt, named where the target has it', async (_what, preference) => {
      const stage = await scene().stage()
      expect(await ask(stage, { preference })).toEqual([200, ''])
      expect(await ask(stage, { preference })).toEqual([200, 'reuse'])
      expect(await ask(stage, { preference }, says('something new'))).toEqual([200, ''])
      scene().clock.advance(10 * MINUTE_MS)
      expect(await ask(stage, { preference })).toEqual([200, ''])
    })

    test.each(STREAMED)('R84 so is it of a stream, whose headers leave before it is noted: $form', async (one) => {
      const stage = await scene().stage()
      const headers = hintsHeader({ reuse: { preference: 'require' } })
      const call = (more: object) => honored(stage.chat({ ...asked(one)[0], ...more }, { headers }))
      expect([await call({}), await call({})]).toEqual([
        [200, ''],
        [200, 'reuse'],
      ])
    })

    test('R84 a session that nobody opened: named only once its calls stay where they were', async () => {
      const stage = await scene().stage()
      const reuse = { preference: 'require', session_id: 'ses_never1' }
      expect(await ask(stage, reuse, says('one'))).toEqual([200, ''])
      expect(await ask(stage, reuse, says('two'))).toEqual([200, 'reuse'])
    })

    test('R84 require that cannot be met is served elsewhere, and not named', async () => {
      const stage = await scene().stage()
      const more = { model: stage.both, ...says(words(4_000)) }
      expect(await ask(stage, { preference: 'require' }, more)).toEqual([200, ''])
      stage.one.next({ status: 503, body: '' })
      const heard = await stage.chat(more, { headers: hintsHeader({ reuse: { preference: 'require' } }) })
      expect([heard.headers['agent-resolved-provider'], heard.headers['agent-hints-honored']]).toEqual([
        stage.second,
        '',
      ])
    })

    test('R84 half of what is known of a prompt is enough, less is not', async () => {
      const stage = await scene().stage()
      const shared = words(8_000)
      const at = async (model: string, content: string) =>
        ask(stage, { preference: 'prefer' }, { model, ...says(content) })
      await at(stage.both, `${shared}${words(7_000)}`) // now the first target has all of it
      expect(await at(stage.both, shared)).toEqual([200, 'reuse'])
      stage.one.next({ status: 503, body: '' })
      expect(await at(stage.both, `${shared} and more`)).toEqual([200, '']) // the second had none of it, and now has
      stage.one.next({ status: 503, body: '' })
      expect(await at(stage.both, `${shared}${words(4_000)}`)).toEqual([200, 'reuse'])
    })

    test('R84 avoid: named where nothing can be reused, and not where the target has the prompt', async () => {
      const stage = await scene().stage()
      expect(await ask(stage, { preference: 'avoid' })).toEqual([200, 'reuse'])
      expect(await ask(stage, { preference: 'avoid' })).toEqual([200, ''])
      expect(await ask(stage, { preference: 'avoid' }, says('something new'))).toEqual([200, 'reuse'])
    })

    test('R84 no project learns what another has sent', async () => {
      const [mine, other] = [await scene().stage(), await scene().stage()]
      await other.chat({ model: mine.model })
      expect(await ask(mine, { preference: 'prefer' })).toEqual([200, ''])
    })

    test('R84 the trace says the same as the headers', async () => {
      const stage = await scene().stage()
      const headers = hintsHeader({ reuse: { preference: 'prefer' } })
      for (const value of ['', 'reuse']) {
        const heard = await stage.chat({}, { headers })
        const { body } = await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)
        const told = body.headers.find(({ name }: { name: string }) => name === 'agent-hints-honored')
        expect([heard.headers['agent-hints-honored'], told.value]).toEqual([value, value])
      }
    })
  })

  describe('a closed session', () => {
    const opened = async (stage: Stage): Promise<string> => (await stage.post('/v2/sessions', {})).body.id
    const stateOf = async (stage: Stage, id: string) => [
      (await stage.get(`/v2/sessions/${id}`)).body,
      (await stage.get(`/v2/sessions/${id}/events`)).body,
    ]

    const NAMED: [string, (id: string) => Record<string, string>, string][] = [
      ['hints', (id) => hintsHeader({ reuse: { session_id: id } }), 'agent-hints.reuse.session_id'],
      ['a header', (id) => ({ 'x-session-id': id }), 'x-session-id'],
    ]
    test.each(NAMED.flatMap(([by, headers, field]) => CASES.map((one) => ({ by, headers, field, ...one }))))(
      'R84 named by $by: served without it, told, and unchanged ($form)',
      async ({ headers, field, ...one }) => {
        const stage = await scene().stage()
        const id = await opened(stage)
        await stage.chat({}, { headers: headers(id) })
        await stage.post(`/v2/sessions/${id}/close`)
        const before = await stateOf(stage, id)
        expect(before[0]).toMatchObject({ status: 'closed', turns: 1 })
        scene().clock.advance(1_000)
        const heard = await stage.chat(...asked(one, says('after the end'), headers(id)))
        expect([heard.status, heard.headers['agent-ignored-fields']]).toEqual([200, field])
        expect(heard.headers['agent-hints-honored'] ?? '').toBe('')
        expect(await stateOf(stage, id)).toEqual(before)
        expect((await stage.get('/v2/usage')).body.data[0].session_id).toBeNull()
      },
    )

    test.each(CASES)(
      'R84 closed while a turn is under way: the turn is answered, and not written: $form',
      async (one) => {
        const stage = await scene().stage()
        const id = await opened(stage)
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const call = stage.openChat(...asked(one, {}, { 'x-session-id': id }))
        await stage.one.request(1)
        await stage.post(`/v2/sessions/${id}/close`)
        const before = await stateOf(stage, id)
        scene().clock.advance(1_000)
        gate.resolve()
        expect((await call.heard).status).toBe(200)
        expect(await stateOf(stage, id)).toEqual(before)
      },
    )

    test('R84 turns that race with the end: every one that counts is on the line, and none is afterwards', async () => {
      const stage = await scene().stage()
      const id = await opened(stage)
      const calls = Array.from({ length: 12 }, () => stage.chat({}, { headers: { 'x-session-id': id } }))
      await calls[0]
      const { body: closed } = await stage.post(`/v2/sessions/${id}/close`)
      for (const { status } of await Promise.all(calls)) expect(status).toBe(200)
      const [session, events] = await stateOf(stage, id)
      expect(session).toEqual(closed)
      expect(events.data).toHaveLength(2 * closed.turns)
    })
  })

  test('§1 a long prefix inside one message is repeated work, and what the provider had of it is not missed', async () => {
    const stage = await scene().stage()
    const shared = words(6_400)
    await stage.chat(says(`${shared}First question?`))
    stage.one.behave({ usage: { input: 1_700, cached: 1_500, output: 5 } })
    await stage.chat(says(`${shared}Another question, which is longer?`))
    stage.one.behave({ usage: { input: 1_700, cached: 100, output: 5 } })
    await stage.chat(says(`${shared}A third?`))
    const [third, second, first] = (await stage.get('/v2/usage')).body.data
    expect(first.repeated_tokens_est).toBe(0)
    for (const { repeated_tokens_est } of [second, third]) {
      expect(repeated_tokens_est).toBeGreaterThan(1_400)
      expect(repeated_tokens_est).toBeLessThanOrEqual(1_602)
    }
    expect(second.missed_reuse_tokens).toBe(Math.max(0, second.repeated_tokens_est - 1_500))
    expect(third.missed_reuse_tokens).toBe(third.repeated_tokens_est - 100)
  })
})
