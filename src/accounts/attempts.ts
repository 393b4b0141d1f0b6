// §5.9, §8, T-73: how often may be tried what attackers try often. Each attempt takes a slot before it is made.
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'

export interface Allowance {
  /** Tells the slots of one allowance from those of another. */
  name: string
  slots: number
  window_ms: number
}

export const FAILED_LOGINS: Allowance = { name: 'login', slots: 5, window_ms: 10 * MINUTE_MS } // §8
/** 0340: of those alone that look like an attack: codes and tokens that are not good. */
export const FAILED_ISSUER_LOGINS: Allowance = { ...FAILED_LOGINS, name: 'issuer login' }
/** 0342: wrong codes for one account, from wherever they come. */
export const SECOND_FACTOR_CODES: Allowance = { ...FAILED_LOGINS, name: 'second factor' }
export const SIGN_UPS_AND_RESETS: Allowance = { name: 'request', slots: 3, window_ms: HOUR_MS } // §8, T-73: one bucket

/**
 * Whoever asks, from however many addresses: nobody's mailbox is filled through us. Counted for each kind of mail by
 * itself, so that a flood of one cannot keep another away; of a flood of resets, the last link works.
 */
const mails = (kind: string): Allowance => ({ name: `mail ${kind}`, slots: 5, window_ms: HOUR_MS })
export const MAILS_TO_ONE = { sign_up: mails('sign-up'), reset: mails('reset') }

/**
 * R78: invitations are a project's mails, those that are withdrawn as well. One project's to an address leave most of
 * what that address takes in a day to others.
 */
export const INVITATIONS_TO_ONE: Allowance = { name: 'mail invitation', slots: 5, window_ms: DAY_MS }
export const INVITATIONS_OF_ALL_TO_ONE: Allowance = { name: 'mail invitation of all', slots: 20, window_ms: DAY_MS }
export const mailsOfProject = (slots: number): Allowance => ({ name: 'mail of project', slots, window_ms: DAY_MS })

export const bucketOf = ({ name }: Allowance, who: string) => `${name} ${who}`

const TOO_MANY: Record<string, string> = {
  [FAILED_LOGINS.name]: 'Too many failed logins from your address: at most 5 in 10 minutes.',
  [FAILED_ISSUER_LOGINS.name]: 'Too many failed logins from your address: at most 5 in 10 minutes.',
  [SECOND_FACTOR_CODES.name]: 'Too many wrong codes for this account: at most 5 in 10 minutes.',
  [SIGN_UPS_AND_RESETS.name]: 'Too many sign-ups and password resets from your address: at most 3 in an hour.',
  [INVITATIONS_TO_ONE.name]: 'Too many invitations of this project to this address: at most 5 in a day.',
  [INVITATIONS_OF_ALL_TO_ONE.name]: 'Too many invitations to this address: at most 20 in a day.',
  [mailsOfProject(0).name]: 'This project has sent as many mails as it may in a day.',
}

/** R49: `Retry-After` is in whole seconds and true: by then the oldest attempt has lapsed. */
export function tooMany({ name }: Allowance, free_at_ms: number, now: number): Refusal {
  const retry_after_s = Math.max(1, Math.ceil((free_at_ms - now) / SECOND_MS))
  const message = `${TOO_MANY[name] ?? 'Too many attempts.'} Try again in ${retry_after_s} seconds.`
  return new Refusal('rate_limited', message, { headers: { 'retry-after': String(retry_after_s) } })
}
