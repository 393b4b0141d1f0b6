// Whoever is asked takes the call in its own protocol where it speaks that, and by way of chat where it does not.
import { chainedAnswer } from '../answers/chained-answer.ts'
import { Refusal } from '../core/refusal.ts'
import type { Provider } from '../providers/provider.ts'
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
      return responsesOverChat(provider, sentTo(target, conversation), chatLimitName(target))
    if (kind === 'messages') return messagesOverChat(provider, generation, target)
    throw notSpoken(call, target)
  }
  const continued = conversation?.request.previous_response_id ?? null
  return continued === null || conversation?.compacts ? provider : chainedAnswer(provider, continued)
}

/** Said before anything is sent: the upstream would only complain of fields that its own protocol wants. */
const notSpoken = ({ endpoint, model }: Call, { provider }: Target) =>
  new Refusal(
    'invalid_request',
    `'${model}' cannot be asked on ${endpoint}: the protocol of its provider '${provider}' has no such endpoint.`,
  )
