// What the path to the upstreams is built from: a file, or the environment's one provider, or nothing.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BUILT_IN } from '../models/price-book.ts'
import { readConfig } from './config.ts'
import { gatewaySettings, noGateway, signUpMode } from './gateway-settings.ts'

const variable = (name: string) => `\${${name}}`
const settings = (env: Record<string, string>) => gatewaySettings(readConfig(env))

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'switchyard.yaml')
  writeFileSync(path, text)
  return path
}

test('§2 neither a file nor a key: no provider, so that the placeholder answers', () => {
  expect(settings({}).gateway).toEqual(noGateway().gateway)
  expect(settings({}).gateway.providers).toEqual([])
})

test('§2 OPENAI_API_KEY alone makes a live gateway: the book’s prices, and whatever else the upstream has', () => {
  const { gateway } = settings({ OPENAI_API_KEY: 'sk-1' })
  expect(gateway.providers).toMatchObject([
    {
      id: 'openai',
      protocol: 'openai',
      base_url: 'https://api.openai.com/v1',
      api_key: 'sk-1',
      region: 'global',
      responses: true,
      unlisted_models: true,
    },
  ])
  const listed = gateway.providers[0]?.models ?? []
  expect(listed.find(({ id }) => id === 'gpt-4o-mini')?.price).toEqual(BUILT_IN.get('gpt-4o-mini')?.price)
  expect(listed.every(({ id }) => BUILT_IN.get(id)?.provider === 'openai')).toBe(true)
})

test('§2 OPENAI_BASE_URL sends it elsewhere, where a Responses API is not taken for granted', () => {
  const { gateway } = settings({ OPENAI_API_KEY: 'sk-1', OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1' })
  expect(gateway.providers).toMatchObject([
    { base_url: 'http://127.0.0.1:8000/v1', responses: false, models: [], unlisted_models: true, list_models: true },
  ])
  const keyless = settings({ OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1' }).gateway.providers
  expect(keyless).toMatchObject([{ api_key: '' }]) // a server of one's own may take none
})

test.each(['http://', 'https://u:p@x.example', 'https://x.example/#a'])(
  '§2 OPENAI_BASE_URL %j is told apart from an address',
  (url) => {
    expect(() => settings({ OPENAI_API_KEY: 'sk-1', OPENAI_BASE_URL: url })).toThrow('OPENAI_BASE_URL')
  },
)

test('§2 a key that no header can hold stops the start', () => {
  expect(() => settings({ OPENAI_API_KEY: 'sk-1\nx' })).toThrow('OPENAI_API_KEY')
})

test('§2 a file goes before the environment, even one without providers', () => {
  const file = fileOf('providers: [{ id: mine, base_url: "https://a.example/v1" }]\nfees: { byoc_micros: 2 }')
  const { gateway } = settings({ SWITCHYARD_CONFIG: file, OPENAI_API_KEY: 'sk-1' })
  expect([gateway.providers.map(({ id }) => id), gateway.fees.byoc_micros]).toEqual([['mine'], 2])
  expect(settings({ SWITCHYARD_CONFIG: fileOf('{}'), OPENAI_API_KEY: 'sk-1' }).gateway.providers).toEqual([])
})

test('§2 a file may take the environment’s variables', () => {
  const file = fileOf(`providers: [{ id: mine, base_url: "https://a.example/v1", api_key: "${variable('MY_KEY')}" }]`)
  expect(settings({ SWITCHYARD_CONFIG: file, MY_KEY: 'sk-9' }).gateway.providers[0]?.api_key).toBe('sk-9')
})

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['localhost', true],
  ['::1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
])('R12 private networks may be dialled where the server listens on loopback: %s, %s', (HOST, allow_private) => {
  expect(settings({ HOST }).policy.allow_private).toBe(allow_private)
  // Behind a proxy on the same machine strangers reach it, and it must not reach the machine for them.
  expect(settings({ HOST, SWITCHYARD_PUBLIC_URL: 'https://x.example' }).policy.allow_private).toBe(false)
})

test('R12 and where the operator lists them', () => {
  const file = fileOf('networks: { allow: [10.0.0.0/8] }')
  const { policy } = settings({ HOST: '0.0.0.0', SWITCHYARD_CONFIG: file })
  expect(policy).toEqual({ allow_private: false, allow_cidrs: ['10.0.0.0/8'] })
})

test('R12 what nobody configured dials nobody', () => {
  expect(noGateway()).toMatchObject({ gateway: { providers: [] }, policy: { allow_private: false, allow_cidrs: [] } })
})

test.each([
  [{}, 'open'],
  [{ HOST: 'localhost' }, 'open'],
  [{ HOST: '0.0.0.0' }, 'invited'],
  [{ HOST: '::' }, 'invited'],
  [{ SWITCHYARD_PUBLIC_URL: 'https://switchyard.example.com' }, 'invited'], // a proxy in front, on this machine
  [{ HOST: '0.0.0.0', SWITCHYARD_SIGN_UP: 'open' }, 'open'],
  [{ SWITCHYARD_SIGN_UP: 'invited' }, 'invited'],
] as [Record<string, string>, string][])('§5.9 who may sign up with %j: %s', (env, mode) => {
  expect(signUpMode(readConfig(env))).toBe(mode)
})
