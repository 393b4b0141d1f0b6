import { expect, test } from 'vitest'
import type { CallKind } from '../providers/provider.ts'
import { readAsked } from './call.ts'

const hello = [{ role: 'user', content: 'hello' }]

function read(kind: CallKind, json: unknown) {
  return readAsked(kind, { bytes: Buffer.from(JSON.stringify(json) ?? ''), json })
}
const chat = (more: object) => read('chat', { model: 'm', messages: hello, ...more })

test.each([
  ['chat', undefined, 'JSON object'],
  ['chat', null, 'JSON object'],
  ['chat', [], 'JSON object'],
  ['chat', 'x', 'JSON object'],
  ['chat', {}, "'model'"],
  ['chat', { model: 5 }, "'model'"],
  ['chat', { model: '' }, "'model'"],
  ['chat', { model: 'm' }, "'messages'"],
  ['chat', { model: 'm', messages: [] }, "'messages'"],
  ['chat', { model: 'm', messages: 'hello' }, "'messages'"],
  ['completions', { model: 'm' }, "'prompt'"],
  ['embeddings', { model: 'm' }, "'input'"],
  ['responses', { model: 'm' }, "'input'"],
  // PostgreSQL takes no NUL, and a name goes into a header (T-37, T-87).
  ['chat', { model: 'a\0b', messages: hello }, "'model'"],
  ['chat', { model: 'x'.repeat(257), messages: hello }, "'model'"],
] as [CallKind, unknown, string][])('§7 400: %s %j names what is wrong', (kind, json, named) => {
  expect(() => read(kind, json)).toThrow(
    expect.objectContaining({ kind: 'invalid_request', message: expect.stringContaining(named) }),
  )
})

test('§9.2 nothing else is looked at: odd fields are the upstream’s to judge', () => {
  const odd = { messages: [null, 7, 'x', { content: [null, 5, { type: 7 }] }], tools: 5 }
  expect(read('chat', { model: 'm', ...odd })).toMatchObject({ stream: false, wants_usage: false, choices: 1 })
})

test.each([
  ['no limit', {}, undefined, 1],
  ['max_tokens', { max_tokens: 100 }, 100, 1],
  ['max_completion_tokens', { max_completion_tokens: 100 }, 100, 1],
  ['both: the larger', { max_tokens: 50, max_completion_tokens: 100 }, 100, 1],
  ['null is none', { max_tokens: null }, undefined, 1],
  ['for every choice', { max_tokens: 100, n: 3 }, 300, 3],
  ['choices alone', { n: 3 }, undefined, 3],
  ['candidates that are never shown', { best_of: 4, n: 2, max_tokens: 10 }, 40, 4],
  ['under a name that chat does not know', { max_output_tokens: 10 }, undefined, 1],
  ['the largest of all names', { max_tokens: 1, max_output_tokens: 4_000 }, 4_000, 1],
])('R43 chat output: %s', (_what, more, output_limit, choices) => {
  expect(chat(more)).toMatchObject({ output_limit, choices })
})

test.each([
  ['one prompt', { prompt: 'a', max_tokens: 16 }, 16],
  ['each of several prompts', { prompt: ['a', 'b', 'c'], max_tokens: 16 }, 48],
  ['tokens are one prompt', { prompt: [1, 2, 3], max_tokens: 16 }, 16],
  ['lists of tokens are several', { prompt: [[1, 2], [3]], max_tokens: 16 }, 32],
  ['several choices of each', { prompt: ['a', 'b'], n: 2, max_tokens: 16 }, 64],
  ['candidates that are never shown', { prompt: 'a', best_of: 5, n: 2, max_tokens: 16 }, 80],
  ['an empty list', { prompt: [], max_tokens: 16 }, 16],
])('R43 completions output: %s', (_what, more, output_limit) => {
  expect(read('completions', { model: 'm', ...more }).output_limit).toBe(output_limit)
})

test('R43 embeddings have no output, and are never streamed', () => {
  expect(read('embeddings', { model: 'm', input: 'a', stream: true })).toMatchObject({ output_limit: 0, stream: false })
})

test('R43 a prompt is bounded by two bytes a token, and estimated at four', () => {
  const { body, input_bound, input_estimate } = chat({})
  expect([input_bound, input_estimate]).toEqual([Math.ceil(body.length / 2), Math.ceil(body.length / 4)])
})

const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const picture = `data:image/png;base64,${'A'.repeat(1_000_000)}`

// An image's tokens come from its size in pixels: its bytes would hold, or charge, hundreds of times what it costs.
test.each([
  ['linked', image('https://example.com/a.png')],
  ['inside', image(picture)],
])('R43 an image that is %s counts by itself, not by its bytes', (_where, part) => {
  const { input_bound, input_estimate } = chat({ messages: [{ role: 'user', content: [part, part] }] })
  expect(input_bound).toBeGreaterThanOrEqual(4_000)
  expect(input_bound).toBeLessThan(4_500)
  expect(input_estimate).toBeGreaterThanOrEqual(2_000)
  expect(input_estimate).toBeLessThan(2_500)
})

test('R43 so it is for Responses, where the address stands by itself', () => {
  const content = [{ type: 'input_image', image_url: picture }]
  expect(read('responses', { model: 'm', input: [{ role: 'user', content }] }).input_bound).toBeLessThan(2_500)
})

test.each([
  ['a file by its id', { type: 'file', file: { file_id: 'file-1' } }],
  [
    'a file by its id, and a long text beside it',
    { type: 'file', file: { file_id: 'file-1', more: 'x'.repeat(9_000) } },
  ],
  ['a file by its address', { type: 'input_file', file_url: 'https://example.com/a.pdf' }],
  ['a film', { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }],
])('R43 %s may fill what a model takes in: so much is held', (_what, part) => {
  const { input_bound } = chat({ messages: [{ role: 'user', content: [part, part] }] })
  expect(input_bound).toBeGreaterThanOrEqual(400_000)
})

test.each([
  ['sound by its address', { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } }],
  ['something new by its id', { type: 'hologram', hologram: { file_id: 'file-1' } }],
])('R43 %s too', (_what, part) => {
  expect(chat({ messages: [{ role: 'user', content: [part] }] }).input_bound).toBeGreaterThanOrEqual(200_000)
})

test.each<[string, unknown, number]>([
  ['a file that a tool gave', [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }], 200_000],
  ['an image that a tool gave', [{ type: 'input_image', image_url: 'https://example.com/a.png' }], 2_000],
  ['a picture of a screen', { type: 'computer_screenshot', file_id: 'file-1' }, 2_000],
])('R43 %s counts like one in a message', (_what, output, least) => {
  const input = [{ type: 'function_call_output', call_id: 'c', output }]
  const { input_bound } = read('responses', { model: 'm', input })
  expect(input_bound).toBeGreaterThanOrEqual(least)
  expect(input_bound).toBeLessThan(least + 200)
})

test.each([
  [
    'a citation',
    { type: 'output_text', text: 'so', annotations: [{ type: 'url_citation', url: 'https://example.com' }] },
  ],
  ['what a tool was told', { type: 'tool_use', id: 't', name: 'get', input: { url: 'https://example.com' } }],
  ['sound that is inside', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
])('R43 %s brings nothing', (_what, part) => {
  expect(chat({ messages: [{ role: 'user', content: [part] }] }).input_bound).toBeLessThan(200)
})

const AAAA = 'A'.repeat(1_000)
const file = (filename: string | undefined, file_data: string) => ({ type: 'file', file: { filename, file_data } })

test.each([
  ['a text', file('a.txt', `data:text/plain;base64,${AAAA}`)],
  ['a table', file('a.csv', `data:text/csv;base64,${AAAA}`)],
  ['JSON', file('a.json', `data:application/json;base64,${AAAA}`)],
  ['a page of the web', { type: 'input_file', filename: 'a.html', file_data: `data:text/html;base64,${AAAA}` }],
  ['a text by its name alone', file('a.md', AAAA)],
  ['a text of no known type', file('a.py', `data:application/octet-stream;base64,${AAAA}`)],
  ['a text in the place of an image', image(`data:text/plain;base64,${AAAA}`)],
  ['sound', { type: 'input_audio', input_audio: { data: AAAA, format: 'wav' } }],
  ['sound by its data', { type: 'audio_url', audio_url: { url: `data:audio/mpeg;base64,${AAAA}` } }],
])('R43 %s that is inside counts by its bytes', (_what, part) => {
  const { input_bound, body } = chat({ messages: [{ role: 'user', content: [part] }] })
  expect(input_bound).toBe(Math.ceil(body.length / 2))
})

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

// A few thousand bytes of these may have a hundred pages, or an hour.
test.each([
  ['a PDF', file('a.pdf', `data:application/pdf;base64,${AAAA}`)],
  ['a PDF by its data', file(undefined, `data:application/pdf;base64,${AAAA}`)],
  ['a PDF by its data, whatever its name', file('a.txt', `data:application/pdf;base64,${AAAA}`)],
  ['a PDF by its name', file('A.PDF', AAAA)],
  ['a PDF by its name, whatever its data', file('a.pdf', `data:text/plain;base64,${AAAA}`)],
  ['a PDF of responses', { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${AAAA}` }],
  [
    'a document of Messages',
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: AAAA } },
  ],
  ['an Office document', file('a', `data:${DOCX};base64,${AAAA}`)],
  ['an Office document by its name', file('a.xlsx', `data:application/octet-stream;base64,${AAAA}`)],
  ['what does not say what it is', file(undefined, `data:;base64,${AAAA}`)],
  ['a film', { type: 'video_url', video_url: { url: `data:video/mp4;base64,${AAAA}` } }],
  ['a film in the place of an image', image(`data:video/mp4;base64,${AAAA}`)],
  ['a film in the place of an image, spelled otherwise', image(`DATA:Video/MP4;base64,${AAAA}`)],
  [
    'a film in an image of Messages',
    { type: 'image', source: { type: 'base64', media_type: 'video/mp4', data: AAAA } },
  ],
  ['a PDF in the place of an image', { type: 'input_image', image_url: `data:application/pdf;base64,${AAAA}` }],
  ['a film in the place of sound', { type: 'input_audio', input_audio: { data: AAAA, format: 'video/mp4' } }],
  ['a film in the place of sound, by its ending', { type: 'input_audio', input_audio: { data: AAAA, format: 'mp4' } }],
])('R43 %s that is inside may fill what a model takes in; rates count it like one that is linked', (_what, part) => {
  const { input_bound, input_estimate, body } = chat({ messages: [{ role: 'user', content: [part] }] })
  expect(input_bound).toBe(Math.ceil(body.length / 2) + 200_000)
  expect(input_estimate).toBe(Math.ceil(body.length / 4) + 10_000)
})

test.each([
  [
    'sound by an address',
    { type: 'input_audio', input_audio: { data: 'https://example.com/hour.mp4', format: 'mp3' } },
  ],
  ['sound in a bucket', { type: 'input_audio', input_audio: { data: 'gs://bucket/hour.mp4', format: 'video/mp4' } }],
  ['sound by an address in capitals', { type: 'input_audio', input_audio: { data: 'HTTPS://example.com/a' } }],
  ['a file by an address', file('a.txt', 'https://example.com/a.pdf')],
])('R43 %s, in the place of its data, is somewhere else', (_what, part) => {
  expect(chat({ messages: [{ role: 'user', content: [part] }] }).input_bound).toBeGreaterThanOrEqual(200_000)
})

test('R43 a PDF that a tool of responses gave counts like one in a message', () => {
  const output = [{ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${AAAA}` }]
  const input = [{ type: 'function_call_output', call_id: 'c', output }]
  expect(read('responses', { model: 'm', input }).input_bound).toBeGreaterThanOrEqual(200_000)
})

test('R43 an image that says it is one is one, whatever its name', () => {
  const part = { ...image(picture), filename: 'page-1-of-a.pdf' }
  expect(chat({ messages: [{ role: 'user', content: [part] }] }).input_bound).toBeLessThan(2_500)
})

test('R9 a content part of a type that is no text goes on as it is', () => {
  const content = [{ type: { toString: 1 } }, { type: null }, null, 'text', { type: ['image'] }]
  expect(chat({ messages: [{ role: 'user', content }] }).json.messages).toEqual([{ role: 'user', content }])
})

test('R41 whether the client itself asked for usage', () => {
  expect(chat({ stream: true }).wants_usage).toBe(false)
  expect(chat({ stream: true, stream_options: null }).wants_usage).toBe(false)
  expect(chat({ stream: true, stream_options: { include_usage: true } })).toMatchObject({
    stream: true,
    wants_usage: true,
  })
})
