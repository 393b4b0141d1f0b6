// R81: a refusal in the words of Anthropic's protocol, for everything below /anthropic.
import { type Static, Type } from 'typebox'
import type { Refusal, RefusalName } from '../core/refusal.ts'

const PREFIX = '/anthropic/'

/** Whoever asks there, right or wrong, speaks that protocol. */
export const speaksMessages = (url: string) => url.startsWith(PREFIX) || url.startsWith(`${PREFIX.slice(0, -1)}?`)

/** Where the status alone does not tell. */
const KINDS: { [Name in RefusalName]?: { status?: number; type: string } } = {
  quota_exceeded: { type: 'rate_limit_error' },
  body_too_large: { type: 'request_too_large' },
  upstream_failed: { type: 'api_error' },
  unavailable: { status: 529, type: 'overloaded_error' },
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

/** An upstream's own may say more. */
export const MessagesError = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String() }, { additionalProperties: true }),
    request_id: Type.Optional(Type.String()),
  },
  { title: 'MessagesError', additionalProperties: true },
)
type MessagesError = Static<typeof MessagesError>

export function messagesError({ kind, status, message }: Refusal, request_id: string) {
  const { type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'), status: other = status } =
    KINDS[kind] ?? {}
  const body: MessagesError = { type: 'error', error: { type, message }, request_id }
  return { status: other, body }
}
