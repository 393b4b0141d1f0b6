import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costOf, type Price, unitsCost, worstCase } from './price.ts'
import { BUILT_IN } from './price-book.ts'
import type { Units } from './unit-price.ts'

const booked = (id: string) => BUILT_IN.get(id)?.price as Price
const NO_TOKENS = { input: 0, cached: 0, written: 0, output: 0 }
const cost = (id: string, units: Units, tokens: object = {}) =>
  costOf(booked(id), { ...NO_TOKENS, ...tokens, units }).actual_micros

test.each([
  ['an image by size and quality', 'dall-e-3', { images: 2, size: '1024x1024', quality: 'hd' }, {}, 160_000],
  ['an image of a size that is not listed: the dearest', 'dall-e-3', { images: 1, size: '1x1' }, {}, 120_000],
  ['an image of any size', 'imagen-4.0-generate-001', { images: 3, size: '1024x1024' }, {}, 120_000],
  ['tokens of images in', 'gpt-image-1', { images: 1, image_input_tokens: 100 }, { input: 300, output: 1_000 }, 42_000],
  ['tokens of text out', 'gpt-image-1.5', { text_output_tokens: 100 }, { input: 0, output: 1_100 }, 33_000],
  ['characters', 'tts-1', { characters: 4_096 }, {}, 61_440],
  ['a second of sound', 'whisper-1', { audio_ms: 1_000 }, {}, 100],
  ['a part of a micro counts as one', 'whisper-1', { audio_ms: 1 }, {}, 1],
  ['the least that a call counts for', 'whisper-large-v3-turbo', { audio_ms: 1 }, {}, 112],
  ['an hour of sound', 'whisper-large-v3', { audio_ms: 3_600_000 }, {}, 111_000],
  ['searches', 'rerank-v3.5', { searches: 3 }, {}, 6_000],
  ['judgements, which are free', 'omni-moderation-latest', {}, { input: 1_000 }, 0],
])('R42 %s', (_what, id, units, tokens, micros) => {
  expect(cost(id, units, tokens)).toBe(micros)
})

test('R43 what is held before covers what is charged after, whatever the units are', () => {
  const ids = [...BUILT_IN.values()].filter(({ price }) => price.units).map(({ id }) => id)
  const amount = fc.nat(1_000_000)
  const counted = { images: amount, characters: amount, audio_ms: amount, searches: amount }
  fc.assert(
    fc.property(
      fc.constantFrom(...ids),
      fc.record(counted),
      amount,
      amount,
      fc.double({ min: 0, max: 1 }),
      (id, ...of) => {
        const [units, input, output, share] = of as [Units, number, number, number]
        const price = booked(id)
        const parts = { ...units, image_input_tokens: Number.isNaN(share) ? 0 : Math.floor(input * share) }
        const held = worstCase(price, input, output) + unitsCost(price, units)
        expect(held).toBeGreaterThanOrEqual(cost(id, parts, { input, output }))
      },
    ),
    { numRuns: 300 },
  )
})

test('planted: a unit whose price is dropped costs less than the list says', () => {
  const { units: _dropped, ...price } = booked('tts-1')
  expect(costOf(price, { ...NO_TOKENS, units: { characters: 4_096 } }).actual_micros).not.toBe(61_440)
})
