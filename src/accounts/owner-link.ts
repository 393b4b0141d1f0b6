// The link that makes the first person the owner of a project which nobody can sign in to (0160). The start prints it.
import { HOUR_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'

export const OWNER_LINK_LIFE_MS = 24 * HOUR_MS

/** Who owns what the first start makes, until somebody takes it over: an address without a mailbox or a password. */
export const PLACEHOLDER_EMAIL = 'owner@switchyard.local'

/** A link as it was printed, with the secret that is known there, once. */
export interface MintedLink {
  secret: string
  expires_at: number
}

export const deadOwnerLink = () =>
  new Refusal(
    'invalid_request',
    "The link behind 'token' was used, was replaced, or has expired. While nobody owns the project, " +
      '`switchyard owner-link` prints another one.',
  )

export const whoAreYou = () =>
  new Refusal('invalid_request', "'email' and 'password' are required where nobody is signed in.")
