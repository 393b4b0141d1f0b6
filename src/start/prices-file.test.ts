// 0252: an operator's price file: read, refused by field, compared with the book, and used by switchyard.yaml.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BUILT_IN } from '../models/price-book.ts'
import { readConfigFile } from './config-file.ts'
import { parsePrices, priceDifferences, pricesFileText } from './prices-file.ts'

const row = (more: object = {}) => ({
  id: 'gpt-4o',
  provider: 'openai',
  input_usd_per_million: 2,
  output_usd_per_million: 9,
  max_output_tokens: 16_384,
  ...more,
})
const file = (...models: object[]) => JSON.stringify({ source: 'https://x', as_of: '2026-11-01', models })

test('0252 the book, printed as a file, differs from itself in nothing', () => {
  const models = parsePrices(pricesFileText(), 'book.yaml')
  expect(models).toHaveLength(BUILT_IN.size)
  expect(priceDifferences(models)).toEqual([])
  for (const model of models) expect(model).toEqual(BUILT_IN.get(model.id))
})

test('0252 what is other than in the book is told by model and field', () => {
  const long_context = { above_tokens: 1_000, input_factor: 2, output_factor: 1.5 }
  const models = parsePrices(file(row({ long_context }), row({ id: 'mine' })), 'f')
  const [changed, added] = priceDifferences(models)
  expect(changed?.told).toContain('input 2000000, in the book 2500000')
  expect(changed?.told.some((one) => one.startsWith('long '))).toBe(true)
  expect(added).toEqual({ id: 'mine', told: ['new'] })
})

test.each([
  ['no YAML', '[', 'f: '],
  ['a missing price', file({ ...row(), input_usd_per_million: undefined }), "'models[0].input_usd_per_million'"],
  ['a negative price', file(row({ input_usd_per_million: -1 })), "'models[0].input_usd_per_million'"],
  ['a price too fine', file(row({ input_usd_per_million: 0.0000001 })), 'models[0]: the price of'],
  ['a misspelled field', file(row({ input: 1 })), "'models[0].input'"],
  ['one model twice', file(row(), row()), "'gpt-4o' is there twice"],
  ['a day that is none', file(row({ as_of: 'today' })), "'models[0].as_of'"],
])('0252 %s is refused, and named', (_what, text, named) => {
  expect(() => parsePrices(text, 'f')).toThrow(named)
})

test('0252, R83 switchyard.yaml names it: models are priced by it, and a bad one is refused', () => {
  const dir = mkdtempSync(join(tmpdir(), 'switchyard-prices-'))
  try {
    const config = join(dir, 'switchyard.yaml')
    const providers = [{ id: 'a', base_url: 'https://a.example/v1', models: [{ id: 'gpt-4o' }, { id: 'mine' }] }]
    writeFileSync(join(dir, 'prices.json'), file(row(), row({ id: 'mine' })))
    writeFileSync(config, JSON.stringify({ prices_file: 'prices.json', providers }))
    const [provider] = readConfigFile(config, {}).providers
    expect(provider?.models.map(({ price }) => price?.input)).toEqual([2_000_000, 2_000_000])
    writeFileSync(join(dir, 'prices.json'), file(row({ input_usd_per_million: -1 })))
    expect(() => readConfigFile(config, {})).toThrow('prices.json')
    writeFileSync(join(dir, 'prices.json'), file(row({ input_usd_per_million: 7 }), row({ id: 'mine' })))
    writeFileSync(config, JSON.stringify({ prices_file: 'prices.json', providers, misspelled: 1 }))
    expect(() => readConfigFile(config, {})).toThrow('misspelled')
    writeFileSync(config, JSON.stringify({ providers: [{ ...providers[0], models: [{ id: 'gpt-4o' }] }] }))
    expect(readConfigFile(config, {}).providers[0]?.models[0]?.price).toEqual(BUILT_IN.get('gpt-4o')?.price)
  } finally {
    rmSync(dir, { recursive: true })
  }
})
