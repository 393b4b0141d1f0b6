// A whole chat completion as the response that it stands for.
import { Refusal } from '../core/refusal.ts'
import { clientTools } from './client-tools.ts'
import { outputItems, TOO_MUCH } from './output-items.ts'
import { endedBy, openedResponse, type ResponseIds, type ResponseObject, usageFrom } from './response-object.ts'
import { isObject, type Json, type ResponseRequest } from './response-request.ts'

export function responseFrom(completion: unknown, request: ResponseRequest, ids: ResponseIds): ResponseObject {
  const choice = isObject(completion) && Array.isArray(completion.choices) ? completion.choices[0] : undefined
  if (!isObject(completion) || !isObject(choice) || !isObject(choice.message))
    throw new Refusal('upstream_failed', 'The upstream answered without a message.')
  const { status, incomplete_details } = endedBy(choice.finish_reason)
  const output = outputItems(ids.response_id, () => {}, clientTools(request).named)
  output.add(wholeMessage(choice.message), logprobsOf(choice.logprobs))
  if (output.isFull()) throw new Refusal('upstream_failed', TOO_MUCH)
  output.close(status)
  return {
    ...openedResponse(request, ids, completion),
    status,
    incomplete_details,
    output: output.items(),
    usage: usageFrom(completion.usage),
  }
}

/** Every call of a whole message is a call of its own, whatever ids the upstream gave or left out. */
function wholeMessage(message: Json): Json {
  const { tool_calls } = message
  if (!Array.isArray(tool_calls)) return message
  return { ...message, tool_calls: tool_calls.map((call, index) => (isObject(call) ? { ...call, index } : call)) }
}

export function logprobsOf(logprobs: unknown): readonly unknown[] {
  return isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : []
}
