// Whoever is asked takes the call in its own protocol where it speaks that, and by way of chat where it does not.
import { chainedAnswer } from '../answers/chained-answer.ts'
import { Refusal } from '../core/refusal.ts'
import type { Provider } from '../providers/provider.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import type { Generation } from './generation.ts'
import { messagesOverChat } from './messages-over-chat.ts'
import { responsesOverChat } from './responses-over-chat.ts'
import { chatLimitName, sentTo } from './upstream-request.ts'

export async function providerFor(generation: Generation, target: Target): Promise<Provider> {
  const { path, call } = generation
  const { caller, kind, conversation } = call
  const known = path.dialer.providerFor(target, caller.project_id)
  const provider = known instanceof Promise ? await known : known
  if (!provider.speaks(kind)) {
    if (conversation && !conversation.compacts)
      return promised(responsesOverChat(provider, sentTo(target, conversation), chatLimitName(target)), conversation)
    if (kind === 'messages') return messagesOverChat(provider, generation, target)
    throw notSpoken(call, target)
  }
  return conversation && !conversation.compacts ? continuing(provider, conversation) : provider
}

function continuing(provider: Provider, conversation: Conversation): Provider {
  const { previous_response_id } = conversation.request
  const told = promised(provider, conversation)
  return previous_response_id === null ? told : chainedAnswer(told, { previous_response_id })
}

/** A background response was named before anybody was asked. */
const promised = (provider: Provider, { background, ids }: Conversation): Provider =>
  background ? chainedAnswer(provider, { id: ids.response_id, background: true }) : provider

/** Said before anything is sent: the upstream would only complain of fields that its own protocol wants. */
const notSpoken = ({ endpoint, model }: Call, { provider }: Target) =>
  new Refusal(
    'invalid_request',
    `'${model}' cannot be asked on ${endpoint}: the protocol of its provider '${provider}' has no such endpoint.`,
  )
