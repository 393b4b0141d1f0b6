// Whoever speaks the OpenAI protocol, over a real wire.
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Behaviour, startUpstream } from '../../../test/support/upstream.ts'
import type { CallKind, ProviderAnswer } from '../provider.ts'
import { openUpstream } from '../upstream.ts'
import { type OpenaiOptions, openaiCompatible } from './openai-provider.ts'

const timeouts = { first_byte_ms: 20_000, idle_ms: 20_000 }
const signal = new AbortController().signal

async function start(behaviour: Behaviour = {}, options: Partial<OpenaiOptions> = {}) {
  const upstream = await startUpstream(behaviour)
  const wire = openUpstream(upstream.base_url, { connections: 4 })
  onTestFinished(async () => {
    await wire.close()
    await upstream.close()
  })
  const { base_url } = upstream
  const provider = openaiCompatible({ base_url, api_key: 'sk-1', upstream: wire, responses: true, ...options })
  const call = (kind: CallKind, body: object, headers = {}) => {
    const sent = Buffer.from(JSON.stringify({ model: 'model-a', ...body }))
    return provider.call({ kind, body: sent, stream: 'stream' in body, headers, timeouts }, signal)
  }
  return { upstream, provider, call }
}

const json = async (answer: ProviderAnswer) => JSON.parse(String(await answer.whole()))

describe('§9.1 each call has its path', () => {
  test.each([
    ['chat', { messages: [] }, '/v1/chat/completions', 'chat.completion'],
    ['completions', { prompt: 'a' }, '/v1/completions', 'text_completion'],
    ['embeddings', { input: 'a' }, '/v1/embeddings', 'list'],
    ['responses', { input: 'a' }, '/v1/responses', 'response'],
  ] as const)('%s', async (kind, body, path, object) => {
    const { upstream, call } = await start()
    const answer = await call(kind, body)
    expect([answer.status, (await json(answer)).object]).toEqual([200, object])
    expect([upstream.requests[0]?.path, upstream.requests[0]?.body]).toEqual([path, { model: 'model-a', ...body }])
  })

  test.each([
    ['chat', { messages: [], stream: true }],
    ['completions', { prompt: 'a', stream: true }],
    ['responses', { input: 'a', stream: true }],
  ] as const)('%s as a stream, byte for byte', async (kind, body) => {
    const { upstream, call } = await start({ text: 'Grüße, 世界', drip_bytes: 3 })
    const answer = await call(kind, body)
    const text = String(await answer.whole())
    expect(answer.content_type).toBe('text/event-stream; charset=utf-8')
    expect(text).toContain('data: ')
    expect(upstream.requests[0]?.headers.accept).toBe('text/event-stream')
  })
})

test('T-85 the body goes out untouched; the headers are ours alone', async () => {
  const { upstream, call } = await start()
  await (await call('chat', { odd: '  spacing ', messages: [] }, { 'x-request-id': 'trc_1' })).whole()
  const { headers, bytes } = await upstream.request(1)
  expect(String(bytes)).toBe('{"model":"model-a","odd":"  spacing ","messages":[]}')
  expect(headers).toEqual({
    host: `127.0.0.1:${upstream.port}`,
    'x-request-id': 'trc_1',
    authorization: 'Bearer sk-1',
    'accept-encoding': 'identity',
    'user-agent': 'switchyard',
    'content-type': 'application/json',
    accept: 'application/json',
    'content-length': String(bytes.length),
  })
})

test.each([
  ['no key', undefined, 'https://vllm.example/v1', {}],
  ['an empty key', '', 'https://vllm.example/v1', {}],
  ['a key', 'sk-1', 'https://api.openai.com/v1', { authorization: 'Bearer sk-1' }],
  ['a key at Azure', 'az-1', 'https://acme.openai.azure.com/openai/v1', { 'api-key': 'az-1' }],
])('§9.1 %s', async (_case, api_key, base_url, expected) => {
  const { upstream, call } = await start({}, { api_key, base_url })
  await (await call('chat', {})).whole()
  const { authorization, 'api-key': key } = (await upstream.request(1)).headers
  expect({ ...(authorization && { authorization }), ...(key && { 'api-key': key }) }).toEqual(expected)
})

test.each([true, false])('§9.1 a Responses API of its own: %s', async (responses) => {
  const { provider } = await start({}, { responses })
  const kinds = ['chat', 'completions', 'embeddings', 'responses'] as const
  expect(kinds.filter(provider.speaks)).toEqual(responses ? kinds : kinds.slice(0, 3))
})

describe('R52 its models', () => {
  const list = async (behaviour: Behaviour) => (await start(behaviour)).provider.listModels(signal)

  test('as it lists them', async () => {
    const { upstream, provider } = await start({ models: ['b', 'org/a', 'b'] })
    expect(await provider.listModels(signal)).toEqual({ kind: 'models', ids: ['b', 'org/a'] })
    expect([upstream.requests[0]?.method, upstream.requests[0]?.path]).toEqual(['GET', '/v1/models'])
    expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-1')
  })

  test.each([401, 403, 404, 500, 302])('not, where it answers %d', async (status) => {
    expect(await list({ status, body: {} })).toEqual({ kind: 'refused', status })
  })

  test.each(['<html>', '{"data":5}', '{}', '[]', 'null', '{"data":[null]}'])(
    'not, where it answers %s',
    async (body) => {
      expect(await list({ body })).toEqual({ kind: 'refused', status: 200 })
    },
  )

  test('without what nobody could call', async () => {
    const data = [{ id: '' }, { id: 5 }, { id: 'x'.repeat(300) }, { id: 'fine' }, {}]
    expect(await list({ body: { data } })).toEqual({ kind: 'models', ids: ['fine'] })
  })

  test('T-86 not, where the list has no end', async () => {
    await expect(list({ body: Buffer.alloc(5 * 1024 * 1024, ' ') })).rejects.toMatchObject({ failure: 'too_large' })
  })
})
