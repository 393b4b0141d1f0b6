// What tokens cost (R42). Prices are whole micro-USD per million tokens: $0.0028 is 2,800. Costs are rounded up once.
import { usdToMicros } from '../core/money.ts'
import { dearestInput, type UnitPrices, type Units, unitParts } from './unit-price.ts'

export interface Price {
  input: number
  /** What the provider takes for input that it found in its cache. */
  cached_input: number
  /** What it takes for writing input into its cache, where it charges for that at all. */
  cache_write: number
  /** The same for a whole hour, where it offers that; its price is then another (R76). */
  cache_write_1h?: number
  output: number
  /** Micro-USD for one search of the web that the provider runs, where it offers that. */
  web_search?: number
  /** Of a prompt with more tokens than `above`, where the provider has another price for it: of all that it takes. */
  long?: LongPrice
  /** Of what is not counted in tokens of text. */
  units?: UnitPrices
}

export interface LongPrice {
  above: number
  input: number
  cached_input: number
  cache_write: number
  cache_write_1h?: number
  output: number
}

/** What holds for a prompt of so many tokens. */
const rateFor = (price: Price, input: number): Price =>
  price.long && input > price.long.above ? { ...price, ...price.long } : price

/** How much was worked: `cached` and `written` are parts of `input`, and `written_1h` is a part of `written`. */
export interface Tokens {
  input: number
  cached: number
  written: number
  written_1h?: number
  output: number
  /** Of the web, run by the provider. */
  searches?: number
  /** Of a call whose matter is images, sound or searches. */
  units?: Units
}

/** R77: nobody counts more in one generation; what says so has counted nothing. */
const COUNT_MAX = 1_000_000_000

export const isTokenCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= COUNT_MAX

export interface Cost {
  /** R42: what the generation cost with the provider's cached-input price applied. */
  actual_micros: number
  /** R42: list price with no reuse at all. */
  direct_micros: number
}

const PER_MILLION = 1_000_000

export function costOf(listed: Price, tokens: Tokens): Cost {
  if (tokens.units) return costWithUnits(listed, tokens, tokens.units)
  const price = rateFor(listed, tokens.input)
  const { input, cached, written, written_1h = 0, output, searches = 0 } = tokens
  const { cache_write, cache_write_1h = cache_write, web_search = 0 } = price
  const searched = searches * web_search * PER_MILLION
  const uncached = Math.max(0, input - cached - written)
  const reused = cached * price.cached_input + (written - written_1h) * cache_write + written_1h * cache_write_1h
  const said = output * price.output + searched
  const actual = uncached * price.input + reused + said
  const direct = input * price.input + said
  if (Number.isSafeInteger(actual) && Number.isSafeInteger(direct))
    return { actual_micros: roundUp(actual), direct_micros: roundUp(direct) }
  const plain: Part[] = [
    [output, price.output],
    [searches * PER_MILLION, web_search],
  ]
  const parts: Part[] = [
    [cached, price.cached_input],
    [written - written_1h, cache_write],
    [written_1h, cache_write_1h],
  ]
  return {
    actual_micros: exactly([...plain, [uncached, price.input], ...parts]),
    direct_micros: exactly([...plain, [input, price.input]]),
  }
}

/** Nothing of it is found in a cache for less. */
function costWithUnits(price: Price, { input, output }: Tokens, units: Units): Cost {
  const tokens: Part[] = [
    [input, price.input],
    [output, price.output],
  ]
  const micros = exactly([...tokens, ...unitParts(price.units ?? {}, units, price)])
  return { actual_micros: micros, direct_micros: micros }
}

/** The same before it is known what it takes: every token of the input at its dearest. */
export const unitsCost = (price: Price, units: Units): number =>
  exactly(unitParts(price.units ?? {}, { ...units, image_input_tokens: 0, audio_input_tokens: 0 }, price))

/** So many tokens at this price. */
type Part = [tokens: number, price: number]

/** Beyond 2^53 products are no longer exact, and a wrong bill is worse than a slow one. */
function exactly(parts: readonly Part[]): number {
  const sum = parts.reduce((total, [tokens, price]) => total + BigInt(tokens) * BigInt(price), 0n)
  const micros = Number((sum + BigInt(PER_MILLION) - 1n) / BigInt(PER_MILLION))
  if (!Number.isSafeInteger(micros)) throw new Error('a cost beyond what can be counted exactly')
  return micros
}

/** R43: the most that a call can cost: every prompt token at its dearest, every output token that is allowed. */
export function worstCase(listed: Price, input_bound: number, output_bound: number): number {
  const price = rateFor(listed, input_bound)
  const of_text = Math.max(price.input, price.cached_input, price.cache_write)
  const input_price = price.units ? Math.max(of_text, dearestInput(price.units)) : of_text
  const most = input_bound * input_price + output_bound * price.output
  // A client may allow any number of tokens: what is beyond counting is more than any limit.
  return Number.isSafeInteger(most) ? roundUp(most) : Number.MAX_SAFE_INTEGER
}

/** R43: how many output tokens `micros` still buys beside the prompt; negative where it does not buy the prompt. */
export function outputFor(listed: Price, input_bound: number, micros: number): number {
  const price = rateFor(listed, input_bound)
  const left = micros * PER_MILLION - worstCase(price, input_bound, 0) * PER_MILLION
  if (left < 0) return -1
  return price.output === 0 ? Number.MAX_SAFE_INTEGER : Math.floor(left / price.output)
}

const roundUp = (micros_times_million: number) => Math.ceil(micros_times_million / PER_MILLION)

/** Dollars per million tokens, as people write prices. */
export function pricePerMillion(usd: number, what: string): number {
  const micros = usdToMicros(usd)
  if (micros === undefined) throw new Error(`${what} must be between 0 and 9007199254 with at most six decimals`)
  return micros
}
