// Whoever is asked takes the call in its own protocol where it speaks that, and by way of chat where it does not.
import { chainedAnswer } from '../answers/chained-answer.ts'
import { Refusal } from '../core/refusal.ts'
import { placeholderSpeaks } from '../providers/placeholder.ts'
import { AZURE_KINDS } from '../providers/platforms/azure.ts'
import type { CallKind, Provider } from '../providers/provider.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import type { Generation } from './generation.ts'
import { messagesOverChat } from './messages-over-chat.ts'
import { responsesOverChat } from './responses-over-chat.ts'
import { chatLimitName, sentTo } from './upstream-request.ts'

/** Whether it takes such calls, as they are or by way of chat: known of it without opening what it is dialled with. */
export function takesKind({ dialling: { protocol, platform } }: Target, kind: CallKind): boolean {
  if (kind === 'chat' || kind === 'responses' || kind === 'messages') return true
  if (protocol === 'placeholder') return placeholderSpeaks(kind)
  return platform?.kind === 'azure' ? AZURE_KINDS.includes(kind) : protocol === 'openai' && !platform
}

/** Why it does not. */
export const noSuchEndpoint = ({ provider }: Target) =>
  `the protocol of its provider '${provider}' has no such endpoint`

export async function providerFor(generation: Generation, target: Target): Promise<Provider> {
  const { path, call } = generation
  const { caller, kind, conversation } = call
  if (!takesKind(target, kind)) throw notSpoken(call, target)
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
const notSpoken = ({ endpoint, model }: Call, target: Target) =>
  new Refusal('invalid_request', `'${model}' cannot be asked on ${endpoint}: ${noSuchEndpoint(target)}.`)
