// A second factor beside the password: codes of six digits by time (RFC 6238), and recovery codes for who has lost the
// device (0342).
import { Secret, TOTP } from 'otpauth'
import { type Static, Type } from 'typebox'
import { SECOND_MS } from '../core/clock.ts'
import { randomBase62, randomNonce } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'

const SECRET_BYTES = 20 // RFC 4226, section 4: 160 bits
const PERIOD_S = 30
const WINDOW = 1 // a step before and after: clocks of telephones are not exact
const ISSUER = 'Switchyard'
export const RECOVERY_CODES = 10
const RECOVERY_PART = 8 // two of them: 95 bits

/** What somebody types: of the device, or a recovery code. */
export const Code = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Six digits of the device, or a recovery code.',
})

export const SecondFactor = Type.Object(
  {
    object: Type.Literal('second_factor'),
    enabled: Type.Boolean(),
    recovery_codes_left: Type.Integer(),
    has_password: Type.Boolean({
      description: 'Who has none signs in with an identity provider, which asks for its own.',
    }),
  },
  { title: 'SecondFactor' },
)
export type SecondFactor = Static<typeof SecondFactor>

export const Enrolment = Type.Object(
  {
    object: Type.Literal('second_factor.enrolment'),
    secret: Type.String({ description: 'In base32, for typing in. It is not told again.' }),
    uri: Type.String({ description: '`otpauth://…`, for a QR code.' }),
  },
  { title: 'SecondFactorEnrolment' },
)
export type Enrolment = Static<typeof Enrolment>

export const newFactorSecret = (): Uint8Array => new Uint8Array(randomNonce(SECRET_BYTES))

const totpOf = (secret: Uint8Array, label: string) =>
  new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1', // what every app can; the hash is not what these codes rest on
    digits: 6,
    period: PERIOD_S,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
  })

export function enrolmentOf(secret: Uint8Array, email: string): Enrolment {
  const totp = totpOf(secret, email)
  return { object: 'second_factor.enrolment', secret: totp.secret.base32, uri: totp.toString() }
}

/** The step of time that a code is of; undefined where it is of none that is near. */
export function stepOf(secret: Uint8Array, code: string, now: number): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totpOf(secret, '').validate({ token, timestamp: now, window: WINDOW })
  return delta === null ? undefined : Math.floor(now / (PERIOD_S * SECOND_MS)) + delta
}

export const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => `${randomBase62(RECOVERY_PART)}-${randomBase62(RECOVERY_PART)}`)

export const isRecoveryForm = (code: string) => /^[0-9A-Za-z]{8}-[0-9A-Za-z]{8}$/.test(code.trim())

/** 0365: everything but `/auth` waits for it, where the project or the operator says so. */
export const secondFactorMissing = () =>
  new Refusal(
    'second_factor_missing',
    'This project is open to those alone who sign in with a second factor. Set one up in the console, or with ' +
      'POST /auth/second-factor; you stay signed in.',
  )

export const secondFactorRequired = () =>
  new Refusal('second_factor_required', "'code' is required: this account has a second factor.")

export const wrongCode = () =>
  new Refusal(
    'invalid_credentials',
    "'code' must be one that the device shows now and that was not used, or a recovery code.",
  )

export const noPassword = () =>
  new Refusal('invalid_request', 'Your account has no password: your identity provider asks for its own second factor.')

export const alreadyEnabled = () =>
  new Refusal('invalid_request', 'A second factor is set up already. Remove it first.')

export const notBegun = () => new Refusal('invalid_request', 'No second factor is being set up. Begin again.')
