// A /v1/responses or /v2/responses request with what came before it: read, chained, and ready for any upstream.
import { newId } from '../core/ids.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { keptInput } from './response-items.ts'
import type { ResponseIds, ResponseObject } from './response-object.ts'
import { type Item, isObject, type ResponseRequest, readResponseRequest, wrong } from './response-request.ts'
import type { MayUse, ResponseStore } from './response-store.ts'

export interface Conversation {
  surface: 'v1' | 'v2'
  request: ResponseRequest
  /** What previous_response_id leads to, oldest first. */
  history: readonly Item[]
  ids: ResponseIds
  /** Some of its input was only pointed at, in the body that came: here it stands in place. */
  has_pointers?: boolean
  /** It was promised before: nobody waits for it. */
  background?: boolean
  /** It is to be made shorter, and not to be answered. */
  compacts?: boolean
  /** What goes out instead, where the request refers to what is kept elsewhere: it is not stored. */
  sent?: Sent & { marked?: Sent }
}

/** `marked`: with the end of a cached prefix on it, for upstreams that must be told. */
type Sent = Pick<Conversation, 'request' | 'history'>

/** Where in the store a chain is found. */
export interface Chains extends Pick<ResponseStore, 'history' | 'resolved'> {
  /** R78: rejects where the project has as many as it may. */
  mayStore(project_id: string, now: number): Promise<void>
}

interface Asking {
  surface: Conversation['surface']
  project_id: string
  now: number
  /** R74: what another key made is no conversation of the caller's to go on with. */
  mayUse: MayUse
  compacts?: boolean
  /** What it is called already. */
  promised?: string | undefined
}

export async function readConversation(json: unknown, chains: Chains, asking: Asking): Promise<Conversation> {
  const { surface, project_id, now, mayUse, compacts = false, promised } = asking
  const asked = compacts ? compactionOf(readResponseRequest(json, surface)) : readResponseRequest(json, surface)
  if (asked.store) await chains.mayStore(project_id, now)
  const { previous_response_id } = asked
  const history = previous_response_id === null ? [] : await chains.history(project_id, previous_response_id, mayUse)
  const input = await chains.resolved(project_id, asked.input, mayUse)
  const ids = { response_id: promised ?? newId('resp'), created_at_s: Math.floor(now / 1_000) }
  const conversation: Conversation = { surface, request: { ...asked, input }, history, ids }
  if (input !== asked.input) conversation.has_pointers = true
  if (promised !== undefined) conversation.background = true
  else if (compacts) conversation.compacts = true
  return conversation
}

/** Nothing of it is stored, and it comes whole. */
function compactionOf(request: ResponseRequest): ResponseRequest {
  if (request.stream) throw wrong('stream', 'not be true here: a compaction comes whole')
  return { ...request, store: false }
}

/**
 * The chain lives with us, and so does what is pointed at by an id of ours: an upstream gets all of it at once, and
 * that is what counts. Without either, the bytes go on as they came.
 */
export function selfContained({ bytes, json }: JsonBody, conversation: Conversation): JsonBody | Promise<JsonBody> {
  const { request, history, has_pointers } = conversation
  return request.previous_response_id === null && !has_pointers ? { bytes, json } : written()

  async function written(): Promise<JsonBody> {
    const { previous_response_id: _ours, ...rest } = json as Record<string, unknown>
    const whole = { ...rest, input: [...history, ...request.input] }
    const about_bytes = has_pointers ? Number.POSITIVE_INFINITY : bytes.length + history.length * ITEM_BYTES
    return { bytes: await jsonBytes(whole, about_bytes), json: whole }
  }
}

/** An item is a few hundred bytes, or many: where there are several, nobody knows before they are written. */
const ITEM_BYTES = 32 * 1024

/** As it is kept: under the caller's chain, which an upstream that got everything at once knows nothing of. */
export function keptForm(
  answered: unknown,
  { request }: Conversation,
): { response: ResponseObject; input: Item[] } | undefined {
  if (!isObject(answered) || typeof answered.id !== 'string') return undefined
  const response = { ...answered, previous_response_id: request.previous_response_id } as unknown as ResponseObject
  return { response, input: keptInput(request.input, answered.id) }
}
