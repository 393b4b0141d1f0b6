// §4.4, R43, R48: hard limits over the whole path. What may be spent at most is held before anything is dialled; a limit
// is kept to the micro, by any number of calls at once; and nothing stays held.
import { describe, expect, test } from 'vitest'
import { ENGINE } from '../support/databases.ts'
import { asked, CASES, comesTrue, envelope, QUOTA } from '../support/inference-cases.ts'
import { moneyIn } from '../support/inference-client.ts'
import { holdFor, MAX_OUTPUT, type Stage, setKeyLimit, setProjectCap, withScene } from '../support/inference-scene.ts'
import { readScrape, sumOf } from '../support/scrape.ts'
import { deferred } from '../support/tampered-db.ts'

const MICROS = 'switchyard_generation_micros_total'

withScene(
  (scene) => {
    /** What is held while the upstream still thinks. */
    async function heldFor(stage: Stage, more: object): Promise<number> {
      const gate = deferred()
      stage.one.next({ wait: gate.promise })
      const call = stage.openChat(more)
      await stage.one.request(stage.one.requests.length + 1)
      const { held, holds } = await stage.ledger()
      expect(holds).toEqual([held])
      gate.resolve()
      await call.heard
      await stage.audit()
      return held
    }

    describe('what is held', () => {
      test.each([
        ['the caller’s limit', { max_tokens: 50 }, 50],
        ['under its newer name', { max_completion_tokens: 50 }, 50],
        ['for each choice', { max_tokens: 50, n: 3 }, 150],
        ['or the model’s maximum', {}, MAX_OUTPUT],
        ['for each choice too', { n: 3 }, 3 * MAX_OUTPUT],
      ])('R43 the prompt’s bound, and %s', async (_what, more, output) => {
        const stage = await scene().stage({ key: 1_000_000 })
        expect(await heldFor(stage, more)).toBe(holdFor(stage.bodyOf(more), output))
      })

      test('R43 nothing where there is no limit, and the spending is counted all the same', async () => {
        const stage = await scene().stage()
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const call = stage.openChat()
        await stage.one.request(1)
        expect((await stage.ledger()).holds).toEqual([])
        gate.resolve()
        const { spent } = await call.heard.then(() => stage.audit())
        expect(spent).toBe(25)
        expect((await stage.get('/v2/api-keys')).body.data[0].spent_micros).toBe(25)
      })
    })

    describe('refusals, to the micro', () => {
      test.each(['key', 'project'] as const)(
        'R43 a call that fits the %s’s limit exactly runs, one micro less does not',
        async (whose) => {
          const stage = await scene().stage()
          const more = { max_tokens: 50 }
          const needed = holdFor(stage.bodyOf(more), 50)
          const set = (micros: number) =>
            whose === 'key'
              ? setKeyLimit(scene().db, stage.key_id, micros)
              : setProjectCap(scene().db, stage.project.id, micros)
          await set(needed - 1)
          const refused = await stage.chat(more)
          expect(envelope(refused)).toEqual(QUOTA)
          expect(refused.json.error.message).toContain(whose)
          expect(stage.one.requests).toHaveLength(0)
          await set(needed)
          expect((await stage.chat(more)).status).toBe(200)
          expect((await stage.audit()).spent).toBe(25)
        },
      )

      test.each(CASES)(
        'R45, R48 refused in every form: no Retry-After, not to be retried, key free ($form)',
        async (one) => {
          const stage = await scene().stage({ key: 10 })
          const heard = await stage.chat(...asked(one, { max_tokens: 50 }))
          expect(envelope(heard)).toEqual(QUOTA)
          expect(heard.headers['x-should-retry']).toBe('false')
          expect(heard.headers).not.toHaveProperty('retry-after')
          expect(heard.headers).not.toHaveProperty('agent-charged-micros')
          expect((await stage.audit()).events).toEqual([])
          expect(await stage.keyState('the-key')).toBe('free')
        },
      )

      test('R43 what was charged is gone from the limit, what was only held is not', async () => {
        const stage = await scene().stage()
        const more = { max_tokens: 50 }
        const needed = holdFor(stage.bodyOf(more), 50)
        await setKeyLimit(scene().db, stage.key_id, needed + 25)
        expect((await stage.chat(more)).status).toBe(200)
        expect((await stage.chat(more)).status).toBe(200)
        expect(envelope(await stage.chat(more))).toEqual(QUOTA)
        expect((await stage.audit()).spent).toBe(50)
      })

      test('R43 a bound that nobody could count is refused like any other', async () => {
        const stage = await scene().stage({ key: 1_000_000_000 })
        for (const more of [{ max_tokens: 9e15 }, { max_tokens: 9e15, n: 128 }, { max_tokens: 1e12, n: 100 }])
          expect((await stage.chat(more)).status).toBe(429) // by the limit, or by the rate of tokens before it
        expect(stage.one.requests).toHaveLength(0)
      })
    })

    describe('answers that are shortened', () => {
      test('R43 to what is left, and held for exactly that', async () => {
        const stage = await scene().stage()
        const needed = holdFor(stage.bodyOf(), 37)
        await setKeyLimit(scene().db, stage.key_id, needed + 1)
        expect(await heldFor(stage, {})).toBe(needed)
        expect(stage.one.requests[0]?.body.max_tokens).toBe(37)
      })

      test('R43 shared between choices', async () => {
        const stage = await scene().stage()
        await setKeyLimit(scene().db, stage.key_id, holdFor(stage.bodyOf({ n: 4 }), 42))
        await stage.chat({ n: 4 })
        expect(stage.one.requests[0]?.body).toMatchObject({ n: 4, max_tokens: 10 })
      })

      test('R43 down to one token, and no further', async () => {
        const stage = await scene().stage()
        await setKeyLimit(scene().db, stage.key_id, holdFor(stage.bodyOf(), 1))
        await stage.chat()
        expect(stage.one.requests[0]?.body.max_tokens).toBe(1)
        const other = await scene().stage()
        await setKeyLimit(scene().db, other.key_id, holdFor(other.bodyOf(), 1) - 1)
        expect(envelope(await other.chat())).toEqual(QUOTA)
      })

      test('R43 never where the caller said how long, nor where all of it fits', async () => {
        const stage = await scene().stage({ project: 500 })
        expect(envelope(await stage.chat({ max_tokens: 300 }))).toEqual(QUOTA)
        await setProjectCap(scene().db, stage.project.id, 1_000_000)
        await stage.chat({ max_tokens: 300 })
        await stage.chat()
        expect(stage.one.requests.map(({ body }) => body.max_tokens)).toEqual([300, undefined])
      })
    })

    describe('R6 limits of all kinds', () => {
      test.each(['key', 'project'] as const)('R6 0 for the %s blocks everything', async (whose) => {
        const stage = await scene().stage({ [whose]: 0 })
        expect(envelope(await stage.chat())).toEqual(QUOTA)
        const embed = await stage.ask('/v1/embeddings', { body: { model: stage.model, input: 'a' } })
        expect(envelope(embed)).toEqual(QUOTA)
        expect(stage.one.requests).toHaveLength(0)
      })

      test('R6 0 blocks what costs nothing too', async () => {
        const stage = await scene().stage({ key: 0 })
        const free = await stage.chat({ model: 'free' })
        expect(envelope(free)).toEqual(QUOTA)
      })

      test('R6 lowered below what is spent: nothing new, until it is raised again', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        await stage.chat()
        const budget = (limit_usd: number | null) => stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd })
        expect((await budget(0.00001)).body).toMatchObject({ budget_micros: 10, spent_micros: 25 })
        expect(envelope(await stage.chat({ max_tokens: 1 }))).toEqual(QUOTA)
        await budget(1)
        expect((await stage.chat({ max_tokens: 1 })).status).toBe(200)
        await budget(null)
        expect((await stage.chat()).status).toBe(200)
      })

      test('R6 lowered while a call runs: that one is charged, the next is refused', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const running = stage.openChat()
        await stage.one.request(1)
        await setKeyLimit(scene().db, stage.key_id, 1)
        expect(envelope(await stage.chat())).toEqual(QUOTA)
        gate.resolve()
        expect(moneyIn(await running.heard)).toBe(25)
        expect((await stage.audit()).spent).toBe(25)
      })

      test('§4.4 the project’s cap stands beside the key’s limit: whichever is reached first', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const more = { max_tokens: 50 }
        const needed = holdFor(stage.bodyOf(more), 50)
        await setProjectCap(scene().db, stage.project.id, needed + 25)
        const other = { authorization: `Bearer ${await stage.keyWith('inference')}` } // a key without a limit of its own
        expect((await stage.chat(more, { headers: other })).status).toBe(200)
        expect((await stage.chat(more)).status).toBe(200)
        for (const headers of [{}, other]) {
          const refused = await stage.chat(more, { headers })
          expect([envelope(refused), refused.json.error.message]).toEqual([QUOTA, expect.stringContaining('project')])
        }
        expect((await stage.audit()).spent).toBe(50)
      })

      test('R43 a model that nobody has priced needs a key without limits', async () => {
        const limited = await scene().stage({ key: 1_000_000 })
        const refused = await limited.chat({ model: 'unheard-of' })
        expect(envelope(refused)).toEqual([400, 'invalid_request_error', undefined])
        expect(refused.json.error.message).toContain('unheard-of has no price')
        expect(limited.one.requests).toHaveLength(0)
        const free = await scene().stage()
        expect(moneyIn(await free.chat({ model: 'unheard-of' }))).toBe(0)
      })
    })

    test('R43 charged at most what was held; the rest is written off, and counted', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const off = async () =>
        sumOf(readScrape(await scene().metrics.registry.metrics()), MICROS, { kind: 'written_off' })
      const before = await off()
      stage.one.behave({ usage: { input: 11, output: 1_000 } }) // it was told one token, and said a thousand
      const held = holdFor(stage.bodyOf({ max_tokens: 1 }), 1)
      const heard = await stage.chat({ max_tokens: 1 })
      expect(heard.headers).toMatchObject({ 'agent-charged-micros': String(held), 'agent-direct-cost-micros': '2011' })
      const { events } = await stage.audit()
      expect(events).toMatchObject([{ charged_micros: held, written_off_micros: 2_011 - held }])
      expect((await off()) - before).toBe(2_011 - held)
    })

    test('R42 cached and written input at their prices; the saving is told', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ usage: { input: 100, cached: 60, cache_written: 10, output: 5 } })
      const { headers } = await stage.chat()
      // 30 at 1, 60 at a half, 10 at 2, 5 at 2; without reuse, 100 at 1 and 5 at 2
      expect([headers['agent-charged-micros'], headers['agent-direct-cost-micros']]).toEqual(['90', '110'])
      expect(headers['agent-savings-micros']).toBe('20')
      await stage.audit()
    })

    describe('many at once', () => {
      // One hot row: over PostgreSQL the calls wait for it one after the other, and after 5 s they would be told 503.
      const COUNT = ENGINE === 'sqlite' ? 300 : 90
      const FIT = COUNT / 3

      test('R43 of hundreds at once exactly those run that fit, and the limit is met to the micro', async () => {
        const stage = await scene().stage()
        const body = stage.bodyOf({ max_tokens: 10 })
        const each = holdFor(body, 10)
        stage.one.behave({ usage: { input: each - 20, output: 10 } }) // costs all that is held
        await setKeyLimit(scene().db, stage.key_id, FIT * each + each - 1)
        const answers = await Promise.all(Array.from({ length: COUNT }, () => stage.chat({ max_tokens: 10 })))
        const ran = answers.filter(({ status }) => status === 200)
        expect([ran.length, ran.every((heard) => moneyIn(heard) === each)]).toEqual([FIT, true])
        for (const heard of answers) if (heard.status !== 200) expect(envelope(heard)).toEqual(QUOTA)
        expect((await stage.audit()).spent).toBe(FIT * each)
        expect(stage.one.requests).toHaveLength(FIT)
      })

      test('R43 answers are shortened at once, too: each to what is left, and never beyond the limit', async () => {
        const stage = await scene().stage({ key: 2_000 })
        const gate = deferred()
        stage.one.behave({ wait: gate.promise })
        const calls = Array.from({ length: 40 }, () => stage.chat())
        const refused: unknown[] = []
        for (const call of calls) void call.then((heard) => heard.status === 429 && refused.push(heard))
        await comesTrue(async () => refused.length + stage.one.requests.length === calls.length)
        expect((await stage.ledger()).held).toBeLessThanOrEqual(2_000)
        for (const { body } of stage.one.requests) expect(body.max_tokens).toBeGreaterThanOrEqual(1)
        gate.resolve()
        await Promise.all(calls)
        expect((await stage.audit()).spent).toBe(25 * stage.one.requests.length)
      })

      test('R43 two keys and a cap at once: neither limit is passed, and what is spent is what was told', async () => {
        const stage = await scene().stage()
        const each = holdFor(stage.bodyOf({ max_tokens: 10 }), 10)
        await setKeyLimit(scene().db, stage.key_id, 20 * each)
        await setProjectCap(scene().db, stage.project.id, 50 * each)
        stage.one.behave({ usage: { input: each - 20, output: 10 } })
        const other = { authorization: `Bearer ${await stage.keyWith('inference')}` }
        const calls = Array.from({ length: 120 }, (_, n) =>
          stage.chat({ max_tokens: 10, stream: n % 3 === 0 }, { headers: n % 2 ? other : {} }),
        )
        const told = (await Promise.all(calls)).map((heard) => moneyIn(heard) ?? 0)
        const { spent } = await stage.audit()
        expect(told.reduce((sum, one) => sum + one, 0)).toBe(spent)
        expect(spent).toBeLessThanOrEqual(50 * each)
        expect(spent).toBeGreaterThan(40 * each) // a stream's body is a little longer, so fewer of them fit
        const keys = (await stage.get('/v2/api-keys')).body.data
        expect(keys.find((key: { id: string }) => key.id === stage.key_id).spent_micros).toBeLessThanOrEqual(20 * each)
      })
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          id: 'free',
          base_url: one.base_url,
          models: [{ id: 'free', input_usd_per_million: 0, output_usd_per_million: 0, max_output_tokens: 10 }],
        },
        { id: 'open', base_url: one.base_url, unlisted_models: true },
      ],
    }),
  },
)
