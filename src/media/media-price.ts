// Whether a price tells what a call for images, sound or rankings costs, and what is to be set where it does not. Pure.
import type { Price } from '../models/price.ts'
import type { MediaMatter } from './media-request.ts'

/** A model that is priced by units alone is priced for those units alone; one that is free of charge, for all. */
export function pricesMatter(kind: MediaMatter, { input, output, units }: Price): boolean {
  if (!units || input > 0 || output > 0 || kind === 'moderations') return true
  if (kind === 'speech') return units.characters !== undefined
  if (kind === 'transcriptions') return units.audio_hour !== undefined
  return kind === 'rerank' ? units.searches !== undefined : units.images !== undefined
}

const TOKENS = "or with 'input_usd_per_million', 'output_usd_per_million' and 'max_output_tokens'"

export const PRICED_BY: Readonly<Record<MediaMatter, string>> = {
  images: `'image_prices', ${TOKENS}`,
  image_edits: `'image_prices', ${TOKENS}`,
  speech: `'speech_usd_per_million_characters', ${TOKENS}`,
  transcriptions: `'audio_usd_per_hour', ${TOKENS}`,
  moderations: "'input_usd_per_million: 0' and 'output_usd_per_million: 0'",
  rerank: `'rerank_usd_per_thousand', ${TOKENS}`,
}
