// What ties a sign-in through an issuer to one browser (0340): a secret in a short-lived cookie. The state that goes to
// the issuer and back is sealed with it, and nonce and PKCE verifier are made from it; so nothing is stored before
// somebody has come back, and who has the address of the way back but not the cookie has nothing.
import { MINUTE_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Proofs, SignInRefusal } from './issuer.ts'

export const SIGN_IN_WITHIN_MS = 10 * MINUTE_MS
const PLACE = 'sign-in state'
export const STATE_MAX = 4_096

interface Pending {
  issuer_id: string
  /** A page of the console. */
  to: string
  expires_at: number
}

export function newProofs(seals: Sealing, secret: string, pending: Omit<Pending, 'expires_at'>, now: number): Proofs {
  const { issuer_id, to } = pending
  const text = JSON.stringify({ issuer_id, to, expires_at: now + SIGN_IN_WITHIN_MS } satisfies Pending)
  return proofsWith(seals, secret, seals.seal(Buffer.from(text), secret, PLACE).toString('base64url'))
}

/** Throws where this browser did not begin it, with this issuer, within ten minutes. */
export function openState(seals: Sealing, secret: string | undefined, state: string | undefined, issuer_id: string) {
  if (secret === undefined || state === undefined) throw new SignInRefusal('no_state')
  const pending = opened(seals, secret, state)
  if (pending.issuer_id !== issuer_id) throw new SignInRefusal('no_state')
  return { ...pending, proofs: proofsWith(seals, secret, state) }
}

function opened(seals: Sealing, secret: string, state: string): Pending {
  try {
    return JSON.parse(seals.open(Buffer.from(state, 'base64url'), secret, PLACE).toString()) as Pending
  } catch (cause) {
    throw new SignInRefusal('no_state', cause)
  }
}

const proofsWith = (seals: Sealing, secret: string, state: string): Proofs => ({
  state,
  nonce: seals.sign('sign-in nonce', secret),
  verifier: seals.sign('sign-in verifier', secret),
})

/** A page of the console: never an address of somebody else's making. */
export function consolePath(to = '/'): string {
  if (!/^\/(?![/\\])[!-~]*$/.test(to)) throw new Refusal('invalid_request', "'to' must be a path of the console.")
  return to
}
