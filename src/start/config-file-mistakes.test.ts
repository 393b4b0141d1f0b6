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

const variable = (name: string) => `$\{${name}}`
const keyed = (...fields: string[]) =>
  ['providers:', '  - id: a', '    base_url: https://a.example', ...fields.map((field) => `    ${field}`)].join('\n')

test.each([
  ['a name with a hyphen', `api_key: ${variable('OPENAI-KEY')}`],
  ['one without its end', `api_key: "$\{UNSET"`],
  ['a default, which there is not', `api_key: "${variable('UNSET:-sk-hunter2')}"`],
  ['nothing in it', `api_key: "sk-${variable('')}"`],
  ['one beside a good one', `api_key: "${variable('SET')}${variable('OPENAI-KEY')}"`],
])('§2 a misspelt variable is told with its line, and what stands in it is not: %s', (_what, field) => {
  const lines = linesOf(() => parseConfig(keyed(field), 'f', { SET: 'sk' }))
  expect(lines).toEqual([expect.stringMatching(/^f:4: '\$\{' must be followed by the name of a variable.*\.$/)])
  expect(lines.join()).not.toContain('hunter2')
})

const ofAws = ['protocol: bedrock', 'region: us-east-1', 'access_key_id: a', 'secret_access_key: $AWS_SECRET']

test.each([
  ['f:4', keyed('api_key: $OPENAI_API_KEY')],
  ['f:7', keyed(...ofAws)],
  ['f:2', 'tracing:\n  headers: { authorization: $COLLECTOR }'],
])('§2 a secret that is only $NAME is told at %s: it would be sent as it stands', (at, text) => {
  expect(told(text)).toEqual([`${at}: a secret that is only $NAME is no variable: write ${variable('NAME')}.`])
})

const priced = 'input_usd_per_million: 0, output_usd_per_million: 0, max_output_tokens: 1'

test('§2 such signs in what a variable holds, within a secret, or where there is none, are as they are meant', () => {
  const env = { KEY: '${a', PLAIN: '$PLAIN' }
  const keyOf = (text: string) => parseConfig(keyed(`api_key: "${text}"`), 'f', env).providers[0]?.api_key
  expect(keyOf(variable('KEY'))).toBe(env.KEY)
  expect(keyOf(variable('PLAIN'))).toBe(env.PLAIN)
  expect(keyOf('$KEY-$(KEY)')).toBe('$KEY-$(KEY)')
  expect(told(keyed(`models: [{ id: $MODEL, ${priced} }]`))).toEqual([])
})

const speaking = (spoken: string) => `models: [{ id: m, ${priced}, speaks: ${spoken} }]`

test.each([
  ['models: speaks: chat', 'anthropic', speaking('chat')],
  ['models: speaks: messages', 'openai', speaking('messages')],
  ['models: speaks: messages', 'azure', speaking('messages')],
  ['responses: true', 'anthropic', 'responses: true'],
])('§2 a setting that does nothing is told: %s of %s', (named, protocol, field) => {
  const line = `f:5: providers[0]: ${named} means nothing to the protocol '${protocol}'.`
  expect(told(keyed(`protocol: ${protocol}`, field))).toEqual([line])
})

test('§2 what says the same as the protocol does is no mistake', () => {
  expect(told(keyed('protocol: anthropic', 'responses: false', speaking('messages')))).toEqual([])
  expect(told(keyed('responses: true', speaking('chat')))).toEqual([])
})

test('R82 headers that would never wait so long are told, also where the other time is the default', () => {
  const line = "f:1: 'streams.headers_after_ms' must not exceed streams.headers_latest_ms."
  expect(told('streams: { headers_after_ms: 15000, headers_latest_ms: 100 }')).toEqual([line])
  expect(told('streams: { headers_after_ms: 15001 }')).toEqual([line])
  expect(told('streams: { headers_latest_ms: 100 }')).toEqual([]) // nobody said that it is to wait for longer
  expect(told('streams: { headers_after_ms: 100, headers_latest_ms: 100 }')).toEqual([])
})

test.each([
  ['one line', 'providers: [', 1],
  ['one line and its end', 'providers: [\n', 1],
  ['two lines, and blank ones', 'fees: {}\nproviders: [\n\n\n', 2],
])('§2 what breaks off is told at the last line, not past the end: %s', (_what, text, line) => {
  expect(told(text)).toEqual([expect.stringMatching(new RegExp(`^f:${line}: `))])
})
