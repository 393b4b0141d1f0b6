// An upstream without a Responses API serves it all the same: the request goes out as chat, and what comes back is told
// as a response, whole or event by event.
import { jsonIn } from '../core/json-bytes.ts'
import { type Provider, type ProviderAnswer, type ProviderCall, UpstreamError } from '../providers/provider.ts'
import { responseEvents } from '../responses/event-stream.ts'
import { responseFrom } from '../responses/from-chat.ts'
import { chatRequestFrom } from '../responses/to-chat.ts'
import type { Conversation } from './conversation.ts'

/** `limit_field`: under which name the upstream takes an output limit. */
export function responsesOverChat(
  provider: Provider,
  conversation: Conversation,
  limit_field: 'max_tokens' | 'max_completion_tokens',
): Provider {
  const { request, history, ids } = conversation
  return {
    speaks: (kind) => kind === 'responses' || provider.speaks(kind),

    async call(call: ProviderCall, signal) {
      if (call.kind !== 'responses') return provider.call(call, signal)
      // The path has set the target's model, and perhaps a lower limit, in the body.
      const { model, max_output_tokens = null } = jsonIn(call.body)
      const asked = { ...request, model, max_output_tokens, stream: call.stream }
      const body = Buffer.from(JSON.stringify(chatRequestFrom(asked, history, limit_field)))
      const answer = await provider.call({ ...call, kind: 'chat', body }, signal)
      if (answer.status !== 200) return answer
      return call.stream ? streamed(answer) : whole(answer)
    },
  }

  function streamed(answer: ProviderAnswer): ProviderAnswer {
    const events = responseEvents(request, ids)
    return {
      ...answer,
      async each(take) {
        await answer.each((part) => take(events.push(part)))
        await take(events.end())
      },
    }
  }

  function whole(answer: ProviderAnswer): ProviderAnswer {
    const translated = async () => {
      const completion = await answer.whole()
      try {
        return Buffer.from(JSON.stringify(responseFrom(jsonIn(completion), request, ids)))
      } catch (error) {
        throw new UpstreamError('reset', error) // a 200 that is no completion
      }
    }
    return {
      ...answer,
      content_type: 'application/json',
      whole: translated,
      each: async (take) => take(await translated()),
    }
  }
}
