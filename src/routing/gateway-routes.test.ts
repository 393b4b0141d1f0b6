// GET /v2/gateway: what is in force, and nothing that is secret.
import { expect, test } from 'vitest'
import { settingsFrom } from '../../test/support/inference-scene.ts'
import { startService } from '../../test/support/service.ts'

const GATEWAY = '/v2/gateway'
const SECRET = 'sk-very-secret-indeed'

const PRICED = { id: 'm-1', input_usd_per_million: 2, output_usd_per_million: 8, max_output_tokens: 100 }
const settings = () =>
  settingsFrom({
    providers: [
      {
        id: 'mine',
        base_url: 'https://internal.example.com/v1?token=abc',
        api_key: SECRET,
        region: 'eu',
        models: [PRICED],
      },
    ],
    fees: { byok_micros: 5 },
    retention: { full_fidelity: true },
    limits: { key: { requests_per_minute: 77 } },
  })

test('§1 200 for a key that may only read: providers, models, prices, limits, retention, version', async () => {
  const { as, keyWith, db } = await startService({ parts: { settings: settings(), sign_up: 'invited' } })
  const { status, body } = await as(await keyWith('read')).get(GATEWAY)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    object: 'gateway',
    version: 'test',
    store: db.engine,
    execution_mode: 'live',
    sign_up: 'invited',
    fees: { byok_micros: 5, byoc_micros: 0 },
    limits: { key: { requests_per_minute: 77 }, shadow: [] },
    retention: { full_fidelity: true, kept_answers_hours: 24, refusals_days: 90, cluster_transitions_days: 30 },
  })
  expect(body.providers).toEqual([
    {
      id: 'mine',
      protocol: 'openai',
      region: 'eu',
      max_concurrency: 200,
      responses: false,
      unlisted_models: false,
      byok: false,
      retries: 0,
      timeouts: { connect_ms: 5_000, first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 },
      models_total: 1,
      models: [
        {
          id: 'm-1',
          price: { input: 2_000_000, cached_input: 2_000_000, cache_write: 2_000_000, output: 8_000_000 },
          max_output_tokens: 100,
          context_length: null,
        },
      ],
    },
  ])
})

test('§5 no secret, no address of an upstream, no secret of the server', async () => {
  const { get } = await startService({ parts: { settings: settings() } })
  const { bytes } = await get(GATEWAY)
  for (const hidden of [SECRET, 'internal.example.com', 'token=abc', 'a secret for tests'])
    expect(bytes.toString()).not.toContain(hidden)
})

test('R53 200 with nothing configured: the placeholder, and open sign-up', async () => {
  const { get } = await startService()
  expect((await get(GATEWAY)).body).toMatchObject({ execution_mode: 'placeholder', sign_up: 'open', providers: [] })
})
