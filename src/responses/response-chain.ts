// §7.2: how much of what is stored a request may bring in, by the chain that it continues or by items that it points
// at.
import { Refusal } from '../core/refusal.ts'

export const CHAIN_MAX = 100
export const CHAIN_MAX_BYTES = 32 * 1024 * 1024

export interface ChainLink {
  previous_response_id: string | null
  /** Of itself and all that come after it in the chain. */
  depth: number
  bytes: number
}

/** `links` has the oldest first; it must be one that nothing came before. */
export function checkChain(links: readonly ChainLink[], asked: string): void {
  const [oldest] = links
  const refusal = (why: string) => new Refusal('invalid_request', `'previous_response_id' ${why}.`)
  if (!oldest) throw refusal(`must be the id of a stored response of this project; '${asked}' is not`)
  if (oldest.depth > CHAIN_MAX) throw refusal(`leads through more than ${CHAIN_MAX} responses`)
  if (oldest.bytes > CHAIN_MAX_BYTES) throw refusal(`leads to more than ${CHAIN_MAX_BYTES} bytes of conversation`)
  if (oldest.previous_response_id !== null) throw notStored(oldest.previous_response_id)
}

export const notStored = (id: string) =>
  new Refusal('invalid_request', `'previous_response_id' leads to '${id}', which is no longer stored.`)

/** What the items come to that are pointed at, each as often as it is. */
export function checkPointedAt(bytes: number): void {
  if (bytes > CHAIN_MAX_BYTES)
    throw new Refusal('invalid_request', `'input' points at more than ${CHAIN_MAX_BYTES} bytes of conversation.`)
}

/** Each response has the input of its turn in it: in all they may be many times what is pointed at in them. */
export const READ_MAX_BYTES = 8 * CHAIN_MAX_BYTES

export function checkReadFor(bytes: number): void {
  if (bytes > READ_MAX_BYTES)
    throw new Refusal('invalid_request', `'input' points into responses of more than ${READ_MAX_BYTES} bytes.`)
}
