// From a Messages answer, plain or an error, to a chat completion's JSON.
import { type ErrorBody, errorBody } from '../prepared-answer.ts'
import { chatId, chatUsage, finishReason, type Message } from './anthropic-messages.ts'

export function toChatCompletion(message: Message, created: number) {
  const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : []))
  const tool_calls = message.content.flatMap(({ type, id, name, input }) =>
    type === 'tool_use'
      ? [{ id, type: 'function' as const, function: { name, arguments: JSON.stringify(input ?? {}) } }]
      : [],
  )
  return {
    id: chatId(message.id),
    object: 'chat.completion' as const,
    created,
    model: message.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant' as const,
          content: text.length > 0 ? text.join('') : null,
          refusal: null,
          ...(tool_calls.length > 0 && { tool_calls }),
        },
        logprobs: null,
        finish_reason: finishReason(message.stop_reason),
      },
    ],
    usage: chatUsage(message.usage ?? {}),
  }
}

/** Its kinds of errors by the names that clients of the OpenAI protocol branch on. */
const KINDS: Record<string, [type: string, code: string | null]> = {
  authentication_error: ['invalid_request_error', 'invalid_api_key'],
  not_found_error: ['invalid_request_error', 'model_not_found'],
  request_too_large: ['invalid_request_error', 'request_too_large'],
  rate_limit_error: ['rate_limit_error', 'rate_limit_exceeded'],
  overloaded_error: ['server_error', 'overloaded'],
  timeout_error: ['server_error', 'timeout'],
  api_error: ['server_error', null],
}

export function toChatError(body: unknown, status: number): ErrorBody {
  const { type, message } = (body as { error?: { type?: unknown; message?: unknown } } | null | undefined)?.error ?? {}
  const fallback = status >= 500 ? 'server_error' : 'invalid_request_error'
  const kind = typeof type === 'string' ? type : fallback
  const [mapped, code] = KINDS[kind] ?? [kind, null]
  return errorBody(typeof message === 'string' ? message : `The upstream answered ${status}.`, mapped, code)
}
