// A Messages stream as chat chunks, wherever the bytes are cut.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ChunkStream } from './anthropic-stream.ts'

const fixture = (name: string) => readFileSync(new URL(`./__fixtures__/${name}.sse`, import.meta.url))
const CREATED = 1_763_208_000
const STOP = Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n')

function chunksOf(pieces: readonly Buffer[], { wants_usage = true } = {}) {
  const stream = new ChunkStream(CREATED, wants_usage)
  const text = Buffer.concat(pieces.map((piece) => stream.translate(piece))).toString()
  return { text, is_complete: stream.is_complete }
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into what it gets
const parsed = (text: string): any[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)))

const deltas = (text: string) =>
  parsed(text).flatMap(({ choices }) => choices.map((choice: { delta: unknown }) => choice.delta))

describe('§9.1 a stream of text', () => {
  const { text, is_complete } = chunksOf([fixture('text')])
  const chunks = parsed(text)

  test('begins with the role, brings the text as it comes, leaves out the thinking', () => {
    expect(deltas(text)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Grüße, ' },
      { content: '世界 👋' },
      {},
    ])
  })

  test('says why it ended, then the usage, then [DONE]', () => {
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, 'stop', undefined])
    expect(chunks.at(-1)).toMatchObject({ choices: [] })
    expect([text.endsWith('data: [DONE]\n\n'), is_complete]).toEqual([true, true])
  })

  test('R42 counts what was cached inside the prompt', () => {
    expect(chunks.map(({ usage }) => usage)).toEqual([
      ...Array(4).fill(null),
      {
        prompt_tokens: 2_360,
        completion_tokens: 25,
        total_tokens: 2_385,
        prompt_tokens_details: { cached_tokens: 2_048, cache_write_tokens: 300 },
      },
    ])
  })

  test('has one id, one time and one model throughout', () => {
    const base = { id: 'chatcmpl-01XyZ', object: 'chat.completion.chunk', created: CREATED, model: 'claude-sonnet-4-6' }
    for (const chunk of chunks) expect(chunk).toMatchObject(base)
  })

  test('carries no usage at all where none was asked for', () => {
    const plain = chunksOf([fixture('text')], { wants_usage: false })
    expect(parsed(plain.text)).toHaveLength(4)
    expect(plain.text).not.toContain('usage')
  })
})

test('§9.1 a stream of tool calls: numbered among themselves, arguments in fragments, and never empty', () => {
  const { text } = chunksOf([fixture('tools')])
  const call = (index: number, rest: object) => ({ tool_calls: [{ index, ...rest }] })
  expect(deltas(text)).toEqual([
    { role: 'assistant', content: '', refusal: null },
    { content: "I'll look." },
    call(0, { id: 'toolu_01', type: 'function', function: { name: 'get_weather', arguments: '' } }),
    call(0, { function: { arguments: '{"city": "Zü' } }),
    call(0, { function: { arguments: 'rich"}' } }),
    call(1, { id: 'toolu_02', type: 'function', function: { name: 'get_time', arguments: '' } }),
    call(1, { function: { arguments: '{}' } }),
    {},
  ])
  expect(parsed(text).at(-2).choices[0].finish_reason).toBe('tool_calls')
})

describe('§9.1 wherever the bytes are cut', () => {
  test.each(['text', 'tools'])('%s: in two at every place, and byte by byte', (name) => {
    const bytes = fixture(name)
    const { text } = chunksOf([bytes])
    for (let at = 1; at < bytes.length; at++)
      expect(chunksOf([bytes.subarray(0, at), bytes.subarray(at)]).text).toBe(text)
    expect(chunksOf(Array.from(bytes, (byte) => Buffer.from([byte]))).text).toBe(text)
  })

  test.each(['\r\n', '\r'])('with lines that end in %j', (end) => {
    const bytes = Buffer.from(fixture('text').toString().replaceAll('\n', end))
    const { text } = chunksOf([fixture('text')])
    expect(chunksOf([bytes]).text).toBe(text)
    expect(chunksOf(Array.from(bytes, (byte) => Buffer.from([byte]))).text).toBe(text)
  })
})

describe('R47 a stream that goes wrong', () => {
  const [start = ''] = fixture('text').toString().split('\n\n')

  test('an error in the middle is told as an error, and is the end', () => {
    const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    const { text, is_complete } = chunksOf([
      Buffer.from(`${start}\n\n${error}event: message_stop\ndata: {"type":"message_stop"}\n\n`),
    ])
    expect(parsed(text).at(-1)).toEqual({
      error: { message: 'Overloaded', type: 'server_error', param: null, code: 'overloaded' },
    })
    expect([text.includes('[DONE]'), is_complete]).toEqual([false, true])
  })

  test('one that stops early is not complete', () => {
    expect(chunksOf([Buffer.from(`${start}\n\n`)])).toMatchObject({ is_complete: false })
  })

  test('what is not JSON is not passed over', () => {
    expect(() => chunksOf([Buffer.from('data: <html>\n\n')])).toThrow(SyntaxError)
  })

  test('events that nobody knows yet are passed over', () => {
    expect(chunksOf([Buffer.from('event: later\ndata: {"type":"later"}\n\n')]).text).toBe('')
  })
})

// Sizes at which work, or output, that grows with the square of the input would never come to an end.
describe('T-86 a stream that is out to cost more than it sends', () => {
  const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
  const start = (message: object) => event({ type: 'message_start', message: { usage: {}, ...message } } as never)

  test('figures that nobody knows are not carried along', () => {
    const noted = (at: number) => `data: {"type":"message_delta","delta":{},"usage":{"n${at}":1}}\n\n`
    const events = Array.from({ length: 20_000 }, (_, at) => noted(at))
    const { text } = chunksOf([Buffer.from(start({ id: 'msg_1', model: 'm' }) + events.join('')), STOP])
    expect(
      text.endsWith('"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0}}}\n\ndata: [DONE]\n\n'),
    ).toBe(true)
  })

  test.each([
    ['an id', { id: `msg_${'x'.repeat(60_000)}`, model: 'm' }],
    ['a model', { id: 'msg_1', model: 'x'.repeat(60_000) }],
    ['a model that is a list', { id: 'msg_1', model: Array(30_000).fill(1) }],
  ])('%s too long to stand in every chunk is refused', (_what, message) => {
    expect(() => chunksOf([Buffer.from(start(message))])).toThrow('too long')
  })

  const called = (index: unknown) =>
    Buffer.from(
      event({ type: 'content_block_start', index, content_block: { type: 'tool_use', id: 'a', name: 'f' } } as never),
    )

  test.each(['x', -1, 0.5, 2 ** 53, { 0: 0 }, undefined])(
    'R77 a call whose block is numbered %j is refused, and not kept',
    (index) => {
      expect(() => chunksOf([called(index)])).toThrow('a call in a block without a number')
    },
  )

  test('R77 a thousand calls are told, and no more', () => {
    const calls = Array.from({ length: 1_024 }, (_, at) => called(at))
    expect(parsed(chunksOf(calls).text)).toHaveLength(1_024)
    expect(() => chunksOf([...calls, called(1_024)])).toThrow('more calls than can be told')
  })

  test('R77 a large event is parsed in steps, and what came with it stays behind it', async () => {
    const long = 'x'.repeat(200_000)
    const said = (text: string) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never)
    const stream = new ChunkStream(CREATED, true)
    const all = start({ id: 'msg_1', model: 'm' }) + said(long) + said('between') + said(long) + said('last')
    const now = stream.translate(Buffer.from(all))
    const late = await stream.late()
    expect(stream.late()).toBeUndefined()
    const text = String(Buffer.concat([now, late ?? Buffer.alloc(0), stream.translate(STOP)]))
    expect(deltas(text).map(({ content }) => content)).toEqual(['', long, 'between', long, 'last'])
    expect(stream.is_complete).toBe(true)
  })

  test('R77 a large event that has too many parts, or is no JSON, is a failure', async () => {
    const many = `data: {"type":"ping","x":[${Array(260_000).fill('[]').join()}]}\n\n`
    for (const [bytes, error] of [
      [many, 'more than 256 levels, 250,000 objects'],
      [`data: {"type":"ping","x":"${'x'.repeat(100_000)}"\n\n`, 'JSON'],
    ] as const) {
      const stream = new ChunkStream(CREATED, true)
      stream.translate(Buffer.from(bytes))
      await expect(stream.late()).rejects.toThrow(error)
    }
  })
})
