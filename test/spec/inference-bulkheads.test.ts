// R78 over the whole service: what one project does to a provider that all share does not reach another's calls.
import { expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { openCall } from '../support/inference-client.ts'
import { CHAT, type Scene, type Stage, withScene } from '../support/inference-scene.ts'

const SLOTS = 10
const model = (id: string) => ({ id, input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 10 })

/** The same call, by another project. */
async function neighbour({ newProject, origin }: Scene) {
  const { key, get, post } = await newProject()
  const body = (named: string) => ({ model: named, messages: [{ role: 'user', content: 'hello' }] })
  const open = (named: string) =>
    openCall(origin, CHAT, { body: body(named), headers: { authorization: `Bearer ${key}` } })
  return { get, post, open, chat: (named: string) => open(named).heard }
}

const attention = async ({ get }: Pick<Stage, 'get'>, about: string): Promise<string[]> =>
  (await get('/v2/attention')).body.data
    .filter((one: { kind: string; about: { id: string } }) => one.kind === 'breaker_open' && one.about.id === about)
    .map((one: { sentence: string }) => one.sentence)

withScene(
  (scene) => {
    test('R78 slow calls of one project leave slots for another, whose own next call waits its turn', async () => {
      const stage = await scene().stage()
      const other = await neighbour(scene())
      let letGo = () => {}
      const held = new Promise<void>((resolve) => {
        letGo = resolve
      })
      stage.one.behave((request) => (request.body.max_tokens === 1 ? { wait: held } : {}))
      const slow = Array.from({ length: 2 * SLOTS }, () => stage.openChat({ model: 'shared', max_tokens: 1 }))
      await stage.one.until(() => stage.one.requests.length === SLOTS - 1)
      const answer = await other.chat('shared')
      expect([answer.status, answer.headers['agent-qos-admission']]).toEqual([200, 'admitted'])
      expect(stage.one.requests).toHaveLength(SLOTS)
      letGo()
      const ends = await Promise.all(slow.map(({ heard }) => heard))
      expect(ends.map(({ status }) => status)).toEqual(ends.map(() => 200))
      const verdicts = ends.map(({ headers }) => headers['agent-qos-admission'])
      // Those that had not come when the others were let go of found slots free.
      expect(verdicts.filter((verdict) => verdict === 'admitted').length).toBeGreaterThanOrEqual(SLOTS - 1)
      await stage.audit()
    })

    test('R78 failures of one project’s calls do not turn another’s away, and each is told what is its own', async () => {
      const stage = await scene().stage()
      const other = await neighbour(scene())
      const target = `provider:${stage.first}`
      stage.one.behave({ status: 500 })
      for (let n = 0; n < 5; n++) expect((await stage.chat()).status).toBe(502)
      stage.one.behave({})
      const refused = await stage.chat()
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30'])
      expect(refused.json.error.message).toContain('this project’s chat calls')
      expect((await other.chat(stage.model)).status).toBe(200)

      const explain = async ({ post }: Pick<Stage, 'post'>, kind?: string) =>
        (await post('/v2/route-explain', { model: stage.model, ...(kind && { kind }) })).body
      expect((await explain(stage)).dropped).toEqual([{ target, reason: expect.stringContaining('chat calls') }])
      expect((await explain(stage, 'responses')).decision).toBe('route')
      expect((await explain(other)).decision).toBe('route')
      expect(await attention(stage, stage.first)).toEqual([expect.stringContaining('This project’s chat calls leave')])
      expect(await attention(other, stage.first)).toEqual([])
    })

    test('R78 connections that fail, and failures of two projects, turn everyone away', async () => {
      const stage = await scene().stage()
      const [other, third] = [await neighbour(scene()), await neighbour(scene())]
      for (let n = 0; n < 5; n++) expect((await stage.chat({ model: 'nowhere' })).status).toBe(502)
      expect((await other.chat('nowhere')).status).toBe(503)
      expect(await attention(other, 'nowhere')).toEqual([expect.stringContaining('Calls of all projects leave')])

      stage.one.behave({ status: 500 })
      for (let n = 0; n < 3; n++) await stage.chat()
      for (let n = 0; n < 2; n++) await other.chat(stage.model)
      stage.one.behave({})
      expect((await third.chat(stage.model)).status).toBe(503)
      scene().clock.advance(30 * SECOND_MS)
      expect((await third.chat(stage.model)).status).toBe(200)
      expect((await stage.chat()).status).toBe(200)
    })

    test('R78 what is left alone by whom is in the metrics', async () => {
      const text = (await scene().as().get('/metrics')).bytes.toString()
      expect(text).toMatch(/switchyard_circuits_open\{left_by="everyone"\} [1-9]/)
      expect(text).toMatch(/switchyard_circuits_opened_total\{left_by="project"\} [1-9]/)
    })
  },
  {
    stages: 4,
    config: (one) => ({
      providers: [
        { id: 'shared', api_key: 'sk', base_url: one.base_url, max_concurrency: SLOTS, models: [model('shared')] },
        { id: 'nowhere', api_key: 'sk', base_url: 'http://127.0.0.1:1/v1', models: [model('nowhere')] },
      ],
    }),
  },
)
