import { expect, test } from 'vitest'
import type { Price } from './price.ts'
import { BUILT_IN, PRICES_AS_OF } from './price-book.ts'
import { UNIT_GROUPS } from './unit-price-rows.ts'

test('R53 the book is dated, and every model in it has a whole price and a length', () => {
  expect(PRICES_AS_OF).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(BUILT_IN.size).toBeGreaterThan(120)
  for (const [id, { price: listed, provider, max_output_tokens, source, as_of, ...model }] of BUILT_IN) {
    const { long, units, ...price }: Price = listed
    expect([source, as_of]).toEqual([expect.stringMatching(/^https:\/\//), expect.stringMatching(/^2026-\d\d-\d\d$/)])
    for (const part of Object.values(units ?? {}))
      if (typeof part === 'number') expect(Number.isSafeInteger(part) && part >= 0).toBe(true)
    for (const { micros } of units?.images ?? []) expect(Number.isSafeInteger(micros) && micros > 0).toBe(true)
    if (long) expect(long.input).toBeGreaterThan(price.input)
    expect(model.id).toBe(id)
    expect(provider).toMatch(/^[a-z]+$/)
    for (const part of Object.values(price)) expect(Number.isSafeInteger(part) && part >= 0).toBe(true)
    expect(price.cached_input).toBeLessThanOrEqual(price.input)
    // What makes no text, such as an embedding, has neither a length nor a price of it.
    expect(max_output_tokens > 0).toBe(price.output > 0)
  }
})

test.each([
  ['gpt-4o-mini', { input: 150_000, cached_input: 75_000, cache_write: 150_000, output: 600_000 }],
  [
    'claude-sonnet-4-6',
    {
      input: 3_000_000,
      cached_input: 300_000,
      cache_write: 3_750_000,
      cache_write_1h: 6_000_000,
      output: 15_000_000,
      web_search: 10_000,
    },
  ],
  ['us.amazon.nova-pro-v1:0', { input: 800_000, cached_input: 200_000, cache_write: 800_000, output: 3_200_000 }],
  ['deepseek-v4-flash', { input: 440_000, cached_input: 14_000, cache_write: 440_000, output: 1_320_000 }],
  [
    'gemini-2.5-pro',
    {
      input: 1_250_000,
      cached_input: 125_000,
      cache_write: 1_250_000,
      output: 10_000_000,
      long: { above: 200_000, input: 2_500_000, cached_input: 250_000, cache_write: 2_500_000, output: 15_000_000 },
    },
  ],
])('R42 %s as it is listed', (id, price) => {
  expect(BUILT_IN.get(id)?.price).toEqual(price)
})

test('0252 a price of units was read at its vendor, or its source says that it was not', () => {
  const vendors = /^https:\/\/(developers\.openai\.com|console\.groq\.com)\/[\w./-]+$/
  for (const { source, rows } of UNIT_GROUPS)
    for (const [id] of rows)
      expect([id, vendors.test(source) || source.endsWith('(a catalogue, not the vendor’s page)')]).toEqual([id, true])
})
