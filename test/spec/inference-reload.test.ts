// R83: switchyard.yaml read again while calls are under way; and what a server lists of itself.
import { expect, test } from 'vitest'
import { settingsChanges } from '../../src/start/reload.ts'
import { CHAT, PRICES, settingsFrom, withScene } from '../support/inference-scene.ts'

const model = (id: string) => ({ id, ...PRICES, max_output_tokens: 100 })

withScene(
  (scene) => {
    const file = (base_url: string, more: object = {}) => ({
      providers: [{ id: 'main', base_url, api_key: 'sk-upstream', models: [model('m')] }],
      ...more,
    })

    test('R83 calls that begin afterwards go by the new file; a stream that has begun ends where it began', async () => {
      const { one, two, replaceSettings } = scene()
      replaceSettings(settingsFrom(file(one.base_url)))
      const stage = await scene().stage()
      let goOn = () => {}
      const rest = new Promise<void>((resolve) => {
        goOn = resolve
      })
      one.behave({ pace: (event) => (event > 1 ? rest : undefined) })
      const stream = stage.open(CHAT, { body: stage.bodyOf({ model: 'm', stream: true }) })
      await one.request(1)

      replaceSettings(settingsFrom(file(two.base_url, { fees: { byoc_micros: 5 } })))
      expect((await stage.chat({ model: 'm' })).status).toBe(200)
      expect([one.requests.length, two.requests.length]).toEqual([1, 1])
      goOn()
      const { status, text } = await stream.heard
      expect([status, text.trimEnd().endsWith('data: [DONE]')]).toEqual([200, true])
    })

    test('R83 a provider that is gone serves nothing more; limits hold from the next request on', async () => {
      const { one, replaceSettings } = scene()
      const stage = await scene().stage()
      replaceSettings(settingsFrom({}))
      expect((await stage.chat({ model: 'm' })).headers['agent-execution-mode']).toBe('placeholder')
      const limits = { key: { requests_per_minute: 1, tokens_per_minute: 1_000, concurrent_streams: 1 } }
      replaceSettings(settingsFrom(file(one.base_url, { limits })))
      expect((await stage.chat({ model: 'm' })).status).toBe(429)
    })

    test('R83 /v1/models has what a server lists, where its provider says so, and only for keys that may name it', async () => {
      const { one, replaceSettings } = scene()
      const listing = { id: 'main', base_url: one.base_url, unlisted_models: true, list_models: true }
      replaceSettings(settingsFrom({ providers: [listing] }))
      const stage = await scene().stage()
      one.behave(({ method }) => (method === 'GET' ? { body: { data: [{ id: 'qwen' }, { id: 'org/llama' }] } } : {}))
      const { data } = (await stage.get('/v1/models')).body
      expect(data.map(({ id, owned_by }: { id: string; owned_by: string }) => [id, owned_by])).toEqual([
        ['org/llama', 'main'],
        ['qwen', 'main'],
      ])
      expect((await stage.get('/v1/models/org%2Fllama')).status).toBe(200)
      expect((await stage.chat({ model: 'qwen' })).status).toBe(200)
      const { body: limited } = await stage.post('/v2/api-keys', { name: 'limited' })
      await stage.post(`/v2/api-keys/${limited.id}/budget`, { limit_usd: 1 })
      const refused = await stage.ask(CHAT, {
        body: stage.bodyOf({ model: 'qwen' }),
        headers: { authorization: `Bearer ${limited.key}` },
      })
      expect([refused.status, refused.json.error.message]).toEqual([
        400,
        expect.stringMatching(
          /^'model' qwen has no price here.*'models' in switchyard\.yaml with 'input_usd_per_million'/,
        ),
      ])
    })
  },
  { gateway: false },
)

test('R83 the difference is told field by field, and no secret with it', () => {
  const settings = (more: object) => settingsFrom(more)
  const provider = (id: string, more: object = {}) => ({ id, base_url: `https://${id}.example`, ...more })
  const before = settings({ providers: [provider('a', { api_key: 'sk-old' }), provider('b'), provider('c')] })
  const after = settings({
    providers: [provider('c'), provider('a', { api_key: 'sk-new', max_concurrency: 5 }), provider('d')],
    fees: { byok_micros: 7 },
    limits: { key: { requests_per_minute: 9 } },
  })
  const changes = settingsChanges(before, after)
  expect(changes).toEqual(
    expect.arrayContaining([
      "provider 'a': api_key, max_concurrency changed",
      "provider 'd' is new",
      "provider 'b' is gone",
      'the order of providers changed',
      'fees.byok_micros: 0 → 7',
      'limits.key.requests_per_minute: 1000000000 → 9',
    ]),
  )
  expect(JSON.stringify(changes)).not.toContain('sk-')
  expect(settingsChanges(after, after)).toEqual([])
})
