// What a Responses request says that has no words in chat completions.
import { expect, test } from 'vitest'
import { readResponseRequest } from './response-request.ts'
import { chatRequestFrom, leftOutOf } from './to-chat.ts'

test('R75 what only an upstream of Responses can do is left out of chat, and told by name', () => {
  const request = readResponseRequest({
    model: 'm',
    input: 'hi',
    truncation: 'auto',
    max_tool_calls: 3,
    context_management: [{ type: 'compaction' }],
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    n: 2,
  })
  expect(leftOutOf(request)).toEqual(['n', 'context_management', 'max_tool_calls', 'truncation', 'include[1]'])
  const said_to_chat = [{ role: 'user', content: 'hi' }]
  expect(chatRequestFrom(request, [])).toEqual({ model: 'm', messages: said_to_chat, logprobs: true })
  const plain = readResponseRequest({ model: 'm', input: 'hi', truncation: 'disabled', context_management: [] })
  expect(leftOutOf(plain)).toEqual([])
  const native = readResponseRequest({ model: 'm', input: 'hi', top_k: 5 }, 'v2')
  expect(leftOutOf(native)).toEqual(['top_k'])
})
