// One entry of `providers:` in switchyard.yaml: its shape, and what it means once defaults and prices are worked out.
import { type Static, Type } from 'typebox'
import { type Platform, PROTOCOLS, type Protocol } from '../credentials/platform.ts'
import { BUILT_IN, type PriceBook } from '../models/price-book.ts'
import { type ModelSettings, ModelShape, modelSettings, type Wrong } from './model-config.ts'
import { type Env, hasResponses, nameAt, PlatformFields, platformSettings, spokenAt } from './platform-settings.ts'
import type { Timeouts } from './provider.ts'

const closed = { additionalProperties: false }
const DAY_MS = 86_400_000

const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: DAY_MS, default: fallback, description })
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

/** What an entry may refer to without saying it. */
export interface Surroundings {
  /** Without it there is none. */
  env?: Env
  /** Without it, what is built in. */
  prices?: PriceBook
}

/** What is wrong is told, all of it; the result is of use only where nothing was. */
export function providerSettings(shape: ProviderShape, wrong: Wrong, around: Surroundings = {}): ProviderSettings {
  const { env = {}, prices = BUILT_IN } = around
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
      const at = (field: string, message: string) => wrong(`/models/${index}${field}`, message)
      const settings = modelSettings(model, prices.get(model.id), at)
      return { ...settings, upstream_id: nameAt(protocol, settings) }
    }),
  }
}

/** What says something, and would do nothing. Not refused over the API, where it may be stored by now. */
export function tellIdle({ protocol, responses, models }: ProviderShape, wrong: Wrong): void {
  if (responses && protocol !== 'openai' && protocol !== 'azure')
    wrong('/responses', `responses: true means nothing to the protocol '${protocol}'`)
  for (const [index, { id, upstream_id = id, speaks }] of models.entries())
    if (speaks !== undefined && speaks !== 'converse' && speaks !== spokenAt(protocol, { id, upstream_id, speaks }))
      wrong(`/models/${index}/speaks`, `models: speaks: ${speaks} means nothing to the protocol '${protocol}'`)
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
