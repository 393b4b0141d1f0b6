// List prices of models that draw, speak, listen, rank or judge, with where and when each was read. In USD: images
// each, tokens and characters per million, sound by the hour, searches per thousand.
import type { PriceGroup, PriceRow, UnitDollars } from './price-rows.ts'

/** Where the vendor's own page could not be read: its source says so. */
const CATALOGUE =
  'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json (a catalogue, not the vendor’s page)'
const CATALOGUE_AS_OF = '2026-08-08'
/** The day on which pages of vendors were read; copies of them, which bear no date of their own. */
const READ_ON = '2026-11-17'

/** The most tokens that one image has. */
const IMAGE_TOKENS_MOST = 8_192

type DrawnUsd = [text: number, cached: number, image: number, output: number]

/** By tokens: of text in, of text in that was cached, of images in, of images out. */
function drawn(id: string, usd: DrawnUsd, text_output?: number) {
  const [text, cached, image_input, output] = usd
  const units: UnitDollars = { image_input, ...(text_output !== undefined && { text_output }) }
  const row: PriceRow = [id, text, cached, text, output, IMAGE_TOKENS_MOST, { units }]
  return row
}

/** By nothing but units. */
const counted = (id: string, units: UnitDollars): PriceRow => [id, 0, 0, 0, 0, 0, { units }]

const free = (id: string): PriceRow => [id, 0, 0, 0, 0, 0]

/** OpenAI has a page for each. */
const atOpenai = (row: PriceRow): PriceGroup => ({
  provider: 'openai',
  source: `https://developers.openai.com/api/docs/models/${row[0]}`,
  as_of: READ_ON,
  rows: [row],
})

const inCatalogue = (provider: string, rows: readonly PriceRow[]): PriceGroup => ({
  provider,
  source: CATALOGUE,
  as_of: CATALOGUE_AS_OF,
  rows,
})

const OPENAI_READ: readonly PriceRow[] = [
  drawn('gpt-image-1', [5, 1.25, 10, 40]),
  drawn('gpt-image-1-mini', [2, 0.2, 2.5, 8]),
  counted('tts-1', { characters: 15 }),
  counted('tts-1-hd', { characters: 30 }),
  ['gpt-4o-mini-transcribe', 1.25, 1.25, 1.25, 5, 2_000],
  ['gpt-4o-transcribe', 2.5, 2.5, 2.5, 10, 2_000],
  counted('whisper-1', { audio_hour: 0.36 }),
]

export const UNIT_GROUPS: readonly PriceGroup[] = [
  ...OPENAI_READ.map(atOpenai),
  inCatalogue('openai', [
    drawn('gpt-image-1.5', [5, 1.25, 8, 32], 10),
    drawn('gpt-image-2', [5, 1.25, 8, 30], 10),
    counted('dall-e-2', {
      images: [
        [0.016, '256x256'],
        [0.018, '512x512'],
        [0.02, '1024x1024'],
      ],
    }),
    counted('dall-e-3', {
      images: [
        [0.04, '1024x1024', 'standard'],
        [0.08, '1024x1792', 'standard'],
        [0.08, '1792x1024', 'standard'],
        [0.08, '1024x1024', 'hd'],
        [0.12, '1024x1792', 'hd'],
        [0.12, '1792x1024', 'hd'],
      ],
    }),
    ['gpt-4o-mini-tts', 2.5, 2.5, 2.5, 12, 2_000],
    ['gpt-4o-transcribe-diarize', 2.5, 2.5, 2.5, 10, 2_000],
    free('omni-moderation-2024-09-26'),
    free('omni-moderation-latest'),
    free('text-moderation-latest'),
  ]),
  {
    provider: 'groq',
    source: 'https://console.groq.com/docs/speech-text',
    as_of: READ_ON,
    rows: [
      counted('whisper-large-v3', { audio_hour: 0.111, audio_least_s: 10 }),
      counted('whisper-large-v3-turbo', { audio_hour: 0.04, audio_least_s: 10 }),
    ],
  },
  inCatalogue('groq', [counted('playai-tts', { characters: 50 })]),
  inCatalogue('gemini', [
    counted('imagen-4.0-fast-generate-001', { images: [[0.02]] }),
    counted('imagen-4.0-generate-001', { images: [[0.04]] }),
    counted('imagen-4.0-ultra-generate-001', { images: [[0.06]] }),
  ]),
  inCatalogue('cohere', [
    counted('rerank-english-v3.0', { searches: 2 }),
    counted('rerank-multilingual-v3.0', { searches: 2 }),
    counted('rerank-v3.5', { searches: 2 }),
  ]),
  inCatalogue('jina', [['jina-reranker-v2-base-multilingual', 0.018, 0.018, 0.018, 0, 0]]),
  inCatalogue('voyage', [
    ['rerank-2.5', 0.05, 0.05, 0.05, 0, 0],
    ['rerank-2.5-lite', 0.02, 0.02, 0.02, 0, 0],
  ]),
]
