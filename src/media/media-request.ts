// What a call for images, sound, rankings or judgements asks for, as far as it decides about money: how many units and
// tokens it may take at the most, and how many it probably will. Fields that say nothing of that are the upstream's to
// judge (R9). Pure.
import { Refusal } from '../core/refusal.ts'
import type { Units } from '../models/unit-price.ts'

export const DEFAULT_MODERATION = 'omni-moderation-latest' // as the protocol has it where a request names none

export type MediaMatter = 'images' | 'image_edits' | 'speech' | 'transcriptions' | 'moderations' | 'rerank'

export type Fields = Readonly<Record<string, unknown>>

/** A file of a form: where it stands, and how it begins. */
export interface AskedFile {
  field: string
  bytes: number
  head: Buffer
}

export interface MediaNeeds {
  choices: number
  /** Undefined: as much as the model can. */
  output_limit: number | undefined
  input_bound: number
  input_estimate: number
  output_estimate: number
  /** At the most. */
  units: Units
  /** Where nobody says how much it was. */
  units_estimate: Units
}

const BYTES_PER_TOKEN_LEAST = 2
const BYTES_PER_TOKEN_USUAL = 4

export function mediaNeeds(kind: MediaMatter, fields: Fields, files: readonly AskedFile[], bytes: number): MediaNeeds {
  const text = {
    input_bound: Math.ceil(bytes / BYTES_PER_TOKEN_LEAST),
    input_estimate: Math.ceil(bytes / BYTES_PER_TOKEN_USUAL),
  }
  if (kind === 'images') return drawing(fields, text, 0)
  if (kind === 'image_edits') return editing(fields, files, text)
  if (kind === 'speech') return speaking(fields, text)
  if (kind === 'transcriptions') return listening(files, text)
  return kind === 'rerank' ? ranking(fields, text) : judging(fields, text)
}

type TextTokens = Pick<MediaNeeds, 'input_bound' | 'input_estimate'>

/** Tokens of a square image in the usual quality, and of one that is looked at. */
const IMAGE_TOKENS_USUAL = 1_056
const IMAGE_TOKENS_BY_QUALITY = new Map<unknown, number>([
  ['low', 272],
  ['high', 4_160],
])
const OBLONG = 1.5
const PREVIEW_TOKENS = 100
const IMAGE_INPUT_MOST = 8_000

function drawing(fields: Fields, text: TextTokens, inputs: number): MediaNeeds {
  const { prompt, n, size, quality } = fields
  if (typeof prompt !== 'string' || prompt === '') throw invalid("'prompt' must be a non-empty string")
  const choices = typeof n === 'number' ? n : 1
  const units: Units = {
    images: choices,
    ...(typeof size === 'string' && { size }),
    ...(typeof quality === 'string' && { quality }),
  }
  return {
    choices,
    output_limit: undefined,
    input_bound: text.input_bound + inputs * IMAGE_INPUT_MOST,
    input_estimate: text.input_estimate + inputs * IMAGE_TOKENS_USUAL,
    output_estimate: choices * imageTokens(fields),
    units,
    units_estimate: units,
  }
}

/** What the models that count images by tokens count. */
function imageTokens({ size, quality, partial_images }: Fields): number {
  const square = IMAGE_TOKENS_BY_QUALITY.get(quality) ?? IMAGE_TOKENS_USUAL
  const [, width, height] = /^(\d+)x(\d+)$/.exec(String(size)) ?? []
  const previews = typeof partial_images === 'number' && partial_images > 0 ? partial_images : 0
  return Math.ceil(square * (width === height ? 1 : OBLONG) + previews * PREVIEW_TOKENS)
}

function editing(fields: Fields, files: readonly AskedFile[], text: TextTokens): MediaNeeds {
  const images = files.filter(({ field }) => field === 'image' || field === 'image[]')
  if (images.length === 0) throw invalid("'image' is required: one or more files of the form")
  return drawing(fields, text, files.length)
}

/** Spoken at the usual pace; at a quarter of it, the slowest that there is, a character takes four times as many. */
const AUDIO_TOKENS_PER_CHARACTER = 1.4
const AUDIO_TOKENS_PER_CHARACTER_MOST = 6

function speaking({ input }: Fields, text: TextTokens): MediaNeeds {
  if (typeof input !== 'string' || input === '') throw invalid("'input' must be a non-empty string")
  let characters = 0
  for (const _one of input) characters++
  return {
    choices: 1,
    output_limit: Math.ceil(characters * AUDIO_TOKENS_PER_CHARACTER_MOST),
    output_estimate: Math.ceil(characters * AUDIO_TOKENS_PER_CHARACTER),
    units: { characters },
    units_estimate: { characters },
    ...text,
  }
}

/** No codec for speech is usual below 4 kbit/s; what people record has about 32. */
const SOUND_BYTES_PER_S_LEAST = 500
const SOUND_BYTES_PER_S_USUAL = 4_000
const SOUND_TOKENS_PER_S_MOST = 20
const SOUND_TOKENS_PER_S_USUAL = 10
const SPOKEN_TOKENS_PER_S = 4

function listening(files: readonly AskedFile[], text: TextTokens): MediaNeeds {
  const [file, second] = files.filter(({ field }) => field === 'file')
  if (!file || second) throw invalid("'file' is required: one file of the form")
  const told_ms = wavMs(file)
  const least_ms = flacMs(file)
  const most_ms = told_ms ?? Math.max(least_ms, Math.ceil((file.bytes * 1_000) / SOUND_BYTES_PER_S_LEAST))
  const usual_ms = told_ms ?? Math.max(least_ms, Math.ceil((file.bytes * 1_000) / SOUND_BYTES_PER_S_USUAL))
  return {
    choices: 1,
    output_limit: undefined,
    input_bound: text.input_bound + Math.ceil((most_ms / 1_000) * SOUND_TOKENS_PER_S_MOST),
    input_estimate: text.input_estimate + Math.ceil((usual_ms / 1_000) * SOUND_TOKENS_PER_S_USUAL),
    output_estimate: Math.ceil((usual_ms / 1_000) * SPOKEN_TOKENS_PER_S),
    units: { audio_ms: most_ms },
    units_estimate: { audio_ms: usual_ms },
  }
}

const WAV_HEAD = 36
/** Whole numbers, fractions, and the two laws of telephones: a sample takes the bits that the head says. */
const UNCOMPRESSED = [1, 3, 6, 7]
const EXTENDED = 0xfffe
const EXTENDED_AT = 44
const BITS_MOST = 64

/**
 * Uncompressed sound says in its head how long it is. Of rates that contradict each other the slowest counts, also that
 * of the samples themselves: decoders go by those, whatever is written beside them.
 */
function wavMs({ head, bytes }: AskedFile): number | undefined {
  if (head.length < WAV_HEAD || head.toString('latin1', 0, 4) !== 'RIFF') return undefined
  if (head.toString('latin1', 8, 16) !== 'WAVEfmt ') return undefined
  const said = head.readUInt16LE(20)
  const format = said === EXTENDED && head.length >= EXTENDED_AT + 2 ? head.readUInt16LE(EXTENDED_AT) : said
  const [channels, samples, bits] = [head.readUInt16LE(22), head.readUInt32LE(24), head.readUInt16LE(34)]
  if (!UNCOMPRESSED.includes(format) || bits > BITS_MOST) return undefined
  const by_samples = samples * channels * Math.ceil(bits / 8)
  const rate = Math.min(head.readUInt32LE(28), samples * head.readUInt16LE(32), by_samples)
  return Math.ceil((bytes * 1_000) / Math.max(rate, SOUND_BYTES_PER_S_LEAST))
}

/** Of silence FLAC keeps next to nothing, so bytes tell little; its head may make a sound longer, never shorter. */
function flacMs({ head }: AskedFile): number {
  if (head.length < FLAC_HEAD || head.toString('latin1', 0, 4) !== 'fLaC') return 0
  const samples_per_s = head.readUInt32BE(18) >>> 12
  const samples = (head.readUInt8(21) & 0x0f) * 2 ** 32 + head.readUInt32BE(22)
  return samples_per_s === 0 ? 0 : Math.ceil((samples * 1_000) / samples_per_s)
}

const FLAC_HEAD = 26
const DOCUMENTS_OF_A_SEARCH = 100
const TOKENS_OF_A_DOCUMENT = 500
const TOKENS_OF_A_DOCUMENT_LEAST = 50

/** A search is a query with up to a hundred documents; what is longer than 500 tokens with it counts as several. */
function ranking({ query, documents }: Fields, text: TextTokens): MediaNeeds {
  if (typeof query !== 'string' || query === '') throw invalid("'query' must be a non-empty string")
  if (!Array.isArray(documents) || documents.length === 0) throw invalid("'documents' must be a non-empty array")
  const asked = Buffer.byteLength(query) / BYTES_PER_TOKEN_LEAST
  const room = Math.max(TOKENS_OF_A_DOCUMENT_LEAST, TOKENS_OF_A_DOCUMENT - asked)
  const tokensIn = (document: unknown) =>
    Buffer.byteLength(typeof document === 'string' ? document : (JSON.stringify(document) ?? ''))
  const pieces = documents.reduce(
    (sum: number, document) => sum + Math.max(1, Math.ceil(tokensIn(document) / BYTES_PER_TOKEN_LEAST / room)),
    0,
  )
  return {
    choices: 1,
    output_limit: 0,
    output_estimate: 0,
    units: { searches: Math.ceil(pieces / DOCUMENTS_OF_A_SEARCH) },
    units_estimate: { searches: Math.ceil(documents.length / DOCUMENTS_OF_A_SEARCH) },
    // The query is read anew with each document.
    input_bound: text.input_bound + Math.ceil(asked) * documents.length,
    input_estimate: text.input_estimate,
  }
}

function judging({ input }: Fields, text: TextTokens): MediaNeeds {
  if (input === undefined || input === null) throw invalid("'input' is required")
  return { choices: 1, output_limit: 0, output_estimate: 0, units: {}, units_estimate: {}, ...text }
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
