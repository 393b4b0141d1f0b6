// The price book: what models are listed at, by id. Built in from price-rows.ts; an operator's price file replaces rows
// of it and adds others (prices-file.ts). Whoever looks a price up is handed the book, with the rest of the settings.
import { type LongPrice, type Price, pricePerMillion } from './price.ts'
import { PRICE_GROUPS, type PriceExtras, type PriceGroup, type PriceRow, type UnitDollars } from './price-rows.ts'
import type { UnitPrices } from './unit-price.ts'
import { UNIT_GROUPS } from './unit-price-rows.ts'

export interface BookedModel {
  id: string
  provider: string
  price: Price
  max_output_tokens: number
  /** Where the price was read, and when: YYYY-MM-DD. */
  source: string
  as_of: string
}

export const BOOKED_GROUPS: readonly PriceGroup[] = [...PRICE_GROUPS, ...UNIT_GROUPS]

const booked = BOOKED_GROUPS.flatMap(({ provider, source, as_of, rows }) =>
  rows.map((row) => ({ id: row[0], provider, price: priceOf(row), max_output_tokens: row[5], source, as_of })),
)

/** The day of the newest row that is built in. */
export const PRICES_AS_OF = booked.reduce((latest, { as_of }) => (as_of > latest ? as_of : latest), '')

/** By the model's id. */
export type PriceBook = ReadonlyMap<string, BookedModel>

export const BUILT_IN: PriceBook = new Map(booked.map((model) => [model.id, model]))

/** What the operator's file says goes before what is built in. */
export const withPrices = (models: readonly BookedModel[]): PriceBook =>
  new Map([...BUILT_IN.values(), ...models].map((model) => [model.id, model]))

function priceOf(row: PriceRow): Price {
  const [id, input, cached, write, output, , extras] = row
  return bookPrice(id, { input, cached, write, output, ...extras })
}

interface Dollars extends PriceExtras {
  input: number
  cached: number
  write: number
  output: number
}

/** Dollars as people write them to what is counted with; throws where one is no price. */
export function bookPrice(id: string, dollars: Dollars): Price {
  const { input, cached, write, output, hour, searches, long, units } = dollars
  const micros = (usd: number) => pricePerMillion(usd, `the price of '${id}'`)
  const price: Price = {
    input: micros(input),
    cached_input: micros(cached),
    cache_write: micros(write),
    output: micros(output),
  }
  if (hour !== undefined) price.cache_write_1h = micros(hour)
  if (searches !== undefined) price.web_search = Math.ceil(micros(searches) / 1_000)
  if (long) price.long = longPrice(price, long)
  if (units) price.units = unitPrices(units, micros)
  return price
}

/** `micros` throws where it is no price. */
export function unitPrices(usd: UnitDollars, micros: (usd: number) => number): UnitPrices {
  const { images, audio_least_s } = usd
  const prices: UnitPrices = {}
  if (images)
    prices.images = images.map(([each, size, quality]) => ({
      micros: micros(each),
      ...(size !== undefined && { size }),
      ...(quality !== undefined && { quality }),
    }))
  for (const name of ['image_input', 'audio_input', 'text_output', 'characters', 'audio_hour', 'searches'] as const) {
    const said = usd[name]
    if (said !== undefined) prices[name] = micros(said)
  }
  if (audio_least_s !== undefined) prices.audio_least_ms = audio_least_s * 1_000
  return prices
}

function longPrice(price: Price, long: NonNullable<PriceExtras['long']>): LongPrice {
  const [above, input_factor, output_factor] = long
  const { input, cached_input, cache_write, cache_write_1h: hour } = price
  const dearer = (micros: number) => Math.ceil(micros * input_factor)
  return {
    above,
    input: dearer(input),
    cached_input: dearer(cached_input),
    cache_write: dearer(cache_write),
    ...(hour !== undefined && { cache_write_1h: dearer(hour) }),
    output: Math.ceil(price.output * output_factor),
  }
}
