// What an imported model costs: as its own file says, as a table of prices beside it says, or as our price book does.
import { BOOKED_GROUPS } from '../models/price-book.ts'
import type { PriceRow } from '../models/price-rows.ts'
import { unitFieldsOf } from '../models/unit-price-shape.ts'
import type { PlannedModel } from './import-plan.ts'

/** Per token, as the other gateway writes them. Absent ones are unknown. */
export interface TokenCosts {
  input?: number | undefined
  output?: number | undefined
  cache_read?: number | undefined
  cache_write?: number | undefined
  max_output_tokens?: number | undefined
  mode?: string | undefined
}

/** A table such as LiteLLM's model_prices_and_context_window.json. */
export type PriceTable = Readonly<Record<string, unknown>>

export interface PriceQuestion {
  /** What clients call it. */
  id: string
  upstream_id: string
  /** Under which names a table may have it, best first. */
  known_as: readonly string[]
  costs: TokenCosts
  table: PriceTable
  is_own: boolean
}

export interface PriceFound {
  fields: Omit<PlannedModel, 'id' | 'upstream_id'>
  /** What whoever imports should know of it. */
  told?: string
}

const OUTPUT_USUAL = 16_384

const WRITES_NOTHING = ['embedding', 'rerank', 'moderation']

/** Undefined where nobody knows what it costs. */
export function priceFound(question: PriceQuestion): PriceFound | undefined {
  const { id, known_as, costs, table, is_own } = question
  if (costs.input !== undefined || costs.output !== undefined) return stated(costs)
  const row = known_as.map(bookedRow).find((one) => one !== undefined)
  if (row) return row[0] === id ? { fields: sizes(costs) } : booked(row, costs)
  const listed = known_as.map((name) => inTable(table, name)).find((one) => one !== undefined)
  if (listed) return stated({ ...listed, ...defined(costs) })
  if (!is_own) return undefined
  return { ...stated({ ...costs, input: 0, output: 0 }), told: 'has no price: 0 is written, so no budget counts it' }
}

function stated(costs: TokenCosts): PriceFound {
  const { input = 0, output = 0, cache_read, cache_write, mode } = costs
  const is_silent = output === 0 && WRITES_NOTHING.includes(mode ?? '')
  const max_output_tokens = is_silent ? 0 : costs.max_output_tokens
  const fields = {
    input_usd_per_million: perMillion(input),
    ...(cache_read !== undefined && { cached_input_usd_per_million: perMillion(cache_read) }),
    ...(cache_write !== undefined && { cache_write_usd_per_million: perMillion(cache_write) }),
    output_usd_per_million: perMillion(output),
    ...sizes({ ...costs, max_output_tokens: max_output_tokens ?? OUTPUT_USUAL }),
  }
  if (max_output_tokens !== undefined) return { fields }
  return { fields, told: `does not say how much it can answer: max_output_tokens is ${OUTPUT_USUAL}` }
}

function booked(row: PriceRow, costs: TokenCosts): PriceFound {
  const [upstream_id, input, cached, write, output, max_output_tokens, { hour, searches, long, units } = {}] = row
  const fields = {
    input_usd_per_million: input,
    cached_input_usd_per_million: cached,
    cache_write_usd_per_million: write,
    ...(hour !== undefined && { cache_write_1h_usd_per_million: hour }),
    output_usd_per_million: output,
    ...(searches !== undefined && { web_search_usd_per_thousand: searches }),
    ...(units && unitFieldsOf(units)),
    ...sizes({ ...costs, max_output_tokens: costs.max_output_tokens ?? max_output_tokens }),
  }
  if (!long) return { fields }
  return { fields, told: `prompts above ${long[0]} tokens are dearer, which only the name '${upstream_id}' knows` }
}

const sizes = ({ max_output_tokens }: TokenCosts) => ({
  ...(max_output_tokens !== undefined && { max_output_tokens }),
})

/** Six decimals, which is as fine as prices are here. */
const perMillion = (usd_per_token: number) => Math.round(usd_per_token * 1e12) / 1e6

const bookedRow = (name: string): PriceRow | undefined =>
  BOOKED_GROUPS.flatMap(({ rows }) => rows).find(([id]) => id === name)

/** The models of a provider that the price book has. */
export const bookedModels = (provider: string): string[] =>
  BOOKED_GROUPS.filter((group) => group.provider === provider).flatMap(({ rows }) => rows.map(([id]) => id))

export const bookedProvider = (name: string): string | undefined =>
  BOOKED_GROUPS.find(({ rows }) => rows.some(([id]) => id === name))?.provider

function inTable(table: PriceTable, name: string): TokenCosts | undefined {
  const entry = Object.hasOwn(table, name) ? (table[name] as Record<string, unknown> | null) : undefined
  if (typeof entry !== 'object' || entry === null) return undefined
  const number = (field: string) => {
    const value = entry[field]
    return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined
  }
  const input = number('input_cost_per_token')
  if (input === undefined) return undefined
  return {
    input,
    output: number('output_cost_per_token') ?? 0,
    cache_read: number('cache_read_input_token_cost'),
    cache_write: number('cache_creation_input_token_cost'),
    max_output_tokens: number('max_output_tokens') ?? number('max_tokens'),
    mode: typeof entry.mode === 'string' ? entry.mode : undefined,
  }
}

const defined = (costs: TokenCosts): TokenCosts =>
  Object.fromEntries(Object.entries(costs).filter(([, value]) => value !== undefined))
