// An upstream without a Responses API serves it all the same: the request goes out as chat, and what comes back is told
// as a response, whole or event by event.
import { BeyondBudget, BUDGETS, jsonWithin } from '../core/foreign.ts'
import { fieldsOf } from '../core/json-splice.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { type Provider, type ProviderAnswer, type ProviderCall, UpstreamError } from '../providers/provider.ts'
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
      return { ...(call.stream ? streamed(answer) : whole(answer)), left_out }
    },
  }

  function streamed(answer: ProviderAnswer): ProviderAnswer {
    const events = responseEvents(request, ids)
    return {
      ...answer,
      async each(take) {
        await answer.each((part) => {
          const now = events.push(part)
          const late = events.late()
          return late ? late.then((more) => take(Buffer.concat([now, more]))) : take(now)
        })
        await take(events.end())
      },
    }
  }

  function whole(answer: ProviderAnswer): ProviderAnswer {
    const translated = async () => {
      const completion = await answer.whole()
      try {
        const chat = await jsonWithin(BUDGETS.answer, completion)
        return await jsonBytes(responseFrom(chat, request, ids), completion.length)
      } catch (error) {
        // A 200 that is no completion, or more of one than is read.
        throw new UpstreamError(error instanceof BeyondBudget ? 'too_many_parts' : 'reset', error)
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
