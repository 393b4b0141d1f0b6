// One model of a provider's entry: its shape, and what it means once defaults and prices are worked out.
import { type Static, Type } from 'typebox'
import { type Price, pricePerMillion } from '../models/price.ts'
import { type BookedModel, unitPrices } from '../models/price-book.ts'
import type { UnitPrices } from '../models/unit-price.ts'
import { unitDollarsOf, unitFields } from '../models/unit-price-shape.ts'
import { SPOKEN, type Spoken } from './platform-settings.ts'

const closed = { additionalProperties: false }

const Tokens = (minimum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum: 100_000_000, description }))
const UsdPerMillion = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))

export const ModelShape = Type.Object(
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

/** Hears what is wrong with a field, which is named as a JSON pointer below the entry. */
export type Wrong = (field: string, message: string) => void

/** What is wrong is told, all of it. `booked`: as the price book has it. */
export function modelSettings(model: ModelShape, booked: BookedModel | undefined, wrong: Wrong): ModelSettings {
  const { id, upstream_id = id, context_length } = model
  const none = unitDollarsOf(model) ? 0 : undefined // images and sound have no length in tokens of text
  const max_output_tokens = model.max_output_tokens ?? booked?.max_output_tokens ?? none
  if (max_output_tokens === undefined) wrong('', `models: '${id}' needs max_output_tokens`)
  const price = priceOf(model, booked, wrong)
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
function priceOf(model: ModelShape, booked: BookedModel | undefined, wrong: Wrong): Price | undefined {
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
  if (booked && [input, output, cached, write, hour, searches].every((stated) => stated === undefined))
    return booked.price
  wrong('', `models: '${id}' needs input_usd_per_million and output_usd_per_million`)
  return undefined
}
