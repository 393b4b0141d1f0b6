// §4.9: the recompute cost fitted from calls: near the truth they were made from, and silent where they do not agree.
import { expect, test } from 'vitest'
import { fitPrefill, type PrefillSample } from './prefill-fit.ts'

/** The same for the same seed. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const TRUE_MS_PER_TOKEN = 0.05
const TRUE_FIXED_MS = 40

/** 500 calls of 500 to 60,000 tokens; noise of 15 %, and one in ten met a queue or hung. */
function calls(count: number, seed: number): PrefillSample[] {
  const next = random(seed)
  return Array.from({ length: count }, () => {
    const uncached_tokens = Math.round(500 + 59_500 * next() ** 2)
    const truth = TRUE_FIXED_MS + TRUE_MS_PER_TOKEN * uncached_tokens
    const noise = 1 + 0.15 * (next() + next() + next() - 1.5)
    return { uncached_tokens, prefill_ms: truth * noise * (next() < 0.1 ? 1 + 9 * next() : 1) }
  })
}

test.each([1, 2, 3, 4, 5])(
  '§4.9 500 calls with noise: within a tenth of the truth they were made from (seed %i)',
  (seed) => {
    const observed = fitPrefill(calls(500, seed), 20_000)
    expect(observed).toMatchObject({ state: 'observed', events: 500, is_within_range: true, reason: null })
    for (const tokens of [2_000, 20_000, 60_000]) {
      const truth = TRUE_FIXED_MS + TRUE_MS_PER_TOKEN * tokens
      const fitted = (observed.fixed_ms ?? 0) + (observed.ms_per_token ?? 0) * tokens
      expect(Math.abs(fitted / truth - 1)).toBeLessThan(0.1)
    }
    expect(observed.margin_pct).toBeGreaterThan(5)
    expect(observed.tokens_per_s).toBeGreaterThan(18_000)
  },
)

test('§4.9 the same calls by least squares are far off: the middle of the slopes is what holds', () => {
  const samples = calls(500, 1)
  const mean = (value: (one: PrefillSample) => number) => samples.reduce((sum, one) => sum + value(one), 0) / 500
  const [x, y] = [mean((one) => one.uncached_tokens), mean((one) => one.prefill_ms)]
  const slope =
    mean((one) => (one.uncached_tokens - x) * (one.prefill_ms - y)) / mean((one) => (one.uncached_tokens - x) ** 2)
  expect(slope / TRUE_MS_PER_TOKEN).toBeGreaterThan(1.2)
})

test('§4.9 too few calls, or all of one length, say so and fit nothing', () => {
  expect(fitPrefill(calls(29, 1), undefined)).toMatchObject({ state: 'too_few', events: 29, ms_per_token: null })
  expect(fitPrefill([], undefined)).toMatchObject({ state: 'too_few', events: 0, from_tokens: null })
  const alike = calls(100, 1).map((one, at) => ({ ...one, uncached_tokens: 1_000 + at }))
  expect(fitPrefill(alike, undefined)).toMatchObject({ state: 'too_few', from_tokens: 1_000, to_tokens: 1_099 })
})

test('§4.9 calls that contradict each other say so and fit nothing', () => {
  const next = random(7)
  const noise = calls(500, 1).map(({ uncached_tokens }) => ({ uncached_tokens, prefill_ms: 10 + 5_000 * next() }))
  expect(fitPrefill(noise, undefined)).toMatchObject({ state: 'contradictory', ms_per_token: null, margin_pct: null })
  const falling = calls(500, 1).map(({ uncached_tokens }) => ({
    uncached_tokens,
    prefill_ms: 9_000 - uncached_tokens / 10,
  }))
  expect(fitPrefill(falling, undefined)).toMatchObject({ state: 'contradictory' })
})

test('§4.9 a prefix longer than any that was seen is told', () => {
  expect(fitPrefill(calls(500, 1), 1_000_000).is_within_range).toBe(false)
})
