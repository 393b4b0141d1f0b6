// Models that draw, speak, listen, rank and judge, with prices that are easy to reckon with, and what an upstream of
// theirs says.
import type { ServerResponse } from 'node:http'
import type { Recorded, TestUpstream } from './upstream.ts'

export const MODERATION = 'omni-moderation-latest'

/** $0.04 an image of 1024x1024, $0.08 any other; 15 micros a character; 100 a second; 2,000 a search. */
export const mediaConfig = (one: TestUpstream, two: TestUpstream) => {
  const models = [
    { id: 'draw', image_prices: [{ usd: 0.04, size: '1024x1024' }, { usd: 0.08 }] },
    {
      id: 'draw-tokens',
      input_usd_per_million: 1,
      output_usd_per_million: 2,
      image_input_usd_per_million: 3,
      max_output_tokens: 1_000,
    },
    { id: 'say', speech_usd_per_million_characters: 15 },
    { id: 'hear', audio_usd_per_hour: 0.36 },
    { id: 'hear-tokens', input_usd_per_million: 1, output_usd_per_million: 2, max_output_tokens: 1_000 },
    { id: 'rank', rerank_usd_per_thousand: 2 },
    { id: MODERATION },
  ]
  const common = { api_key: 'sk-upstream', byok: true }
  return {
    providers: [
      { id: 'first', ...common, base_url: one.base_url, models },
      { id: 'second', ...common, base_url: two.base_url, models },
      { id: 'open', api_key: 'sk-upstream', base_url: one.base_url, unlisted_models: true },
    ],
  }
}

/** What the upstream answers with, by hand. */
export const answering = (content_type: string, ...parts: (Buffer | string)[]) => ({
  respond(_request: Recorded, response: ServerResponse) {
    response.writeHead(200, { 'content-type': content_type })
    for (const part of parts) response.write(part)
    response.end()
  },
})

export const event = (one: { type: string; [field: string]: unknown }) =>
  `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`

/** Silence: next to nothing is left of it, however long. */
export function flac(seconds: number, rate = 8_000): Buffer {
  const bytes = Buffer.alloc(200)
  bytes.write('fLaC', 0, 'latin1')
  bytes.writeUInt32BE(0x8000_0022, 4)
  bytes.writeUInt32BE(((rate << 12) | 0x0f0) >>> 0, 18)
  bytes.writeUInt32BE(seconds * rate, 22)
  return bytes
}

/** Sound without compression, of so many seconds. */
export function wav(seconds: number, rate = 8_000): Buffer {
  const bytes = Buffer.alloc(44 + seconds * rate, 0x80)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(rate, 28)
  bytes.writeUInt16LE(1, 32)
  bytes.writeUInt16LE(8, 34)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(bytes.length - 44, 40)
  return bytes
}
