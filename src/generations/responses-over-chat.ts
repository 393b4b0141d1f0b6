// An upstream without a Responses API serves it all the same: the request goes out as chat, and what comes back is told
// as a response, whole or event by event.
import { fieldsOf } from '../core/json-splice.ts'
import { jsonBytes } from '../core/json-writing.ts'
import type { Provider, ProviderCall } from '../providers/provider.ts'
import { retoldCompletion, retoldStream } from '../providers/retold-answer.ts'
import type { Conversation } from '../responses/conversation.ts'
import { responseEvents } from '../responses/event-stream.ts'
import { responseFrom } from '../responses/from-chat.ts'
import { chatRequestFrom, leftOutOf } from '../responses/to-chat.ts'

const SET_BY_PATH: ReadonlySet<string> = new Set(['model', 'max_output_tokens'])
type SetByPath = { model: string; max_output_tokens?: number | null }

/** `limit_field`: under which name the upstream takes an output limit. */
export function responsesOverChat(
  provider: Provider,
  conversation: Conversation,
  limit_field: 'max_tokens' | 'max_completion_tokens',
): Provider {
  const { request, ids } = conversation
  const sent = conversation.sent ?? conversation
  return {
    speaks: (kind) => kind === 'responses' || provider.speaks(kind),

    async call(call: ProviderCall, signal) {
      if (call.kind !== 'responses') return provider.call(call, signal)
      // The path has set the target's model, and perhaps a lower limit, in the body.
      const { model, max_output_tokens = null } = fieldsOf(call.body, SET_BY_PATH) as SetByPath
      const asked = { ...sent.request, model, max_output_tokens, stream: call.stream }
      const body = await jsonBytes(chatRequestFrom(asked, sent.history, limit_field), call.body.length)
      const answer = await provider.call({ ...call, kind: 'chat', body }, signal)
      if (answer.status !== 200) return answer
      const left_out = [...leftOutOf(sent.request), ...(answer.left_out ?? [])]
      const told = call.stream
        ? retoldStream(answer, responseEvents(request, ids))
        : retoldCompletion(answer, (chat) => responseFrom(chat, request, ids))
      return { ...told, left_out }
    },
  }
}
