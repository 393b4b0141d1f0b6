// An operator's price file: rows that go before the built-in price book, or beside it. Read with switchyard.yaml, which
// names it (`prices_file`), and compared with the book by `switchyard prices check`.
import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'
import { parse, stringify } from 'yaml'
import { describeInvalid } from '../http/validation-messages.ts'
import { BOOKED_GROUPS, type BookedModel, BUILT_IN, bookPrice } from '../models/price-book.ts'
import type { PriceExtras, PriceGroup } from '../models/price-rows.ts'
import { unitDollarsOf, unitFields, unitFieldsOf } from '../models/unit-price-shape.ts'
import { SettingError } from './setting-text.ts'
import { findingsOf } from './shape-findings.ts'

const closed = { additionalProperties: false }
const Usd = Type.Number({ minimum: 0 })
const Factor = Type.Number({ minimum: 1, maximum: 100 })

const PricedModel = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    provider: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' }),
    input_usd_per_million: Usd,
    cached_input_usd_per_million: Type.Optional(Usd),
    cache_write_usd_per_million: Type.Optional(Usd),
    cache_write_1h_usd_per_million: Type.Optional(Usd),
    output_usd_per_million: Usd,
    web_search_usd_per_thousand: Type.Optional(Usd),
    ...unitFields,
    long_context: Type.Optional(
      Type.Object({ above_tokens: Type.Integer({ minimum: 1 }), input_factor: Factor, output_factor: Factor }, closed),
    ),
    max_output_tokens: Type.Integer({ minimum: 0, maximum: 100_000_000 }),
    source: Type.Optional(Type.String({ minLength: 1, maxLength: 2_048 })),
    as_of: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' })),
  },
  closed,
)
type PricedModel = Static<typeof PricedModel>

const PricesFile = Type.Object(
  {
    source: Type.String({ minLength: 1, maxLength: 2_048 }),
    as_of: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }),
    models: Type.Array(PricedModel, { maxItems: 10_000 }),
  },
  closed,
)

export const readPricesFile = (path: string): BookedModel[] => parsePrices(read(path), path)

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SettingError(`${path}: the price file cannot be read: ${(error as Error).message}.`)
  }
}

/** Throws a SettingError that names every field that is wrong. */
export function parsePrices(text: string, path: string): BookedModel[] {
  const file = parsed(text, path)
  if (!Check(PricesFile, file)) {
    const findings = findingsOf(PricesFile, file)
    throw new SettingError([...new Set(findings.map((one) => `${path}: ${describeInvalid([one])}`))].join('\n'))
  }
  const models = file.models.map((model, at) => bookedFrom(model, file, `${path}: models[${at}]`))
  const twice = models.find(({ id }, at) => models.findIndex((one) => one.id === id) !== at)
  if (twice) throw new SettingError(`${path}: models: '${twice.id}' is there twice`)
  return models
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new SettingError(`${path}: ${(error as Error).message}`)
  }
}

function bookedFrom(model: PricedModel, file: { source: string; as_of: string }, at: string): BookedModel {
  const { id, provider, input_usd_per_million: input, output_usd_per_million: output, max_output_tokens } = model
  const { source = file.source, as_of = file.as_of, long_context: long } = model
  const { cache_write_1h_usd_per_million: hour, web_search_usd_per_thousand: searches } = model
  const { cached_input_usd_per_million: cached = input, cache_write_usd_per_million: write = input } = model
  const units = unitDollarsOf(model)
  const extras: PriceExtras = {
    ...(units && { units }),
    ...(hour !== undefined && { hour }),
    ...(searches !== undefined && { searches }),
    ...(long && { long: [long.above_tokens, long.input_factor, long.output_factor] }),
  }
  try {
    const price = bookPrice(id, { input, cached, write, output, ...extras })
    return { id, provider, price, max_output_tokens, source, as_of }
  } catch (error) {
    throw new SettingError(`${at}: ${(error as Error).message}`)
  }
}

export interface PriceDifference {
  id: string
  /** What is different, in words; `new` where the book does not have the model. */
  told: readonly string[]
}

/** How a file differs from what is built in, model by model. */
export function priceDifferences(models: readonly BookedModel[]): PriceDifference[] {
  return models.flatMap((model) => {
    const built_in = BUILT_IN.get(model.id)
    const told = built_in ? changesOf(built_in, model) : ['new']
    return told.length > 0 ? [{ id: model.id, told }] : []
  })
}

function changesOf(before: BookedModel, after: BookedModel): string[] {
  const flat = (model: BookedModel): Record<string, unknown> => {
    const { long, units, ...price } = model.price
    return {
      provider: model.provider,
      ...price,
      ...(long && { long: JSON.stringify(long) }),
      ...(units && { units: JSON.stringify(units) }),
      max_output_tokens: model.max_output_tokens,
    }
  }
  const [was, is] = [flat(before), flat(after)]
  return Object.keys({ ...was, ...is })
    .filter((name) => was[name] !== is[name])
    .map((name) => `${name} ${shown(is[name])}, in the book ${shown(was[name])}`)
}

const shown = (value: unknown) => (value === undefined ? 'none' : String(value))

/** The built-in book as a price file, to begin with. */
export function pricesFileText(): string {
  const models = BOOKED_GROUPS.flatMap((group) => group.rows.map((row) => fileRow(group, row)))
  return stringify({ source: 'the built-in price book', as_of: latest(), models })
}

const latest = () => BOOKED_GROUPS.reduce((day, { as_of }) => (as_of > day ? as_of : day), '')

function fileRow({ provider, source, as_of }: PriceGroup, row: PriceGroup['rows'][number]): PricedModel {
  const [id, input, cached, write, output, max_output_tokens, { hour, searches, long, units } = {}] = row
  return {
    id,
    provider,
    input_usd_per_million: input,
    cached_input_usd_per_million: cached,
    cache_write_usd_per_million: write,
    ...(hour !== undefined && { cache_write_1h_usd_per_million: hour }),
    output_usd_per_million: output,
    ...(searches !== undefined && { web_search_usd_per_thousand: searches }),
    ...(units && unitFieldsOf(units)),
    ...(long && { long_context: { above_tokens: long[0], input_factor: long[1], output_factor: long[2] } }),
    max_output_tokens,
    source,
    as_of,
  }
}
