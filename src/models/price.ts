// What tokens cost (R42). Prices are whole micro-USD per million tokens: $0.0028 is 2,800. Costs are rounded up once.
import { usdToMicros } from '../core/money.ts'

export interface Price {
  input: number
  /** What the provider takes for input that it found in its cache. */
  cached_input: number
  /** What it takes for writing input into its cache, where it charges for that at all. */
  cache_write: number
  output: number
}

/** How much was worked: `cached` and `written` are parts of `input`. */
export interface Tokens {
  input: number
  cached: number
  written: number
  output: number
}

export interface Cost {
  /** R42: what the generation cost with the provider's cached-input price applied. */
  actual_micros: number
  /** R42: list price with no reuse at all. */
  direct_micros: number
}

const PER_MILLION = 1_000_000

export function costOf(price: Price, { input, cached, written, output }: Tokens): Cost {
  const uncached = Math.max(0, input - cached - written)
  const actual =
    uncached * price.input + cached * price.cached_input + written * price.cache_write + output * price.output
  const direct = input * price.input + output * price.output
  return { actual_micros: roundUp(actual), direct_micros: roundUp(direct) }
}

/** R43: the most that a call can cost: every prompt token at its dearest, every output token that is allowed. */
export function worstCase(price: Price, input_bound: number, output_bound: number): number {
  const input_price = Math.max(price.input, price.cached_input, price.cache_write)
  const most = input_bound * input_price + output_bound * price.output
  // A client may allow any number of tokens: what is beyond counting is more than any limit.
  return Number.isSafeInteger(most) ? roundUp(most) : Number.MAX_SAFE_INTEGER
}

/** R43: how many output tokens `micros` still buys beside the prompt; negative where it does not buy the prompt. */
export function outputFor(price: Price, input_bound: number, micros: number): number {
  const left = micros * PER_MILLION - worstCase(price, input_bound, 0) * PER_MILLION
  if (left < 0) return -1
  return price.output === 0 ? Number.MAX_SAFE_INTEGER : Math.floor(left / price.output)
}

function roundUp(micros_times_million: number): number {
  // Beyond 2^53 the product is no longer exact; nothing of that size is ever asked for, and a wrong bill is worse.
  if (!Number.isSafeInteger(micros_times_million)) throw new Error('a cost beyond what can be counted exactly')
  return Math.ceil(micros_times_million / PER_MILLION)
}

/** Dollars per million tokens, as people write prices. */
export function pricePerMillion(usd: number, what: string): number {
  const micros = usdToMicros(usd)
  if (micros === undefined) throw new Error(`${what} must be between 0 and 9007199254 with at most six decimals`)
  return micros
}
