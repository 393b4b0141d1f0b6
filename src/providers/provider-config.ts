// One entry of `providers:` in switchyard.yaml: its shape, and what it means once defaults and prices are worked out.
import { type Static, Type } from 'typebox'
import { type Price, pricePerMillion } from '../models/price.ts'
import { PRICE_BOOK } from '../models/price-book.ts'
import type { Timeouts } from './provider.ts'

const closed = { additionalProperties: false }
const DAY_MS = 86_400_000

const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: DAY_MS, default: fallback, description })
const Tokens = (minimum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum: 100_000_000, description }))
const UsdPerMillion = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))

const ModelShape = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256, description: 'What clients call it.' }),
    upstream_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'What the upstream calls it.' }),
    ),
    input_usd_per_million: UsdPerMillion('List price; may be left out for a model of the price book.'),
    cached_input_usd_per_million: UsdPerMillion('Input that the provider had cached. Default: as input.'),
    cache_write_usd_per_million: UsdPerMillion('Input that the provider writes into its cache. Default: as input.'),
    output_usd_per_million: UsdPerMillion('List price; may be left out for a model of the price book.'),
    max_output_tokens: Tokens(0, 'The most it can say in one answer; what a budget is held for.'),
    context_length: Tokens(1, 'Prompt and answer together.'),
  },
  closed,
)
type ModelShape = Static<typeof ModelShape>

export const ProviderShape = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$', description: 'Shown as Agent-Resolved-Provider.' }),
    protocol: Type.Enum(['openai', 'anthropic'], { default: 'openai' }),
    base_url: Type.String({ minLength: 1, maxLength: 2_048, description: 'Paths like /chat/completions go below it.' }),
    api_key: Type.Optional(Type.String({ maxLength: 4_096, description: 'Left out for an upstream that takes none.' })),
    region: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', default: 'global' }),
    max_concurrency: Type.Integer({ minimum: 1, maximum: 100_000, default: 200, description: 'Calls at once.' }),
    responses: Type.Optional(Type.Boolean({ description: 'It has a Responses API. Default: only api.openai.com.' })),
    unlisted_models: Type.Boolean({ default: false, description: 'Whether it is asked for models not listed here.' }),
    byok: Type.Boolean({
      default: false,
      description: 'Whether customers’ credentials without an address of their own are sent to this base_url.',
    }),
    timeouts: Type.Object(
      {
        connect_ms: Milliseconds(5_000, 'Until a connection stands.'),
        first_byte_ms: Milliseconds(300_000, 'From sending to the answer; an answer that is not streamed comes whole.'),
        idle_ms: Milliseconds(60_000, 'Between two parts of an answer.'),
        total_ms: Milliseconds(900_000, 'For the whole call.'),
      },
      { ...closed, default: {} },
    ),
    models: Type.Array(ModelShape, { default: [], maxItems: 10_000 }),
  },
  closed,
)
export type ProviderShape = Static<typeof ProviderShape>

export interface ProviderSettings {
  id: string
  protocol: 'openai' | 'anthropic'
  base_url: string
  /** Empty where the upstream takes none. */
  api_key: string
  region: string
  max_concurrency: number
  responses: boolean
  unlisted_models: boolean
  /** R79: credentials of projects that name this provider, and no address, come here. */
  byok: boolean
  timeouts: Timeouts & { connect_ms: number; total_ms: number }
  models: readonly ModelSettings[]
}

export interface ModelSettings {
  id: string
  upstream_id: string
  /** Undefined where nobody has said what it costs. */
  price: Price | undefined
  max_output_tokens: number
  context_length?: number
}

/** Throws an error that says what is wrong with which field. */
export function providerSettings(shape: ProviderShape): ProviderSettings {
  const { id, protocol, region, max_concurrency, unlisted_models, byok, timeouts } = shape
  const url = checkAddress(shape.base_url)
  const twice = shape.models.find((model, index) => shape.models.findIndex((one) => one.id === model.id) !== index)
  if (twice) throw new Error(`models: '${twice.id}' is there twice`)
  return {
    id,
    protocol,
    base_url: shape.base_url,
    api_key: checkKey(shape.api_key ?? ''),
    region,
    max_concurrency,
    responses: protocol === 'openai' && (shape.responses ?? url.hostname === 'api.openai.com'),
    unlisted_models,
    byok,
    timeouts: checkTimeouts(timeouts),
    models: shape.models.map(modelSettings),
  }
}

function checkAddress(base_url: string): URL {
  const url = URL.canParse(base_url) ? new URL(base_url) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('base_url must be an absolute http or https address')
  if (url.username || url.password) throw new Error('base_url must not carry credentials; give an api_key')
  if (base_url.includes('#')) throw new Error('base_url must not have a fragment')
  return url
}

/** A key travels in a header. A line break that slipped in with it would otherwise fail every call, one by one. */
function checkKey(api_key: string): string {
  if (!/^[!-~]*$/.test(api_key)) throw new Error('api_key must be visible ASCII characters without blanks')
  return api_key
}

function checkTimeouts(timeouts: ProviderSettings['timeouts']): ProviderSettings['timeouts'] {
  for (const name of ['connect_ms', 'first_byte_ms', 'idle_ms'] as const)
    if (timeouts[name] > timeouts.total_ms) throw new Error(`timeouts.${name} must not exceed timeouts.total_ms`)
  return timeouts
}

function modelSettings(model: ModelShape): ModelSettings {
  const { id, upstream_id = id, context_length } = model
  const max_output_tokens = model.max_output_tokens ?? PRICE_BOOK.get(id)?.max_output_tokens
  if (max_output_tokens === undefined) throw new Error(`models: '${id}' needs max_output_tokens`)
  const price = priceOf(model)
  return { id, upstream_id, price, max_output_tokens, ...(context_length !== undefined && { context_length }) }
}

/** Stated wholly, or taken from the price book wholly: half a price is a mistake. */
function priceOf(model: ModelShape): Price {
  const { id, input_usd_per_million: input, output_usd_per_million: output } = model
  const { cached_input_usd_per_million: cached = input, cache_write_usd_per_million: write = input } = model
  if (input !== undefined && output !== undefined) {
    const price = (usd: number, field: string) => pricePerMillion(usd, `models: '${id}': ${field}_usd_per_million`)
    return {
      input: price(input, 'input'),
      cached_input: price(cached ?? input, 'cached_input'),
      cache_write: price(write ?? input, 'cache_write'),
      output: price(output, 'output'),
    }
  }
  const booked = PRICE_BOOK.get(id)
  if (booked && input === undefined && output === undefined && cached === undefined && write === undefined)
    return booked.price
  throw new Error(`models: '${id}' needs input_usd_per_million and output_usd_per_million`)
}
