// A project's own key at a provider (BYOK). The secret goes in once: it is sealed at rest, never shown again, and gone
// with the revocation.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, time } from '../core/shapes.ts'
import { WebAddress, webAddress } from '../core/web-address.ts'

const SECRET_MAX = 4_096
const SHOWABLE = 16 // below it, four characters at each end would be too much of the secret

export const Credential = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `pcr_`.' }),
    object: Type.Literal('provider_credential'),
    project_id: Type.String(),
    provider: Type.String(),
    name: Type.String(),
    masked: Type.String({ description: 'The secret’s first four characters, an ellipsis, its last four.' }),
    base_url: Type.Optional(Type.String()),
    status: Type.Enum(['active', 'refused', 'revoked'], {
      description: '`refused`: the provider does not take it. Nothing goes through it until it is verified.',
    }),
    created_at: time(),
    verified_at: Type.Optional(time()),
  },
  { title: 'ProviderCredential' },
)
export type Credential = Static<typeof Credential>

export const RevokedCredential = Type.Object(
  { id: Type.String(), object: Type.Literal('provider_credential.revoked'), revoked: Type.Literal(true) },
  { title: 'RevokedProviderCredential' },
)

export const NewCredential = Type.Object(
  {
    provider: Label('The id of the provider that it is for, such as `openai`.'),
    name: Label('What people call it.'),
    secret: Type.String({ minLength: 1, maxLength: SECRET_MAX, description: 'Kept sealed and never shown again.' }),
    base_url: Type.Optional(
      WebAddress('Where to call, if not at the provider’s public address. Required where that is not known.'),
    ),
  },
  { title: 'NewProviderCredential' },
)
export type NewCredential = Static<typeof NewCredential>

/** A credential with its secret, which is only known at its making. */
export interface EnteredCredential {
  credential: Credential
  secret: string
}

/** R73: so often in a row, and nothing goes through it any more. */
export const REFUSALS_MAX = 3

/** What a provider answers to a credential that it does not take. */
export const isRefusal = (status: number) => status === 401 || status === 403

/** R79: an operator's upstream is nobody's own, unless the operator says so. */
export const noAddress = (provider: string) =>
  new Refusal(
    'invalid_request',
    `'base_url' must be given for '${provider}': it is not a provider whose public address is known here.`,
  )

export function enterCredential(project_id: string, asked: NewCredential, now: number): EnteredCredential {
  const secret = headerSafe(asked.secret)
  const credential: Credential = {
    id: newId('pcr'),
    object: 'provider_credential',
    project_id,
    provider: label('provider', asked.provider),
    name: label('name', asked.name),
    masked: maskSecret(secret),
    ...(asked.base_url !== undefined && { base_url: webAddress('base_url', asked.base_url) }),
    status: 'active',
    created_at: rfc3339(now),
  }
  return { credential, secret }
}

export const maskSecret = (secret: string) =>
  secret.length < SHOWABLE ? '…' : `${secret.slice(0, 4)}…${secret.slice(-4)}`

/** It travels in a header: a line break in it would begin another one. */
function headerSafe(secret: string): string {
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new Refusal('invalid_request', "'secret' must be made of visible ASCII characters, without blanks.")
  return secret
}

/** What the provider says of a credential. Rejects with a Refusal where it could not be asked. */
export type VerifyCredential = (credential: Credential, secret: string) => Promise<'active' | 'refused'>
