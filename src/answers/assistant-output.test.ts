// What an assistant said, out of the bytes that carried it: the same, whether it came whole or in pieces.
import { expect, test } from 'vitest'
import type { Recorded, Saying } from '../../test/support/upstream.ts'
import { answerTo } from '../../test/support/upstream-protocols.ts'
import type { TextKind } from '../providers/provider.ts'
import { answeredResponse, assistantOutput } from './assistant-output.ts'

const PATHS: Record<TextKind, string> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  responses: '/v1/responses',
  messages: '/v1/messages',
}

function bytesOf(kind: TextKind, stream: boolean, saying: Saying = {}): Buffer {
  const asked = { method: 'POST', path: PATHS[kind], body: { model: 'm', stream } } as Recorded
  const said = answerTo(asked, saying)
  return Buffer.from(said.kind === 'stream' ? said.events.join('') : JSON.stringify(said.body))
}

const output = (kind: TextKind, stream: boolean, saying?: Saying) =>
  assistantOutput(kind, stream, bytesOf(kind, stream, saying))

test('§11 chat', async () => {
  const saying = { text: 'Grüße "quoted"\n🚀', chunks: 5 }
  expect(await output('chat', false, saying)).toMatchObject({ role: 'assistant', content: saying.text })
  expect(await output('chat', true, saying)).toEqual({ role: 'assistant', content: saying.text })
})

test('§11 tool calls', async () => {
  const saying = {
    tool_calls: [
      { name: 'f', arguments: '{"a":1}' },
      { name: 'g', arguments: '{}' },
    ],
  }
  const calls = [
    { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'call_1', type: 'function', function: { name: 'g', arguments: '{}' } },
  ]
  expect(await output('chat', false, saying)).toMatchObject({ tool_calls: calls })
  expect(await output('chat', true, saying)).toMatchObject({ tool_calls: calls })
})

test('§11 arguments that come in pieces are put together', async () => {
  const delta = (tool_calls: object) =>
    `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [tool_calls] } }] })}\r\n\r\n`
  const pieces = [
    delta({ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }),
    delta({ index: 0, function: { arguments: '{"a"' } }),
    delta({ index: 0, function: { arguments: ':1}' } }),
    'data: [DONE]\r\n\r\n',
  ]
  expect(await assistantOutput('chat', true, Buffer.from(pieces.join('')))).toEqual({
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
  })
})

test('§11 completions', async () => {
  expect(await output('completions', false, { text: 'once' })).toBe('once')
  expect(await output('completions', true, { text: 'once' })).toMatchObject({ content: 'once' })
})

test('§11 responses: the items, from the last event that has them', async () => {
  const whole = await output('responses', false, { text: 'once' })
  expect(whole).toMatchObject([{ type: 'message', content: [{ text: 'once' }] }])
  expect(await output('responses', true, { text: 'once' })).toEqual(whole)
  expect(await answeredResponse(true, bytesOf('responses', true))).toMatchObject({
    object: 'response',
    status: 'completed',
  })
})

test('§11 what cannot be read says nothing, and throws nothing', async () => {
  for (const kind of Object.keys(PATHS) as TextKind[])
    for (const bytes of [
      '',
      'x',
      '{}',
      'data: x\n\n',
      '{"choices":[]}',
      '{"choices":{}}',
      'data: {"choices":7}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":{}}}]}\n\n',
    ]) {
      await assistantOutput(kind, true, Buffer.from(bytes))
      await assistantOutput(kind, false, Buffer.from(bytes))
    }
  expect(await answeredResponse(true, Buffer.from('data: {"type":"response.created"}\n\n'))).toBeUndefined()
})
