// What opens a door without a password: the id of a session in a cookie, a link in a mail. Only its hash is stored.
import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { HOUR_MS } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'

const SECRET_LENGTH = 43 // 256 bits

export const newSecret = () => randomBase62(SECRET_LENGTH)

export const hashSecret = (secret: string) => hash('sha256', secret, 'base64url')

export const LinkToken = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'What the link holds behind `#token=`.',
})

export type TokenKind = 'verification' | 'reset'

export const TOKEN_LIFE_MS = { verification: 24 * HOUR_MS, reset: HOUR_MS } satisfies Record<TokenKind, number>

export function deadLink(): Refusal {
  return new Refusal('invalid_request', "'token' must be of a link that was neither used nor replaced nor has expired.")
}
