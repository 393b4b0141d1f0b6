// One entry of `providers:` in switchyard.yaml: its shape, and what it means once defaults and prices are worked out.
import { type Static, Type } from 'typebox'
import { type Platform, PROTOCOLS, type Protocol } from '../credentials/platform.ts'
import { type Price, pricePerMillion } from '../models/price.ts'
import { PRICE_BOOK, unitPrices } from '../models/price-book.ts'
import type { UnitPrices } from '../models/unit-price.ts'
import { unitDollarsOf, unitFields } from '../models/unit-price-shape.ts'
import {
  type Env,
  hasResponses,
  nameAt,
  PlatformFields,
  platformSettings,
  SPOKEN,
  type Spoken,
} from './platform-settings.ts'
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
    cache_write_1h_usd_per_million: UsdPerMillion(
      'The same for an hour. Default: keys with a limit cannot ask for it.',
    ),
    web_search_usd_per_thousand: UsdPerMillion(
      'A thousand searches that the provider runs. Default: keys with a limit cannot ask for them.',
    ),
    output_usd_per_million: UsdPerMillion('List price; may be left out for a model of the price book.'),
    ...unitFields,
    max_output_tokens: Tokens(0, 'The most it can say in one answer; what a budget is held for.'),
    context_length: Tokens(1, 'Prompt and answer together.'),
    speaks: Type.Optional(
      Type.Enum([...SPOKEN], {
        description:
          'Of Bedrock and Vertex: by which protocol it is asked. Default: messages where it is a Claude; else chat; ' +
          'on Bedrock converse, but for models of OpenAI.',
      }),
    ),
  },
  closed,
)
type ModelShape = Static<typeof ModelShape>

export const ProviderShape = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$', description: 'Shown as Agent-Resolved-Provider.' }),
    protocol: Type.Enum([...PROTOCOLS], { default: 'openai' }),
    base_url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        description: 'Paths like /chat/completions go below it. Bedrock and Vertex have a public one in each region.',
      }),
    ),
    api_key: Type.Optional(Type.String({ maxLength: 4_096, description: 'Left out for an upstream that takes none.' })),
    region: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', default: 'global' }),
    max_concurrency: Type.Integer({ minimum: 1, maximum: 100_000, default: 200, description: 'Calls at once.' }),
    responses: Type.Optional(Type.Boolean({ description: 'It has a Responses API. Default: only api.openai.com.' })),
    messages: Type.Optional(
      Type.Boolean({ description: 'It has a Messages API beside OpenAI’s, as vLLM and llama.cpp have.' }),
    ),
    cache_breakpoints: Type.Optional(
      Type.Boolean({ description: 'Of Anthropic’s protocol: whether chat gets cache breakpoints. Default: true.' }),
    ),
    output_limit_field: Type.Optional(
      Type.Enum(['max_tokens', 'max_completion_tokens'], {
        description: 'Under which name chat takes an output limit from us. Default: by the name of the model.',
      }),
    ),
    unlisted_models: Type.Boolean({ default: false, description: 'Whether it is asked for models not listed here.' }),
    byok: Type.Boolean({
      default: false,
      description: 'Whether customers’ credentials without an address of their own are sent to this base_url.',
    }),
    list_models: Type.Boolean({ default: false, description: 'Whether /v1/models also has what the upstream lists.' }),
    retries: Type.Integer({
      minimum: 0,
      maximum: 3,
      default: 0,
      description: 'How often a call asks it again that it surely did not execute, such as one without a connection.',
    }),
    probe_every_s: Type.Optional(
      Type.Integer({
        minimum: 5,
        maximum: 3_600,
        description: 'Each process asks it so often, outside of calls, whether it is there. Left out: never.',
      }),
    ),
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
    ...PlatformFields,
  },
  closed,
)
export type ProviderShape = Static<typeof ProviderShape>

export interface ProviderSettings {
  id: string
  protocol: Protocol
  base_url: string
  /** Empty where the upstream takes none; of a platform, what it is entered with (platform-secret.ts). */
  api_key: string
  platform?: Platform
  region: string
  max_concurrency: number
  responses: boolean
  /** It takes Messages as they are (R81). */
  messages?: boolean
  /** Of Anthropic's protocol: chat gets cache breakpoints; undefined is yes. */
  cache_breakpoints?: boolean
  /** Undefined: by the name of the model. */
  output_limit_field?: 'max_tokens' | 'max_completion_tokens' | undefined
  unlisted_models: boolean
  /** R79: credentials of projects that name this provider, and no address, come here. */
  byok: boolean
  /** Clients are told of what the upstream lists. */
  list_models: boolean
  /** How often a call asks it again that surely was not executed; absent where never. */
  retries?: number
  /** 0360: how often it is asked, outside of calls, whether it is there; absent where never. */
  probe_every_s?: number
  timeouts: Timeouts & { connect_ms: number; total_ms: number }
  models: readonly ModelSettings[]
  /** It takes no new calls; those under way end (0343). */
  is_draining?: boolean
}

export interface ModelSettings {
  id: string
  upstream_id: string
  /** Undefined where nobody has said what it costs. */
  price: Price | undefined
  max_output_tokens: number
  context_length?: number
  /** Of a platform that has several. */
  speaks?: Spoken
}

/** Hears what is wrong with a field, which is named as a JSON pointer below the provider. */
export type Wrong = (field: string, message: string) => void

/** What is wrong is told, all of it; the result is of use only where nothing was. */
export function providerSettings(shape: ProviderShape, wrong: Wrong, env: Env = {}): ProviderSettings {
  const { id, protocol, region, max_concurrency, output_limit_field, unlisted_models, byok, list_models } = shape
  const entered = platformSettings(shape, wrong, env)
  const base_url = entered?.base_url ?? shape.base_url
  const url = checkAddress(base_url, wrong)
  checkKey(shape.api_key ?? '', wrong)
  if (list_models && (protocol === 'bedrock' || protocol === 'vertex'))
    wrong('/list_models', `list_models cannot be had of ${protocol}: say in models what it serves`)
  checkTimeouts(shape.timeouts, wrong)
  for (const [index, model] of shape.models.entries())
    if (shape.models.findIndex((one) => one.id === model.id) !== index)
      wrong(`/models/${index}/id`, `models: '${model.id}' is there twice`)
  for (const [index, { speaks }] of shape.models.entries())
    if (speaks === 'converse' && protocol !== 'bedrock')
      wrong(`/models/${index}/speaks`, `models: speaks: converse means nothing to the protocol '${protocol}'`)
  return {
    id,
    protocol,
    base_url: base_url ?? '',
    api_key: entered?.secret ?? shape.api_key ?? '',
    ...(entered && { platform: entered.platform }),
    region,
    max_concurrency,
    responses: hasResponses({ protocol, responses: shape.responses, url, platform: entered?.platform }),
    ...(shape.messages !== undefined && { messages: shape.messages }),
    ...(shape.cache_breakpoints !== undefined && { cache_breakpoints: shape.cache_breakpoints }),
    ...(output_limit_field !== undefined && { output_limit_field }),
    unlisted_models,
    byok,
    list_models,
    ...(shape.retries > 0 && { retries: shape.retries }),
    ...(shape.probe_every_s !== undefined && { probe_every_s: shape.probe_every_s }),
    timeouts: shape.timeouts,
    models: shape.models.map((model, index) => {
      const settings = modelSettings(model, (field, message) => wrong(`/models/${index}${field}`, message))
      return { ...settings, upstream_id: nameAt(protocol, settings) }
    }),
  }
}

function checkAddress(base_url: string | undefined, wrong: Wrong): URL | undefined {
  if (base_url === undefined) {
    wrong('', "'base_url' is required")
    return undefined
  }
  const url = URL.canParse(base_url) ? new URL(base_url) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) wrong('/base_url', 'base_url must be an absolute http or https address')
  else if (url.username || url.password) wrong('/base_url', 'base_url must not carry credentials; give an api_key')
  else if (base_url.includes('#')) wrong('/base_url', 'base_url must not have a fragment')
  return url
}

/** A key travels in a header. A line break that slipped in with it would otherwise fail every call, one by one. */
function checkKey(api_key: string, wrong: Wrong): void {
  if (!/^[!-~]*$/.test(api_key)) wrong('/api_key', 'api_key must be visible ASCII characters without blanks')
}

function checkTimeouts(timeouts: ProviderSettings['timeouts'], wrong: Wrong): void {
  for (const name of ['connect_ms', 'first_byte_ms', 'idle_ms'] as const)
    if (timeouts[name] > timeouts.total_ms)
      wrong(`/timeouts/${name}`, `timeouts.${name} must not exceed timeouts.total_ms`)
}

function modelSettings(model: ModelShape, wrong: Wrong): ModelSettings {
  const { id, upstream_id = id, context_length } = model
  const none = unitDollarsOf(model) ? 0 : undefined // images and sound have no length in tokens of text
  const max_output_tokens = model.max_output_tokens ?? PRICE_BOOK.get(id)?.max_output_tokens ?? none
  if (max_output_tokens === undefined) wrong('', `models: '${id}' needs max_output_tokens`)
  const price = priceOf(model, wrong)
  return {
    id,
    upstream_id,
    price,
    max_output_tokens: max_output_tokens ?? 0,
    ...(context_length !== undefined && { context_length }),
    ...(model.speaks !== undefined && { speaks: model.speaks }),
  }
}

/** Micro-USD for one of them. */
function searchPrice(usd_per_thousand: number, id: string, wrong: Wrong): number {
  try {
    return Math.ceil(pricePerMillion(usd_per_thousand, `models: '${id}': web_search_usd_per_thousand`) / 1_000)
  } catch (error) {
    wrong('/web_search_usd_per_thousand', (error as Error).message)
    return 0
  }
}

function unitsOf(model: ModelShape, wrong: Wrong): UnitPrices | undefined {
  const usd = unitDollarsOf(model)
  try {
    return usd && unitPrices(usd, (one) => pricePerMillion(one, `models: '${model.id}': each price`))
  } catch (error) {
    wrong('', (error as Error).message)
    return undefined
  }
}

/** Stated wholly, or taken from the price book wholly: half a price is a mistake. One of units needs none of tokens. */
function priceOf(model: ModelShape, wrong: Wrong): Price | undefined {
  const { id } = model
  const units = unitsOf(model, wrong)
  const none = units ? 0 : undefined
  const { input_usd_per_million: input = none, output_usd_per_million: output = none } = model
  const { cached_input_usd_per_million: cached, cache_write_usd_per_million: write } = model
  const { cache_write_1h_usd_per_million: hour, web_search_usd_per_thousand: searches } = model
  if (input !== undefined && output !== undefined) {
    const price = (usd: number, field: string) => {
      try {
        return pricePerMillion(usd, `models: '${id}': ${field}_usd_per_million`)
      } catch (error) {
        wrong(`/${field}_usd_per_million`, (error as Error).message)
        return 0
      }
    }
    const input_price = price(input, 'input')
    return {
      input: input_price,
      cached_input: cached === undefined ? input_price : price(cached, 'cached_input'),
      cache_write: write === undefined ? input_price : price(write, 'cache_write'),
      output: price(output, 'output'),
      ...(hour !== undefined && { cache_write_1h: price(hour, 'cache_write_1h') }),
      ...(searches !== undefined && { web_search: searchPrice(searches, id, wrong) }),
      ...(units && { units }),
    }
  }
  const booked = PRICE_BOOK.get(id)
  if (booked && [input, output, cached, write, hour, searches].every((stated) => stated === undefined))
    return booked.price
  wrong('', `models: '${id}' needs input_usd_per_million and output_usd_per_million`)
  return undefined
}
