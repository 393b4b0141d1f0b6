// What is not counted in tokens of text (R42): images, characters that are spoken, seconds of sound, searches, and
// tokens of images or sound that have a price of their own. Costs are exact, in millionths of a micro-USD. Pure.

export interface UnitPrices {
  /** Micro-USD for one image; the dearest row counts where none fits what was asked for. */
  images?: ImagePrice[]
  /** Micro-USD per million tokens of images in the input; else they cost what other input costs. */
  image_input?: number
  /** The same of sound. */
  audio_input?: number
  /** Micro-USD per million tokens of text in the output, where `output` is the price of images. */
  text_output?: number
  /** Micro-USD per million characters that are spoken. */
  characters?: number
  /** Micro-USD for an hour of sound that is listened to. */
  audio_hour?: number
  /** No call counts for less sound than this. */
  audio_least_ms?: number
  /** Micro-USD per thousand searches. */
  searches?: number
}

export interface ImagePrice {
  /** Undefined: of any. */
  size?: string
  quality?: string
  micros: number
}

/** How much a call took, or may take. The token counts are parts of its input and its output. */
export interface Units {
  images?: number
  size?: string
  quality?: string
  image_input_tokens?: number
  audio_input_tokens?: number
  text_output_tokens?: number
  characters?: number
  audio_ms?: number
  searches?: number
}

const PER_MILLION = 1_000_000
const HOUR_MS = 3_600_000

/** A text, so many parts of which at this price: what `costOf` adds up beside tokens. */
export type UnitPart = [amount: number, price: number]

/** `input` and `output` are what tokens cost that have no price of their own. */
export function unitParts(prices: UnitPrices, units: Units, { input, output }: TokenPrices): UnitPart[] {
  const { images = 0, characters = 0, audio_ms, searches = 0 } = units
  const parts: UnitPart[] = [
    [images * PER_MILLION, imagePrice(prices.images ?? [], units)],
    [units.image_input_tokens ?? 0, (prices.image_input ?? input) - input],
    [units.audio_input_tokens ?? 0, (prices.audio_input ?? input) - input],
    [units.text_output_tokens ?? 0, (prices.text_output ?? output) - output],
    [characters, prices.characters ?? 0],
    [searches * 1_000, prices.searches ?? 0],
  ]
  if (audio_ms !== undefined && prices.audio_hour !== undefined) parts.push([1, soundCost(prices, audio_ms)])
  return parts
}

interface TokenPrices {
  input: number
  output: number
}

/** Rounded up to a millionth of a micro, which the rounding of the whole to a micro cannot notice. */
function soundCost({ audio_hour = 0, audio_least_ms = 0 }: UnitPrices, audio_ms: number): number {
  const ms = Math.max(audio_ms, audio_least_ms)
  return Number((BigInt(ms) * BigInt(audio_hour) * BigInt(PER_MILLION) + BigInt(HOUR_MS - 1)) / BigInt(HOUR_MS))
}

function imagePrice(rows: readonly ImagePrice[], { size, quality }: Units): number {
  const fitting = rows.filter(
    (row) => (row.size === undefined || row.size === size) && (row.quality === undefined || row.quality === quality),
  )
  const counted = fitting.length > 0 ? [closest(fitting)] : rows
  return counted.reduce((most, { micros }) => Math.max(most, micros), 0)
}

/** The one that says most of what it is for. */
const closest = (rows: readonly ImagePrice[]): ImagePrice =>
  rows.reduce((best, row) => (said(row) > said(best) ? row : best))

const said = ({ size, quality }: ImagePrice) => (size === undefined ? 0 : 2) + (quality === undefined ? 0 : 1)

/** The dearest that a token of the input may be. */
export const dearestInput = ({ image_input = 0, audio_input = 0 }: UnitPrices) => Math.max(image_input, audio_input)
