// R62, R64, R65 in the inference path: models that a key may not name, children that spend their parent's money, and
// limits by the calendar.
import { describe, expect, test } from 'vitest'
import { carveStore } from '../../src/budgets/carve-store.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { familyBooks } from '../support/families.ts'
import { asked, CASES, envelope, QUOTA } from '../support/inference-cases.ts'
import { type Heard, moneyIn } from '../support/inference-client.ts'
import { holdFor, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { countStatements, deferred, mutateSql, textOf } from '../support/tampered-db.ts'

const KEYS = '/v2/api-keys'
const as = (key: string) => ({ authorization: `Bearer ${key}` })

withScene((scene) => {
  const make = async (stage: Stage, more: object) => (await stage.post(KEYS, { name: 'ci', ...more })).body
  const usd = (micros: number) => micros / 1e6

  describe('R62 allowed_models', () => {
    const FORMS: [string, string, (model: string) => object][] = [
      ['chat', '/v1/chat/completions', (model) => ({ model, messages: [{ role: 'user', content: 'hi' }] })],
      ['completions', '/v1/completions', (model) => ({ model, prompt: 'hi' })],
      ['embeddings', '/v1/embeddings', (model) => ({ model, input: 'hi' })],
      ['responses', '/v1/responses', (model) => ({ model, input: 'hi' })],
      ['native responses', '/v2/responses', (model) => ({ model, input: 'hi' })],
      ['a route that is only explained', '/v2/route-explain', (model) => ({ model })],
    ]

    test.each(FORMS)('R62 %s: what is not on the list does not exist', async (_form, path, bodyOf) => {
      const stage = await scene().stage()
      const { key } = await make(stage, { allowed_models: [stage.both] })
      const ask = (model: string) => stage.ask(path, { body: bodyOf(model), headers: as(key) })
      const [refused, unknown] = [await ask(stage.model), await ask('unheard-of')]
      expect(envelope(refused)).toEqual([404, 'invalid_request_error', 'model_not_found'])
      expect(refused.text.replace(stage.model, 'X')).toBe(unknown.text.replace('unheard-of', 'X'))
      expect([stage.one.requests.length, stage.two.requests.length]).toEqual([0, 0])
      expect((await ask(stage.both)).status).not.toBe(404)
    })

    test.each([false, true])(
      'R62 a kept answer is not replayed to a key that may not name its model (stream: %j)',
      async (stream) => {
        const stage = await scene().stage()
        const keys = {
          forbidden: await make(stage, { allowed_models: [stage.both] }),
          allowed: await make(stage, { allowed_models: ['model-*'] }),
          free: await make(stage, {}),
        }
        const ask = (key: string) => stage.chat({ stream }, { keyed: 'shared', headers: as(key) })
        const first = await ask(keys.allowed.key)
        const refused = await ask(keys.forbidden.key)
        expect(envelope(refused)).toEqual([404, 'invalid_request_error', 'model_not_found'])
        const fresh = await stage.chat({ stream }, { headers: as(keys.forbidden.key) })
        expect(refused.text).toBe(fresh.text)
        for (const { key } of [keys.allowed, keys.free]) {
          const again = await ask(key)
          expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
          expect(again.text).toBe(first.text)
        }
        expect(stage.one.requests).toHaveLength(1)
        await stage.patch(`${KEYS}/${keys.allowed.id}`, { allowed_models: [stage.both] })
        expect((await ask(keys.allowed.key)).status).toBe(200) // what it was told once, it is told again
      },
    )

    test('R62, §11.9 nor is what a response in the background was promised as, which repeats what was asked', async () => {
      const stage = await scene().stage()
      const [forbidden, free] = [await make(stage, { allowed_models: [stage.both] }), await make(stage, {})]
      const body = { model: stage.model, input: 'hi', instructions: 'between us', background: true }
      const ask = (key: string) =>
        stage.ask('/v1/responses', { body, headers: { ...as(key), 'agent-idempotency-key': 'promised' } })
      const first = await ask(free.key)
      const refused = await ask(forbidden.key)
      expect(envelope(refused)).toEqual([404, 'invalid_request_error', 'model_not_found'])
      const again = await ask(stage.key)
      expect([again.headers['agent-idempotent-replay'], again.json]).toEqual(['true', first.json])
      await scene().inference.jobs.idle()
    })

    test('R62 an alias’ kept answer passes to another key by the alias’ own name only', async () => {
      const stage = await scene().stage()
      await alias(stage, 'both-kept')
      const key = async (name: string) => (await make(stage, { allowed_models: [name] })).key
      const ask = async (name: string) =>
        (await stage.chat({ model: 'both-kept' }, { keyed: 'shared', headers: as(await key(name)) })).status
      expect([await ask('both-kept'), await ask('both*'), await ask('both-kept')]).toEqual([200, 404, 200])
    })

    async function alias(stage: Stage, name: string): Promise<void> {
      const target = { provider: stage.first, model: stage.model, weight: 1 }
      expect((await stage.post('/v2/aliases', { name, targets: [target] })).status).toBe(200)
    }

    test('R62 an alias passes by its own name only: none slips in under a beginning, none opens its target', async () => {
      const stage = await scene().stage()
      await alias(stage, 'both-cheap')
      await alias(stage, 'fast')
      const ask = async (allowed_models: string[], model: string) =>
        (await stage.chat({ model }, { headers: as((await make(stage, { allowed_models })).key) })).status
      expect(await ask(['both*'], stage.both)).toBe(200)
      expect(await ask(['both*'], 'both-cheap')).toBe(404)
      expect(await ask(['*'], 'fast')).toBe(404)
      expect(await ask([stage.model], 'fast')).toBe(404) // the name that is asked for counts
      expect(await ask(['fast'], 'fast')).toBe(200)
      expect(await ask(['fast'], stage.model)).toBe(404)
    })

    test('R62 GET /v1/models, and /v2/models, list what the key may name, and know nothing else', async () => {
      const stage = await scene().stage()
      await alias(stage, 'fast')
      const { id, key } = await make(stage, { allowed_models: ['fast', stage.both] })
      const listed = async (surface = 'v1') => {
        const { json } = await stage.ask(`/${surface}/models`, { method: 'GET', headers: as(key) })
        return json.data.map((model: { id: string }) => model.id)
      }
      expect(await listed()).toEqual([stage.both, 'fast'])
      expect(await listed('v2')).toEqual([stage.both, 'fast'])
      const one = (model: string) => stage.ask(`/v1/models/${model}`, { method: 'GET', headers: as(key) })
      expect([(await one('fast')).status, (await one(stage.model)).status]).toEqual([200, 404])
      await stage.patch(`${KEYS}/${id}`, { allowed_models: null })
      expect(await listed()).toContain(stage.model)
    })

    test('R62, R64 a child may name what it and its parent may, also when that changes', async () => {
      const stage = await scene().stage()
      const parent = await make(stage, {})
      const run = { name: 'run', limit_usd: 1, ttl_seconds: 60, allowed_models: [stage.model, stage.both] }
      const { key } = (await stage.post(`${KEYS}/${parent.id}/children`, run)).body
      const ask = async (model: string) => (await stage.chat({ model }, { headers: as(key) })).status
      expect([await ask(stage.model), await ask(stage.narrow)]).toEqual([200, 404])
      await stage.patch(`${KEYS}/${parent.id}`, { allowed_models: [stage.both, stage.narrow] })
      expect([await ask(stage.model), await ask(stage.both), await ask(stage.narrow)]).toEqual([404, 200, 404])
    })
  })

  describe('R64 children', () => {
    async function family(stage: Stage, micros: number, ttl_seconds = 60) {
      const parent = await make(stage, {})
      const asked = { name: 'run', limit_usd: usd(micros), ttl_seconds }
      const child = (await stage.post(`${KEYS}/${parent.id}/children`, asked)).body
      const books = async () => {
        const { of, project, wrong } = await familyBooks(scene().db, stage.project.id)
        expect(wrong).toEqual([])
        return { project, parent: of(parent.id), child: of(child.id) }
      }
      return { parent, child, books, chat: (more: object) => stage.chat(more, { headers: as(child.key) }) }
    }

    test.each(CASES)('R64 what a child spends, its parent and the project have spent ($form)', async (one) => {
      const stage = await scene().stage()
      const { child, books } = await family(stage, 100_000)
      const heard = await stage.chat(...asked(one, { max_tokens: 50 }, as(child.key)))
      expect(moneyIn(heard)).toBe(USUAL_COST)
      const spent = { spent_micros: USUAL_COST }
      await stage.until(({ holds }) => holds.length === 0)
      expect(await books()).toMatchObject({
        project: { ...spent, held_micros: 100_000 - USUAL_COST },
        parent: { ...spent, held_micros: 100_000 - USUAL_COST },
        child: { ...spent, held_micros: 0 },
      })
    })

    test('R64 to the micro: what fits its budget runs, one micro less does not', async () => {
      const stage = await scene().stage()
      const needed = holdFor(stage.bodyOf({ max_tokens: 50 }), 50)
      const [short, exact] = [await family(stage, needed - 1), await family(stage, needed)]
      expect(envelope(await short.chat({ max_tokens: 50 }))).toEqual(QUOTA)
      expect((await exact.chat({ max_tokens: 50 })).status).toBe(200)
    })

    test('R64 a child that ends while it is served is charged, and holds nothing afterwards', async () => {
      const stage = await scene().stage()
      const { parent, child, books } = await family(stage, 100_000)
      const gate = deferred()
      stage.one.next({ wait: gate.promise })
      const running = stage.openChat({ max_tokens: 50 }, { headers: as(child.key) })
      await stage.one.request(1)
      expect((await stage.del(`${KEYS}/${parent.id}`)).status).toBe(200)
      const hold = holdFor(stage.bodyOf({ max_tokens: 50 }), 50)
      expect(await books()).toMatchObject({ project: { spent_micros: 0, held_micros: hold } })
      gate.resolve()
      expect(moneyIn(await running.heard)).toBe(USUAL_COST)
      expect(await books()).toMatchObject({
        project: { spent_micros: USUAL_COST, held_micros: 0 },
        parent: { spent_micros: USUAL_COST, held_micros: 0 },
      })
    })

    test('R64 one that ended between its request and its hold is unknown, and nothing is dialled', async () => {
      const stage = await scene().stage()
      const { child, books, chat } = await family(stage, 100_000)
      const { db, tampering, clock } = scene()
      tampering.rows = async (statement, run) => {
        const rows = await run(statement)
        if (!textOf(statement).includes('WHERE k.hash')) return rows
        tampering.rows = undefined
        await carveStore(db).revokeFamily(stage.project.id, child.id, clock.now())
        return rows
      }
      expect(envelope(await chat({ max_tokens: 50 }))).toEqual([401, 'invalid_api_key', 'invalid_api_key'])
      expect(stage.one.requests).toHaveLength(0)
      expect(await books()).toMatchObject({ project: { spent_micros: 0, held_micros: 0 } })
    })

    test('R64 many children and their parent at once, under one cap: never beyond it, and the books balance', async () => {
      const stage = await scene().stage()
      const each = holdFor(stage.bodyOf({ max_tokens: 10 }), 10)
      const parent = await make(stage, {})
      await stage.post(`${KEYS}/${parent.id}/budget`, { limit_usd: usd(20 * each) })
      stage.one.behave({ usage: { input: each - 20, output: 10 } }) // costs all that is held
      const run = { name: 'run', limit_usd: usd(5 * each), ttl_seconds: 60 }
      const made = await Promise.all(Array.from({ length: 6 }, () => stage.post(`${KEYS}/${parent.id}/children`, run)))
      const children = made.filter(({ status }) => status === 200).map(({ body }) => body.key)
      expect(children).toHaveLength(4)
      const raws = [...children, parent.key]
      const calls = Array.from({ length: 50 }, (_, n) =>
        stage.chat({ max_tokens: 10 }, { headers: as(raws[n % raws.length]) }),
      )
      const heard: Heard[] = await Promise.all(calls)
      expect(heard.filter(({ status }) => status === 200)).toHaveLength(20)
      const { of, wrong } = await familyBooks(scene().db, stage.project.id)
      expect([wrong, of(parent.id).spent_micros, of(parent.id).held_micros]).toEqual([[], 20 * each, 0])
    })
  })

  test('R43 a key with a total limit and none of this costs as many statements as ever', async () => {
    const stage = await scene().stage({ key: 1_000_000, project: 1_000_000 })
    await stage.chat({ max_tokens: 10 }) // what is known of routes is read once
    const statements = countStatements(scene().tampering)
    const noted = await statements.while(() => stage.chat({ max_tokens: 10 }))
    scene().tampering.rows = undefined
    expect(noted.map((text) => text.split(' ').slice(0, 3).join(' '))).toEqual([
      'SELECT k.id AS', // the key
      'INSERT INTO budget_hold', // the hold
      'UPDATE project SET',
      'UPDATE api_key SET',
      'DELETE FROM budget_hold', // the charge
      'UPDATE project SET',
      'UPDATE api_key SET',
      'INSERT INTO usage_event',
    ])
  })

  describe('R65 windows', () => {
    const window = (period: string, micros: number) => ({ window: { period, limit_usd: usd(micros) } })

    test('R65 hard, told, and there again when the next one begins', async () => {
      const stage = await scene().stage()
      const needed = holdFor(stage.bodyOf({ max_tokens: 50 }), 50)
      const budget = (body: object) => stage.post(`${KEYS}/${stage.key_id}/budget`, body)
      const { body } = await budget(window('day', needed + USUAL_COST - 1))
      expect(body.window).toMatchObject({ period: 'day', limit_micros: needed + USUAL_COST - 1, spent_micros: 0 })
      expect(body).not.toHaveProperty('budget_micros')
      expect((await stage.chat({ max_tokens: 50 })).status).toBe(200)
      const refused = await stage.chat({ max_tokens: 50 })
      expect(envelope(refused)).toEqual(QUOTA)
      expect(refused.json.error.message).toContain(body.window.resets_at)
      expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' })
      expect(refused.headers).not.toHaveProperty('retry-after')
      const shown = async () => (await stage.get(KEYS)).body.data[0].window
      expect(await shown()).toMatchObject({ spent_micros: USUAL_COST })
      scene().clock.advance(DAY_MS)
      expect(await shown()).toMatchObject({ spent_micros: 0 })
      expect((await shown()).resets_at > body.window.resets_at).toBe(true)
      expect((await stage.chat({ max_tokens: 50 })).status).toBe(200)
      expect((await budget({ window: null })).body).not.toHaveProperty('window')
      for (let n = 0; n < 3; n++) expect((await stage.chat({ max_tokens: 50 })).status).toBe(200)
      await stage.audit()
    })

    test('R65, R43 an answer is shortened to what the window leaves; 0 blocks everything', async () => {
      const stage = await scene().stage()
      const budget = (body: object) => stage.post(`${KEYS}/${stage.key_id}/budget`, body)
      await budget(window('month', holdFor(stage.bodyOf(), 37)))
      await stage.chat()
      expect(stage.one.requests[0]?.body.max_tokens).toBe(37)
      await budget(window('month', 0))
      expect(envelope(await stage.chat())).toEqual(QUOTA)
    })

    test.each([
      ['a year', { period: 'year', limit_usd: 1 }],
      ['no period', { limit_usd: 1 }],
      ['no limit', { period: 'day' }],
      ['a limit below nothing', { period: 'day', limit_usd: -1 }],
      ['a limit that is too fine', { period: 'day', limit_usd: 1e-7 }],
      ['a text', 'day'],
    ])('R65 400 on %s, naming the field, and nothing is stored', async (_case, wrong) => {
      const home = await scene().newProject()
      const url = `${KEYS}/${home.key_id}/budget`
      const answer = await scene().storingNothing(() => home.post(url, { limit_usd: 5, window: wrong }))
      expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining('window')])
    })

    test('R65 many at once, to the micro; planted: a window that settling forgets is noticed', async () => {
      for (const planted of [false, true]) {
        const stage = await scene().stage()
        const each = holdFor(stage.bodyOf({ max_tokens: 10 }), 10)
        stage.one.behave({ usage: { input: each - 20, output: 10 } })
        await stage.post(`${KEYS}/${stage.key_id}/budget`, window('week', 10 * each + each - 1))
        if (planted) mutateSql(scene().tampering, 'THEN window_spent_micros + ', 'THEN 0 * ')
        const wave = () => Promise.all(Array.from({ length: 15 }, () => stage.chat({ max_tokens: 10 })))
        const heard = [...(await wave()), ...(await wave())]
        scene().tampering.rows = undefined
        const ran = heard.filter(({ status }) => status === 200).length
        if (planted) expect(ran).toBeGreaterThan(10)
        else expect(ran).toBe(10)
      }
    })
  })
})
