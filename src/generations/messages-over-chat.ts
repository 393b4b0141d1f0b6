// An upstream that speaks chat serves Messages all the same (R81): the request goes out as chat, and what comes back is
// told as a message, whole or event by event.
import { verdictOn } from '../answers/upstream-verdict.ts'
import { BUDGETS, smallJsonOrNone } from '../core/foreign.ts'
import { fieldsOf } from '../core/json-splice.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { MessageEvents } from '../messages/message-events.ts'
import { errorFrom, messageFrom } from '../messages/message-from-chat.ts'
import { chatFromMessages } from '../messages/messages-to-chat.ts'
import { upTo } from '../providers/first-bytes.ts'
import type { Provider, ProviderAnswer, ProviderCall } from '../providers/provider.ts'
import { retoldCompletion, retoldJson, retoldStream } from '../providers/retold-answer.ts'
import type { Target } from '../routing/target.ts'
import type { Generation } from './generation.ts'
import { chatLimitName, isReasoning } from './upstream-request.ts'

/** What the path sets in the body: the target's model, and perhaps a lower limit. */
const SET_BY_PATH: ReadonlySet<string> = new Set(['model', 'max_tokens'])
type SetByPath = { model: string; max_tokens: number }

/** Throws the refusal of what chat cannot say: before anything is dialled, so that another target may take it. */
export function messagesOverChat(provider: Provider, generation: Generation, target: Target): Provider {
  const { json, output_limit = 0 } = generation.call
  const limit_field = chatLimitName(target)
  const options = { model: target.model, max_tokens: output_limit, limit_field, takes_effort: isReasoning(target) }
  const told = chatFromMessages(json, options)
  return {
    speaks: (kind) => kind === 'messages' || provider.speaks(kind),

    async call(call: ProviderCall, signal) {
      const { model, max_tokens } = fieldsOf(call.body, SET_BY_PATH) as SetByPath
      const body = await jsonBytes({ ...told.body, model, [limit_field]: max_tokens }, call.body.length)
      generation.left_out = told.left_out
      const { timeouts, stream } = call
      const headers = withoutOwn(call.headers)
      const answer = await provider.call({ kind: 'chat', body, stream, headers, timeouts }, signal)
      if (answer.status !== 200) return isClients(answer.status) ? failed(answer) : answer
      return stream ? retoldStream(answer, new MessageEvents()) : retoldCompletion(answer, messageFrom)
    },
  }
}

/** Headers of the protocol that the upstream does not speak. */
const withoutOwn = (headers: ProviderCall['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('anthropic-')))

/** The client's mistake is told in its protocol. A failure of the upstream's is told in our words, as it is on /v1. */
const isClients = (status: number) => verdictOn(status, undefined).kind !== 'try_elsewhere'

const failed = (answer: ProviderAnswer) =>
  retoldJson(answer, async () => {
    const { bytes } = await upTo(BUDGETS.envelope.bytes, answer)
    return Buffer.from(JSON.stringify(errorFrom(smallJsonOrNone(BUDGETS.envelope, bytes), answer.status)))
  })
