// A switchyard.yaml with many mistakes, and with such as no shape foresees: each is told in words, and none hides others.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig, readConfigFile } from './config-file.ts'
import { parsePrices } from './prices-file.ts'
import { SettingError } from './setting-text.ts'

function linesOf(read: () => unknown): string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof SettingError) return error.message.split('\n')
    throw error
  }
  return []
}
const told = (text: string) => linesOf(() => parseConfig(text, 'f', {}))

test('§2 of thirty mistakes each is told, and so are all of a price file', () => {
  const quotas = Array.from({ length: 30 }, (_, n) => `  nothing_${n}: 1`)
  const lines = told(['quotas:', ...quotas].join('\n'))
  expect(lines).toHaveLength(30)
  expect(lines.at(-1)).toBe("f:31: 'quotas.nothing_29' is not a field that is known here.")
  const row = { id: 'm', provider: 'p', input_usd_per_million: -1, output_usd_per_million: 1, max_output_tokens: 1 }
  const prices = JSON.stringify({ source: 's', as_of: '2026-11-01', models: Array(20).fill(row) })
  expect(linesOf(() => parsePrices(prices, 'p'))).toHaveLength(20)
})

test.each([
  [
    'a rate without a model',
    'limits: { models: [{ requests_per_minute: 5 }] }',
    ["'limits.models[0].model' is required."],
  ],
  ['a rate that is none', 'limits: { models: [7] }', ["'limits.models[0]' must be an object."]],
  [
    'a rate twice',
    "limits: { models: [{ model: a, requests_per_minute: 5 }, { model: 'a', requests_per_minute: 6 }] }",
    ["limits: 'models' names 'a' twice."],
  ],
  [
    'a provider that is none, twice',
    'providers: [~, 7]',
    ["'providers[0]' must be an object.", "'providers[1]' must be an object."],
  ],
  [
    'a share of what is no project',
    'shares: { projects: { pjr_1: 3 } }',
    [/'pjr_1' must be the id of a project: prj_….$/],
  ],
  ['a network that is a number', 'networks: { allow: [5] }', ["'networks.allow[0]' must be a string."]],
  ['an anchor that is not there', 'a: 1\nfees: *nowhere', [/^f:1: Unresolved alias .*nowhere\.$/]],
  ['a file that is a word', 'hello', ["the file must be an object: fields such as 'providers'."]],
] as [string, string, (string | RegExp)[]][])('§2 %s is told in words', (_what, text, expected) => {
  const like = (line: string | RegExp) => (typeof line === 'string' ? `f:1: ${line}` : expect.stringMatching(line))
  expect(told(text)).toEqual(expected.map(like))
})

test('§2 a bad price file hides nothing else, and a variable may name it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-mistakes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'switchyard.yaml')
  const named = `prices_file: "\${PRICES}"`
  writeFileSync(file, `fees: { byok_micros: -1 }\n${named}\n`)
  const both = linesOf(() => readConfigFile(file, { PRICES: 'prices.yaml' }))
  expect(both).toEqual([
    `${file}:1: 'fees.byok_micros' must be at least 0.`,
    expect.stringMatching(/switchyard\.yaml:2: .*prices\.yaml: the price file cannot be read: .*\.$/),
  ])
  writeFileSync(file, named)
  const price = { input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 1 }
  const models = [{ id: 'mine', provider: 'p', ...price }]
  writeFileSync(join(folder, 'prices.yaml'), JSON.stringify({ source: 's', as_of: '2026-11-01', models }))
  expect(readConfigFile(file, { PRICES: 'prices.yaml' }).prices.get('mine')?.max_output_tokens).toBe(1)
})
