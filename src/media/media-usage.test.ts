import { expect, test } from 'vitest'
import { mediaNeeds } from './media-request.ts'
import { mediaCounts } from './media-usage.ts'

const drawing = mediaNeeds('images', { prompt: 'x', n: 2 }, [], 40)
const drawnAs = (more: object) => mediaNeeds('images', { prompt: 'x', ...more }, [], 40).output_estimate

test.each([
  [{}, 1_056],
  [{ quality: 'low' }, 272],
  [{ quality: 'high', n: 2 }, 8_320],
  [{ quality: 'high', size: '1024x1536' }, 6_240],
  [{ size: '1024x1024', stream: true, partial_images: 3 }, 1_356],
])('R77 where nobody tells the tokens of an image, %j is %i', (more, tokens) => {
  expect(drawnAs(more)).toBe(tokens)
})

const listening = mediaNeeds('transcriptions', {}, [{ field: 'file', bytes: 4_000, head: Buffer.alloc(0) }], 0)
const ranking = mediaNeeds('rerank', { query: 'x', documents: ['y'] }, [], 40)

test.each([
  ['no more images than were asked for', drawing, { images: 9 }, { units: { images: 2 }, estimated: true, input: 10 }],
  ['none that came', drawing, { images: 0 }, { units: { images: 0 } }],
  [
    'tokens that cannot be',
    drawing,
    { images: 2, usage: { input_tokens: -1, output_tokens: 3 } },
    { estimated: true, output: 2_112 },
  ],
  [
    'a part that is more than the whole',
    drawing,
    { images: 2, usage: { input_tokens: 5, output_tokens: 3, input_tokens_details: { image_tokens: 6 } } },
    { input: 5, output: 3, units: { images: 2 } },
  ],
  [
    'seconds',
    listening,
    { usage: { type: 'duration', seconds: 1.2 } },
    { units: { audio_ms: 1_200 }, estimated: false },
  ],
  ['seconds that cannot be', listening, { duration: 'long' }, { units: { audio_ms: 1_000 }, estimated: true }],
  ['a sum of tokens', ranking, { usage: { total_tokens: 9 } }, { input: 9, output: 0, units: { searches: 1 } }],
  ['searches', ranking, { meta: { billed_units: { search_units: 4 } } }, { units: { searches: 4 }, estimated: false }],
])('R77 %s', (_what, needs, told, counts) => {
  expect(mediaCounts(needs, told)).toMatchObject(counts)
})
