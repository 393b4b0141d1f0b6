// switchyard.yaml: every field, every default, ${VARIABLES}; and what is wrong, with its line and its field.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BUILT_IN } from '../models/price-book.ts'
import { SettingError } from './config.ts'
import { noConfigFile, parseConfig, readConfigFile } from './config-file.ts'

const variable = (name: string) => `\${${name}}`
const parse = (text: string, env = {}) => parseConfig(text, 'switchyard.yaml', env)

test('§2 an empty file, or none, is every default and no provider', () => {
  const defaults = {
    providers: [],
    aliases: [],
    fees: { byok_micros: 0, byoc_micros: 0 },
    full_fidelity: false,
    streams: { headers_after_ms: 1_000, headers_latest_ms: 15_000, comment_every_ms: 10_000 },
    allow_cidrs: [],
    limits: { edge: expect.any(Object), key: expect.any(Object), project: expect.any(Object) },
  }
  for (const settings of [noConfigFile(), parse(''), parse('{}'), parse('# nothing\n')])
    expect(settings).toMatchObject(defaults)
})

test('§settings a variable of the file may stand in a file of its own, named by NAME_FILE', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secret-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'groq'), 'gsk-1\n')
  const text = `providers: [{ id: groq, base_url: "https://groq.example", api_key: "${variable('GROQ_KEY')}" }]`
  const env = { GROQ_KEY_FILE: join(folder, 'groq') }
  expect(parse(text, env).providers[0]?.api_key).toBe('gsk-1')
  expect(() => parse(text, { ...env, GROQ_KEY: 'gsk-2' })).toThrow('GROQ_KEY and GROQ_KEY_FILE are both set')
  expect(() => parse(text, { GROQ_KEY_FILE: join(folder, 'gone') })).toThrow('GROQ_KEY_FILE must name a file')
})

test('§2 every field', () => {
  const settings = parse(`
providers:
  - id: main
    protocol: openai
    base_url: https://llm.example/v1
    api_key: sk-1
    region: eu-west
    max_concurrency: 7
    responses: true
    unlisted_models: true
    byok: true
    timeouts: { connect_ms: 1, first_byte_ms: 2, idle_ms: 3, total_ms: 4 }
    models:
      - id: m
        upstream_id: org/m
        input_usd_per_million: 0.15
        cached_input_usd_per_million: 0.075
        cache_write_usd_per_million: 0.2
        output_usd_per_million: 0.60
        max_output_tokens: 16384
        context_length: 128000
aliases:
  - name: team/fast
    boundary: own_only
    targets:
      - { provider: main, model: m }
      - { provider: main, model: unlisted, weight: 0 }
limits:
  edge: { auth_per_minute: 1, inference_per_minute: 2, read_per_minute: 3 }
  key: { requests_per_minute: 4, tokens_per_minute: 5, concurrent_streams: 6 }
  project: { requests_per_minute: 7, admin_per_minute: 8 }
fees: { byok_micros: 9, byoc_micros: 10 }
retention: { full_fidelity: true }
streams: { headers_after_ms: 0, comment_every_ms: 5000 }
networks: { allow: [10.0.0.0/8, fd00::/8] }
`)
  expect(settings).toMatchObject({
    providers: [
      {
        id: 'main',
        protocol: 'openai',
        base_url: 'https://llm.example/v1',
        api_key: 'sk-1',
        region: 'eu-west',
        max_concurrency: 7,
        responses: true,
        unlisted_models: true,
        byok: true,
        timeouts: { connect_ms: 1, first_byte_ms: 2, idle_ms: 3, total_ms: 4 },
        models: [
          {
            id: 'm',
            upstream_id: 'org/m',
            price: { input: 150_000, cached_input: 75_000, cache_write: 200_000, output: 600_000 },
            max_output_tokens: 16_384,
            context_length: 128_000,
          },
        ],
      },
    ],
    aliases: [
      {
        name: 'team/fast',
        release_id: expect.stringMatching(/^alr_[0-9a-f]{32}$/),
        boundary: 'own_only',
        targets: [
          { provider: 'main', model: 'm', weight: 1 },
          { provider: 'main', model: 'unlisted', weight: 0 },
        ],
      },
    ],
    limits: {
      edge: { auth_per_minute: 1, inference_per_minute: 2, read_per_minute: 3 },
      key: { requests_per_minute: 4, tokens_per_minute: 5, concurrent_streams: 6 },
      project: { requests_per_minute: 7, admin_per_minute: 8 },
    },
    fees: { byok_micros: 9, byoc_micros: 10 },
    full_fidelity: true,
    streams: { headers_after_ms: 0, headers_latest_ms: 15_000, comment_every_ms: 5_000 },
    allow_cidrs: ['10.0.0.0/8', 'fd00::/8'],
  })
})

test('§2 a provider’s defaults; a model of the price book needs no more than its name', () => {
  const [provider] = parse('providers: [{ id: a, base_url: "https://a.example", models: [{ id: gpt-4o }] }]').providers
  expect(provider).toEqual({
    id: 'a',
    protocol: 'openai',
    base_url: 'https://a.example',
    api_key: '',
    region: 'global',
    max_concurrency: 200,
    responses: false,
    unlisted_models: false,
    byok: false,
    list_models: false,
    timeouts: { connect_ms: 5_000, first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 },
    models: [{ id: 'gpt-4o', upstream_id: 'gpt-4o', price: BUILT_IN.get('gpt-4o')?.price, max_output_tokens: 16_384 }],
  })
})

test('§2 the order of the file is the order of preference', () => {
  const text = ['b', 'a', 'c'].map((id) => `{ id: ${id}, base_url: "https://${id}.example" }`).join(', ')
  expect(parse(`providers: [${text}]`).providers.map(({ id }) => id)).toEqual(['b', 'a', 'c'])
})

describe('variables', () => {
  const file = (key: string) => `providers:\n  - id: a\n    base_url: ${variable('BASE')}/v1\n    api_key: ${key}\n`

  test('§2 stand for the environment’s, anywhere in a text', () => {
    const env = { BASE: 'https://a.example', KEY: `sk-$1${variable('BASE')}` }
    const [provider] = parse(file(variable('KEY')), env).providers
    expect([provider?.base_url, provider?.api_key]).toEqual(['https://a.example/v1', env.KEY])
  })

  test.each([
    ['not set', { BASE: 'https://a.example' }],
    ['empty', { BASE: 'https://a.example', KEY: '' }],
  ])('§2 one that is %s is told with its line', (_what, env) => {
    expect(() => parse(file(variable('KEY')), env)).toThrow('switchyard.yaml:4: the variable KEY is not set.')
  })

  test('§2 what looks otherwise is left alone', () => {
    expect(parse(file('$KEY-$(KEY)'), { BASE: 'https://a.example' }).providers[0]?.api_key).toBe('$KEY-$(KEY)')
  })
})

describe('what is wrong', () => {
  const WRONG: [string, string, number, string][] = [
    ['no YAML', 'providers:\n  - id: a\n   base_url: x\n', 3, 'indicator'],
    ['a list', '- a\n- b\n', 1, 'object'],
    ['a text', 'providers', 1, 'object'],
    ['a name nobody knows', 'fees: {}\nprovider: []\n', 2, "'provider'"],
    ['one further down', 'providers:\n  - id: a\n    base_url: https://a.example\n    key: x\n', 4, 'providers[0].key'],
    ['an id that is missing', 'providers:\n  - base_url: https://a.example\n', 2, 'providers[0].id'],
    ['an id of another form', 'providers:\n  - id: "A b"\n    base_url: https://a.example\n', 2, 'providers[0].id'],
    ['the same id twice', providers('a', 'a'), 4, "'a' is there twice"],
    ['a protocol nobody speaks', provider('protocol: soap'), 4, 'providers[0].protocol'],
    ['an address that is none', 'providers:\n  - id: a\n    base_url: localhost\n', 3, 'base_url'],
    ['credentials in an address', 'providers:\n  - id: a\n    base_url: https://u:p@a.example\n', 3, 'credentials'],
    ['a number that is a text', provider('max_concurrency: "7"'), 4, 'providers[0].max_concurrency'],
    ['a number too small', provider('max_concurrency: 0'), 4, 'at least 1'],
    ['a fraction', provider('max_concurrency: 1.5'), 4, 'integer'],
    ['a price below zero', model('input_usd_per_million: -1'), 6, 'input_usd_per_million'],
    ['half a price', model('input_usd_per_million: 1'), 6, 'output_usd_per_million'],
    ['seven decimals', model('input_usd_per_million: 0.0000001, output_usd_per_million: 1'), 6, 'six decimals'],
    ['a limit of nothing', 'limits:\n  key:\n    requests_per_minute: 0\n', 3, 'limits.key.requests_per_minute'],
    ['a fee below zero', 'fees:\n  byok_micros: -1\n', 2, 'fees.byok_micros'],
    ['yes, which is no boolean', 'retention:\n  full_fidelity: "yes"\n', 2, 'retention.full_fidelity'],
    ['a waiver of more than all', 'deadlines:\n  waiver_pct: 101\n', 2, 'deadlines.waiver_pct'],
    ['a waiver below nothing', 'deadlines:\n  waiver_micros: -1\n', 2, 'deadlines.waiver_micros'],
    ['a network that is none', 'networks:\n  allow:\n    - 10.0.0.0/8\n    - 10.0.0.0/99\n', 4, 'networks.allow[1]'],
    ['an alias of another form', alias('{ provider: a, model: m }', 'Fast'), 8, 'aliases[0].name'],
    ['an alias to nobody', alias('{ provider: typo, model: m }'), 10, "'aliases[0].targets[0].provider': 'typo'"],
    ['one to what is not listed', alias('{ provider: a, model: n }'), 10, "'aliases[0].targets[0].model'"],
    ['one that only stands by', alias('{ provider: a, model: m, weight: 0 }'), 9, "'aliases[0].targets'"],
    ['one to a cluster', alias('{ cluster_id: byc_1, model: m }'), 10, 'aliases[0].targets[0].cluster_id'],
    ['one twice', twice('{ provider: a, model: m }'), 11, "'fast' is there twice"],
    [
      'a time-out beyond the whole',
      provider('timeouts: { idle_ms: 10, total_ms: 5, connect_ms: 1, first_byte_ms: 1 }'),
      4,
      'idle_ms',
    ],
  ]

  test.each(WRONG)('§2 %s: its line, and its field', (_what, text, line, named) => {
    expect(() => parse(text)).toThrow(SettingError)
    expect(() => parse(text)).toThrow(`switchyard.yaml:${line}: `)
    expect(() => parse(text)).toThrow(named)
  })

  test('§2 every mistake is told at once, in the order of the file, each with the line of its name', () => {
    const text = [
      'provders:', //                          1: its value begins a line below
      '  - id: x',
      'limits:',
      '  key:',
      '    requests_per_minute: 0', //         5
      'fees: { byok_micros: -1 }', //          6
      'providers:',
      '  - id: a',
      `    api_key: ${variable('NO_KEY')}`, // 9
      `    base_url: ${variable('NO_BASE')}/v1`,
      '  - id: a', //                         11
      '    base_url: nowhere', //             12
      '    max_concurency: 5', //             13
      '  - id: b',
      '    base_url: ftp://b.example', //     15
      '    models:',
      '      - id: m', //                     17: neither price nor length
      '      - { id: m, input_usd_per_million: 0.0000001, output_usd_per_million: 1, max_output_tokens: 1 }',
      'networks: { allow: [10.0.0.0/99] }', // 19
    ].join('\n')
    const told = () => {
      try {
        parse(text)
      } catch (error) {
        return (error as Error).message.split('\n').map((line) => /^switchyard\.yaml:(\d+): /.exec(line)?.[1])
      }
      return []
    }
    expect(told()).toEqual(['1', '5', '6', '9', '10', '11', '12', '13', '15', '17', '17', '18', '18', '19'])
  })

  function provider(field: string): string {
    return `providers:\n  - id: a\n    base_url: https://a.example\n    ${field}\n`
  }
  function providers(...ids: string[]): string {
    return `providers:\n${ids.map((id) => `  - id: ${id}\n    base_url: https://a.example\n`).join('')}`
  }
  function alias(target: string, name = 'fast'): string {
    const serving = model('input_usd_per_million: 1, output_usd_per_million: 1')
    return `${serving}aliases:\n  - name: ${name}\n    targets:\n      - ${target}\n`
  }
  function twice(target: string): string {
    return `${alias(target)}  - { name: fast, targets: [${target}] }\n`
  }
  function model(fields: string): string {
    return `${provider('models:')}      -\n        { id: m, max_output_tokens: 1, ${fields} }\n`
  }

  test('§2 a secret never stands in a message', () => {
    const text = `providers:\n  - id: a\n    base_url: https://a.example\n    api_key: "${variable('KEY')}"\n`
    expect(() => parse(text, { KEY: 'sk-secret\nx' })).toThrow('api_key')
    expect(() => parse(text, { KEY: 'sk-secret\nx' })).not.toThrow('sk-secret')
  })
})

test('§2 a file is read from where it lies, and messages name it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'my.yaml')
  writeFileSync(path, 'fees: { byok_micros: 5 }')
  expect(readConfigFile(path, {}).fees.byok_micros).toBe(5)
  writeFileSync(path, 'fees: 5')
  expect(() => readConfigFile(path, {})).toThrow(`${path}:1: `)
})

test('R83 the same targets of an alias are the same release, and others another', () => {
  const text = (weight: number) =>
    `providers: [{ id: a, base_url: "https://a.example", unlisted_models: true }]
aliases: [{ name: fast, targets: [{ provider: a, model: m, weight: ${weight} }] }]`
  const [first, again, other] = [1, 1, 2].map((weight) => parse(text(weight)).aliases[0]?.release_id)
  expect([first === again, first === other]).toEqual([true, false])
})

test('R78 shares: one for each project that is not named; what is no whole number of at least 1 is refused', () => {
  expect(parse('').shares).toEqual({ projects: {} })
  expect(parse('shares: { projects: { prj_1: 3 } }').shares).toEqual({ projects: { prj_1: 3 } })
  for (const share of ['0', '1.5', '"3"', '1001'])
    expect(() => parse(`shares:\n  projects:\n    prj_1: ${share}`)).toThrow(/switchyard\.yaml:3: .*prj_1/)
})
