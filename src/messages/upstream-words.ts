// R81: an upstream's own error goes on byte for byte, since clients of Messages go by its words. Not where it speaks of
// the credential that was sent, which is not the client's, nor where it is no error of this protocol.
import { BUDGETS, smallJsonOrNone } from '../core/foreign.ts'
import type { InItsWords } from '../core/refusal.ts'

interface Answered {
  status: number
  content_type: string
  retry_after_s: number | undefined
  told?: Readonly<Record<string, string>> | undefined
}

export function inItsWords(answer: Answered, body: Buffer, secret: string | undefined): InItsWords | undefined {
  const { status, told, retry_after_s } = answer
  if (status < 400 || (status >= 401 && status <= 403)) return undefined
  if (!isMessagesError(body) || (secret && body.includes(secret))) return undefined
  const wait = retry_after_s === undefined ? undefined : { 'retry-after': String(Math.max(1, retry_after_s)) }
  return { status, headers: { ...told, ...wait, 'content-type': answer.content_type || 'application/json' }, body }
}

export function isMessagesError(body: Buffer): boolean {
  const said = smallJsonOrNone(BUDGETS.envelope, body) as { type?: unknown; error?: { type?: unknown } } | undefined
  return said?.type === 'error' && typeof said.error?.type === 'string'
}
