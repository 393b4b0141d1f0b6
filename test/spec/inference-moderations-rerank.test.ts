// §4.11, R42, R43: judgements, which are free, and rankings, which are paid by the search: passed on, held for, charged
// once and replayed.
import { expect, test } from 'vitest'
import { moneyIn } from '../support/inference-client.ts'
import { withScene } from '../support/inference-scene.ts'
import { answering, MODERATION, mediaConfig } from '../support/media-scene.ts'

const RERANK = '/v1/rerank'
const JUDGED = { id: 'modr-1', model: MODERATION, results: [{ flagged: true, categories: { violence: true } }] }
const ranked = (more: object = {}) => ({ id: 'rr', results: [{ index: 1, relevance_score: 0.9 }], ...more })
const units = (search_units: number) => ({ meta: { billed_units: { search_units } } })
const documents = ['one', 'two', 'three']

withScene(
  (scene) => {
    const ask = (stage: Awaited<ReturnType<ReturnType<typeof scene>['stage']>>, more: object = {}, keyed?: string) =>
      stage.ask(RERANK, {
        body: { model: 'rank', query: 'which', documents, ...more },
        headers: keyed === undefined ? {} : { 'agent-idempotency-key': keyed },
      })

    test('§4.11 moderations by the official client: without a model too, free, with the upstream’s own words', async () => {
      const stage = await scene().stage({ key: 1 })
      stage.one.behave({ body: JUDGED })
      const judged = await stage.openai().moderations.create({ input: 'I will' })
      expect(judged).toMatchObject(JUDGED)
      const { path, body } = await stage.one.request(1)
      expect([path, body]).toEqual(['/v1/moderations', { input: 'I will' }])
      const [event] = (await stage.audit()).events
      expect(event).toMatchObject({ status: 'completed', charged_micros: 0 })
    })

    test('R42 a ranking costs what its searches cost, as told or as counted, and the event has them', async () => {
      const stage = await scene().stage()
      stage.one.next({ body: ranked(units(3)) }, { body: ranked() }, { body: ranked(units(-1)) })
      const told = await ask(stage, { top_n: 1, return_documents: true })
      expect([told.status, told.json, moneyIn(told)]).toEqual([200, ranked(units(3)), 6_000])
      expect((await stage.one.request(1)).body).toEqual({
        model: 'rank',
        query: 'which',
        documents,
        top_n: 1,
        return_documents: true,
      })
      for (let n = 0; n < 2; n++) expect(moneyIn(await ask(stage))).toBe(2_000)
      const { body } = await stage.get('/v2/usage')
      expect(body.data.map((event: { units: unknown }) => event.units)).toEqual([
        { searches: 1 },
        { searches: 1 },
        { searches: 3 },
      ])
      await stage.audit()
    })

    test('R43 held before anybody is asked: a search beyond the budget is 429, and a long document is several', async () => {
      const stage = await scene().stage({ key: 3_999 })
      const many = Array.from({ length: 101 }, () => 'x')
      const long = ['x'.repeat(150_000)]
      const before = await stage.audit()
      for (const refused of [await ask(stage, { documents: many }), await ask(stage, { documents: long })])
        expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
      expect([stage.one.requests.length, await stage.audit()]).toEqual([0, before])
      stage.one.behave({ body: ranked(units(1)) })
      expect((await ask(stage)).status).toBe(200)
    })

    test('§11 keyed: the replay is the same bytes, charged once', async () => {
      const stage = await scene().stage({ key: 100_000 })
      // Three searches are told and one was held for: no more than that is charged.
      stage.one.behave({ body: ranked(units(3)) })
      const [first, second] = [await ask(stage, {}, 'k'), await ask(stage, {}, 'k')]
      expect(second.bytes).toEqual(first.bytes)
      expect([second.headers['agent-idempotent-replay'], moneyIn(second)]).toEqual(['true', 2_000])
      const { spent, events } = await stage.audit()
      expect([stage.one.requests.length, spent, events[0]?.written_off_micros]).toEqual([1, 2_000, 4_000])
    })

    test('R47 a target that fails, or answers 200 with no ranking, is passed over', async () => {
      for (const failure of [{ status: 500, body: {} }, { body: { error: { message: 'no' } } }, { body: 'no' }]) {
        const stage = await scene().stage()
        stage.one.behave(failure)
        stage.two.behave({ body: ranked(units(1)) })
        const answer = await ask(stage)
        expect([answer.status, answer.headers['agent-execution-mode']]).toEqual([200, 'emergency_fallback'])
        expect((await stage.audit()).events[0]?.attempts).toHaveLength(2)
      }
    })

    test('R43 a model without a price serves a key without a limit; one with a limit is told how to give it one', async () => {
      const [open, limited] = [await scene().stage(), await scene().stage({ key: 100_000 })]
      open.one.behave({ body: ranked() })
      expect((await ask(open, { model: 'nobody-priced-it' })).status).toBe(200)
      const refused = await ask(limited, { model: 'nobody-priced-it' })
      expect([refused.status, refused.json.error.message]).toEqual([
        400,
        expect.stringContaining('rerank_usd_per_thousand'),
      ])
      const other = await ask(limited, { model: 'draw' })
      expect([other.status, other.json.error.message]).toEqual([
        400,
        expect.stringContaining("'model' draw has no price"),
      ])
      expect((await limited.audit()).events).toEqual([])
    })

    test.each([
      [{ query: undefined }, "'query' must be"],
      [{ query: '' }, "'query' must be"],
      [{ documents: [] }, "'documents' must be"],
      [{ model: 7 }, "'model' must be"],
    ])('R76 %j is 400 by name, and nobody is asked', async (more, message) => {
      const stage = await scene().stage()
      const refused = await ask(stage, more)
      expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining(message)])
      expect([stage.one.requests.length, (await stage.audit()).events]).toEqual([0, []])
    })

    test('§4.11 an alias and the project’s own credential: fee in place of a price, and the header says so', async () => {
      const stage = await scene().stage({ key: 100_000 })
      stage.one.behave(answering('application/json', JSON.stringify(ranked(units(2)))))
      await stage.post('/v2/provider-credentials', { provider: 'first', name: 'own', secret: 'sk-own' })
      await stage.post('/v2/aliases', { name: 'best', targets: [{ provider: 'first', model: 'rank' }] })
      const own = await ask(stage)
      expect([own.headers['agent-execution-profile'], moneyIn(own)]).toEqual(['byok', 0])
      expect((await stage.one.request(1)).headers.authorization).toBe('Bearer sk-own')
      const aliased = await ask(stage, { model: 'best' })
      expect([aliased.headers['agent-alias-release'], (await stage.one.request(2)).body.model]).toEqual([
        expect.stringMatching(/^alr_/),
        'rank',
      ])
    })

    test('§4.11 413 beyond 1 MiB', async () => {
      const stage = await scene().stage()
      expect((await ask(stage, { documents: ['x'.repeat(1_100_000)] })).status).toBe(413)
    })
  },
  { config: mediaConfig },
)
