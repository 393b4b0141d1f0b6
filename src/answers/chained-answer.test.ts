// A native upstream's answer says which response it continues, and is untouched otherwise, wherever its bytes are cut.
import { expect, test } from 'vitest'
import type { Provider, ProviderAnswer } from '../providers/provider.ts'
import { chainedAnswer } from './chained-answer.ts'

const BEFORE = 'resp_before'
const signal = { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }

function answerOf(parts: readonly Buffer[], status = 200): Provider {
  const answer: ProviderAnswer = {
    status,
    content_type: '',
    retry_after_s: undefined,
    async each(take) {
      for (const part of parts) await take(part)
    },
    whole: async () => Buffer.concat(parts),
    cancel() {},
  }
  return { speaks: () => true, call: async () => answer }
}

const ask = (provider: Provider, stream: boolean) =>
  chainedAnswer(provider, { previous_response_id: BEFORE }).call(
    { kind: 'responses', body: Buffer.alloc(0), stream, headers: {}, timeouts: { first_byte_ms: 1, idle_ms: 1 } },
    signal,
  )

async function streamed(text: string, bytes_each: number): Promise<string> {
  const all = Buffer.from(text)
  const parts = []
  for (let at = 0; at < all.length; at += bytes_each) parts.push(all.subarray(at, at + bytes_each))
  const heard: Buffer[] = []
  await (await ask(answerOf(parts), true)).each((part) => void heard.push(part))
  return Buffer.concat(heard).toString()
}

const whole = async (text: string, status = 200) =>
  String(await (await ask(answerOf([Buffer.from(text)], status), false)).whole())

test.each([
  [
    'null becomes the id',
    '{ "id":"x", "previous_response_id" : null ,"n":1.0}',
    '{ "id":"x", "previous_response_id" : "resp_before" ,"n":1.0}',
  ],
  ['a field that is missing is added', '{"id":"x"}', '{"previous_response_id":"resp_before","id":"x"}'],
  [
    'no text is taken for the field',
    '{"output":"\\"previous_response_id\\":null","nested":{"previous_response_id":null},"previous_response_id":null}',
    '{"output":"\\"previous_response_id\\":null","nested":{"previous_response_id":null},"previous_response_id":"resp_before"}',
  ],
  ['what is no object stays as it is', '<html>', '<html>'],
])('§1 whole: %s', async (_what, upstream, told) => {
  expect(await whole(upstream)).toBe(told)
})

test('§1 a refusal of the upstream stays as it is', async () => {
  expect(await whole('{"error":{}}', 400)).toBe('{"error":{}}')
})

const EVENTS = (previous: string) =>
  [
    ': a comment about "response"\n\n',
    `event: response.created\r\ndata: {"type":"response.created", "response":{"id":"é","previous_response_id":${previous}}}\r\n\r\n`,
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"\\"response\\":{"}\n\n',
    'event: x\ndata: {"type":"x","response":null}\n\n',
    `event: response.completed\ndata: {"response": {"previous_response_id":${previous},"output":[{"previous_response_id":null}]},"type":"response.completed"}\n\n`,
    'data: {"response": broken\n\n',
    'data: [DONE]\n\n',
    'data: without an end',
  ].join('')

test.each([1, 2, 7, 64, 10_000])('§1 streamed in parts of %i bytes: nothing else is touched', async (bytes_each) => {
  expect(await streamed(EVENTS('null'), bytes_each)).toBe(EVENTS('"resp_before"'))
})

test('T-86 a line without end is not gathered for ever', async () => {
  const part = Buffer.alloc(1024 * 1024, 'x')
  const answer = await ask(answerOf(Array.from({ length: 64 }, () => part)), true)
  await expect(answer.each(() => {})).rejects.toMatchObject({ failure: 'too_large' })
})
