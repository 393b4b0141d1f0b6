// One provider of switchyard.yaml: defaults, prices, and what is told about mistakes.
import { Check, Default } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { BUILT_IN } from '../models/price-book.ts'
import { ProviderShape, providerSettings } from './provider-config.ts'

const priced = { id: 'm', input_usd_per_million: 0.15, output_usd_per_million: 0.6, max_output_tokens: 16_384 }
const openai = { id: 'openai', base_url: 'https://api.openai.com/v1', api_key: 'sk-1', models: [priced] }

const filled = (entry: object) => Default(ProviderShape, structuredClone(entry))
const settings = (changes: object = {}) => {
  const entry = filled({ ...openai, ...changes })
  if (!Check(ProviderShape, entry)) throw new Error('not of the shape')
  return providerSettings(entry, (_field, message) => {
    throw new Error(message)
  })
}
const priceOf = (model: object) => settings({ models: [{ ...priced, ...model }] }).models[0]?.price

test('§9 what is left out has its default', () => {
  expect(settings()).toEqual({
    id: 'openai',
    protocol: 'openai',
    base_url: 'https://api.openai.com/v1',
    api_key: 'sk-1',
    region: 'global',
    max_concurrency: 200,
    responses: true,
    unlisted_models: false,
    byok: false,
    list_models: false,
    timeouts: { connect_ms: 5_000, first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 },
    models: [
      {
        id: 'm',
        upstream_id: 'm',
        price: { input: 150_000, cached_input: 150_000, cache_write: 150_000, output: 600_000 },
        max_output_tokens: 16_384,
      },
    ],
  })
})

test('§9 timeouts may be given in part', () => {
  expect(settings({ timeouts: { idle_ms: 5_000 } }).timeouts).toMatchObject({ connect_ms: 5_000, idle_ms: 5_000 })
})

test('§9 a model may have another name upstream', () => {
  const [model] = settings({ models: [{ ...priced, upstream_id: 'org/m-2', context_length: 128_000 }] }).models
  expect(model).toMatchObject({ id: 'm', upstream_id: 'org/m-2', context_length: 128_000 })
})

test.each([
  ['OpenAI itself', {}, true],
  ['another address', { base_url: 'https://llm.example/v1' }, false],
  ['another address that says so', { base_url: 'https://llm.example/v1', responses: true }, true],
  ['OpenAI itself that says no', { responses: false }, false],
  ['a name that only ends like it', { base_url: 'https://evil-api.openai.com.example/v1' }, false],
  ["Anthropic's protocol, whatever it says", { protocol: 'anthropic', responses: true }, false],
])('§9.1 a Responses API: %s', (_case, changes, responses) => {
  expect(settings(changes).responses).toBe(responses)
})

describe('R42 prices are exact micro-USD per million tokens', () => {
  test.each([
    ['0.0028', { input_usd_per_million: 0.0028 }, 'input', 2_800],
    ['8.2', { output_usd_per_million: 8.2 }, 'output', 8_200_000],
    ['a cached price', { cached_input_usd_per_million: 0.075 }, 'cached_input', 75_000],
    ['a price for writing', { cache_write_usd_per_million: 6.25 }, 'cache_write', 6_250_000],
    ['for free', { cached_input_usd_per_million: 0 }, 'cached_input', 0],
  ] as const)('%s', (_case, model, field, micros) => {
    expect(priceOf(model)?.[field]).toBe(micros)
  })

  test('from the price book, where none is stated', () => {
    const [model] = settings({ models: [{ id: 'gpt-4o-mini' }] }).models
    const booked = BUILT_IN.get('gpt-4o-mini')
    expect([model?.price, model?.max_output_tokens]).toEqual([booked?.price, booked?.max_output_tokens])
  })
})

describe('§9 what is wrong is told by its name', () => {
  const { input_usd_per_million: _, ...half } = priced
  test.each([
    ['no address', { base_url: 'api.openai.com' }, 'base_url must be an absolute'],
    ['another scheme', { base_url: 'ftp://example.com' }, 'base_url must be an absolute'],
    ['credentials in it', { base_url: 'https://a:b@example.com' }, 'base_url must not carry credentials'],
    ['a fragment', { base_url: 'https://example.com/v1#x' }, 'base_url must not have a fragment'],
    ['a key with its line break', { api_key: 'sk-1\n' }, 'api_key must be visible ASCII'],
    ['a model twice', { models: [priced, priced] }, "'m' is there twice"],
    ['half a price', { models: [half] }, "'m' needs input_usd_per_million"],
    [
      'half a price of a booked model',
      { models: [{ id: 'gpt-4o', output_usd_per_million: 1 }] },
      "'gpt-4o' needs input",
    ],
    ['no price that anybody knows', { models: [{ id: 'x', max_output_tokens: 1 }] }, "'x' needs input_usd_per_million"],
    ['no limit that anybody knows', { models: [{ id: 'x' }] }, "'x' needs max_output_tokens"],
    ['a price too fine', { models: [{ ...priced, input_usd_per_million: 0.0000001 }] }, "'m': input_usd_per_million"],
    [
      'a part longer than the whole',
      { timeouts: { idle_ms: 10, total_ms: 5, connect_ms: 1, first_byte_ms: 1 } },
      'timeouts.idle_ms must not exceed',
    ],
  ])('%s', (_case, changes, message) => {
    expect(() => settings(changes)).toThrow(message)
  })

  test.each([
    ['no id', { id: undefined }],
    ['an id that no header could carry', { id: 'Öpenai' }],
    ['another protocol', { protocol: 'grpc' }],
    ['a field that does not exist', { max_concurency: 5 }],
    ['a field of a model that does not exist', { models: [{ ...priced, price: 5 }] }],
    ['a negative price', { models: [{ ...priced, output_usd_per_million: -1 }] }],
    ['a number as text', { max_concurrency: '5' }],
    ['no concurrency', { max_concurrency: 0 }],
    ['a time-out that no timer could hold', { timeouts: { total_ms: 3_000_000_000 } }],
  ])('%s is not of the shape', (_case, changes) => {
    expect(Check(ProviderShape, filled({ ...openai, ...changes }))).toBe(false)
  })
})
