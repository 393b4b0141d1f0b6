// The stand-in's images, sound, judgements and rankings: an empty picture, silence, nothing harmful, and the documents
// in the order in which they came. Forms are not read by it.
import type { Identity } from './placeholder-chat.ts'
import type { Body } from './placeholder-output.ts'

/** One transparent point. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=='

export const images = ({ n }: Body, { created }: Identity) => ({
  created,
  data: Array.from({ length: typeof n === 'number' ? n : 1 }, () => ({ b64_json: PICTURE })),
})

const CATEGORIES = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent', 'self-harm'],
  ...['self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors', 'violence', 'violence/graphic'],
]
const withEach = <T>(value: T) => Object.fromEntries(CATEGORIES.map((name) => [name, value]))

/** A list of texts is judged text by text; one of parts, as a whole. */
export function moderation({ input, model }: Body, { newId }: Identity) {
  const judged = Array.isArray(input) && input.every((one) => typeof one === 'string') ? input.length : 1
  const result = { flagged: false, categories: withEach(false), category_scores: withEach(0) }
  return { id: newId('modr-'), model: model ?? 'placeholder', results: Array.from({ length: judged }, () => result) }
}

export function ranking({ documents, top_n, model }: Body, { newId }: Identity) {
  const all = Array.isArray(documents) ? documents : []
  const results = all.map((_, index) => ({ index, relevance_score: 1 / (index + 1) }))
  return { id: newId('rerank-'), model, results: results.slice(0, typeof top_n === 'number' ? top_n : undefined) }
}

const RATE = 8_000

/** A tenth of a second of silence, as WAV. */
export function silence(): Buffer {
  const samples = Buffer.alloc(RATE / 10, 0x80)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE, 24)
  head.writeUInt32LE(RATE, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
