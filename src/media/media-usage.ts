// What an answer says that it took: tokens, of which kind, seconds of sound, searches. What cannot be is not used
// (R77). Pure.
import { isGiven } from '../core/given.ts'
import { isTokenCount } from '../models/price.ts'
import type { Units } from '../models/unit-price.ts'
import type { MediaNeeds } from './media-request.ts'

export interface MediaCounts {
  input: number
  output: number
  /** Nobody told the tokens. */
  estimated: boolean
  units: Units
}

/** What an answer has to tell, wherever it stood. */
export interface MediaTold {
  usage?: unknown
  /** Seconds of sound, as a detailed transcription has them. */
  duration?: unknown
  /** Of a ranking. */
  meta?: unknown
  /** How many came. */
  images?: number
}

type Fields = Readonly<Record<string, unknown>>

const SECONDS_MAX = 1_000_000

export function mediaCounts(needs: MediaNeeds, told: MediaTold): MediaCounts {
  const { input_estimate, output_estimate, units_estimate } = needs
  const usage = fieldsOf(told.usage)
  const tokens = tokensIn(usage)
  const units: Units = { ...units_estimate, ...partsIn(usage, tokens) }
  if (units_estimate.images !== undefined) units.images = Math.min(told.images ?? needs.choices, needs.choices)
  const audio_ms = soundIn(usage, told.duration)
  if (units_estimate.audio_ms !== undefined && audio_ms !== undefined) units.audio_ms = audio_ms
  const searches = searchesIn(told.meta)
  if (units_estimate.searches !== undefined && searches !== undefined) units.searches = searches
  if (tokens) return { ...tokens, estimated: false, units }
  // What has another measure is told by that, and its tokens are nobody's.
  const is_measured = audio_ms !== undefined || searches !== undefined
  if (is_measured) return { input: 0, output: 0, estimated: false, units }
  return { input: input_estimate, output: output_estimate, estimated: true, units }
}

const COUNTS = ['input_tokens', 'prompt_tokens', 'output_tokens', 'completion_tokens', 'total_tokens', 'seconds']
const DETAILS = ['input_tokens_details', 'input_token_details', 'output_tokens_details', 'output_token_details']
const PARTS = ['image_tokens', 'audio_tokens', 'text_tokens']

/** Several events of a stream each tell their own. Nothing else is kept of them: there may be any number of both. */
export function addedUsage(before: unknown, usage: unknown): Fields {
  const [had, more] = [fieldsOf(before), fieldsOf(usage)]
  const sum: Record<string, unknown> = addedCounts(COUNTS, had, more)
  for (const name of DETAILS)
    if (isGiven(had[name]) || isGiven(more[name]))
      sum[name] = addedCounts(PARTS, fieldsOf(had[name]), fieldsOf(more[name]))
  return sum
}

function addedCounts(names: readonly string[], had: Fields, more: Fields): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const name of names) {
    const told = [had[name], more[name]].filter(isGiven).map(countOf)
    if (told.length > 0) sum[name] = told.reduce((one, other) => one + other)
  }
  return sum
}

/** One that cannot be makes a sum that cannot be. */
const countOf = (value: unknown) => (Number(value) >= 0 ? Number(value) : Number.NaN)

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** Rankings tell only the sum, all of which went in. */
function tokensIn(usage: Fields): Pick<MediaCounts, 'input' | 'output'> | undefined {
  const total = usage.total_tokens
  const input = usage.input_tokens ?? usage.prompt_tokens ?? total
  const output = usage.output_tokens ?? usage.completion_tokens ?? 0
  return isTokenCount(input) && isTokenCount(output) ? { input, output } : undefined
}

/** Tokens that have a price of their own; no part is more than the whole. */
function partsIn(usage: Fields, tokens: Pick<MediaCounts, 'input' | 'output'> | undefined): Units {
  if (!tokens) return {}
  const input = fieldsOf(usage.input_tokens_details ?? usage.input_token_details)
  const output = fieldsOf(usage.output_tokens_details ?? usage.output_token_details)
  const part = (value: unknown, whole: number) => (isTokenCount(value) && value <= whole ? value : 0)
  const image_input_tokens = part(input.image_tokens, tokens.input)
  const audio_input_tokens = part(input.audio_tokens, tokens.input - image_input_tokens)
  const text_output_tokens = part(output.text_tokens, tokens.output)
  return {
    ...(image_input_tokens > 0 && { image_input_tokens }),
    ...(audio_input_tokens > 0 && { audio_input_tokens }),
    ...(text_output_tokens > 0 && { text_output_tokens }),
  }
}

function soundIn(usage: Fields, duration: unknown): number | undefined {
  const seconds = Number(usage.seconds ?? duration ?? Number.NaN)
  return seconds >= 0 && seconds <= SECONDS_MAX ? Math.ceil(seconds * 1_000) : undefined
}

function searchesIn(meta: unknown): number | undefined {
  const { search_units } = fieldsOf(fieldsOf(meta).billed_units)
  return isTokenCount(search_units) ? search_units : undefined
}
