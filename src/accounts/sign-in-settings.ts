// `sign_in:` in switchyard.yaml: whose identity provider people may sign in with, and how long a session lasts (0340).
import { type Static, Type } from 'typebox'
import { HOUR_MS } from '../core/clock.ts'
import { Role } from './roles.ts'

const closed = { additionalProperties: false }
const HOURS_MAX = 10 * 365 * 24
const USUAL_IDLE_HOURS = 14 * 24
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const ProjectId = Type.String({ pattern: '^prj_[0-9A-Za-z]{1,60}$' })
const Hours = Type.Integer({ minimum: 1, maximum: HOURS_MAX })

const Grant = { project: ProjectId, role: Role }

const IssuerShape = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,31}$', description: 'Part of the redirect address.' }),
    name: Text(64),
    issuer: Text(2_048),
    client_id: Text(512),
    client_secret: Type.Optional(Text(4_096)),
    scopes: Type.Array(Type.String({ pattern: '^[!#-\\[\\]-~]{1,128}$' }), {
      default: ['openid', 'email', 'profile'],
      maxItems: 30,
    }),
    domains: Type.Array(Text(253), { default: [], maxItems: 100 }),
    email_verified_claim: Type.String({ minLength: 1, maxLength: 128, default: 'email_verified' }),
    roles: Type.Array(Type.Object({ claim: Text(256), value: Text(512), ...Grant }, closed), {
      default: [],
      maxItems: 500,
    }),
    default_role: Type.Optional(Type.Object(Grant, closed)),
    sign_out: Type.Enum(['issuer', 'local'], { default: 'issuer' }),
  },
  closed,
)
export type IssuerSettings = Static<typeof IssuerShape>

export const SignInShape = Type.Object(
  {
    session: Type.Object(
      { idle_hours: Type.Integer({ ...Hours, default: USUAL_IDLE_HOURS }), lifetime_hours: Type.Optional(Hours) },
      { ...closed, default: {} },
    ),
    second_factor: Type.Enum(['optional', 'required'], { default: 'optional' }),
    issuers: Type.Array(IssuerShape, { default: [], maxItems: 20 }),
  },
  { ...closed, default: {} },
)
export type SignInFile = Static<typeof SignInShape>

/** How long somebody stays signed in: after the last use, and at the most. */
export interface SessionLimits {
  idle_ms: number
  /** Null: for as long as it is used. */
  lifetime_ms: number | null
}

export interface SignInSettings {
  session: SessionLimits
  /** 0365: of everybody who signs in with a password, whatever their projects say. */
  second_factor_required: boolean
  issuers: readonly IssuerSettings[]
}

export const USUAL_SESSION: SessionLimits = { idle_ms: USUAL_IDLE_HOURS * HOUR_MS, lifetime_ms: null }

export function signInSettings({ session, second_factor, issuers }: SignInFile): SignInSettings {
  const { idle_hours, lifetime_hours } = session
  const lifetime_ms = lifetime_hours === undefined ? null : lifetime_hours * HOUR_MS
  const second_factor_required = second_factor === 'required'
  return { session: { idle_ms: idle_hours * HOUR_MS, lifetime_ms }, second_factor_required, issuers }
}

/** Tells what no shape can say: `at` is a pointer below `sign_in`. */
export function checkSignIn({ issuers }: SignInFile, wrong: (at: string, message: string) => void): void {
  const domains = issuers.flatMap((issuer) => issuer.domains)
  for (const [index, issuer] of issuers.entries()) {
    const at = (field: string, message: string) =>
      wrong(`/issuers/${index}/${field}`, `'sign_in.issuers[${index}].${field.replace(/\/(\d+)/, '[$1]')}' ${message}`)
    if (issuers.findIndex(({ id }) => id === issuer.id) !== index) at('id', `'${issuer.id}' is there twice`)
    if (issuers.findIndex((one) => one.issuer === issuer.issuer) !== index) at('issuer', 'is there twice')
    if (!isIssuerAddress(issuer.issuer))
      at('issuer', 'must be an https address without a query (http only for this machine)')
    if (!issuer.scopes.includes('openid')) at('scopes', "must have 'openid'")
    for (const [n, domain] of issuer.domains.entries()) {
      if (!DOMAIN.test(domain)) at(`domains/${n}`, 'must be a domain in small letters, such as example.com')
      if (domains.filter((one) => one === domain).length > 1) at(`domains/${n}`, `'${domain}' is there twice`)
    }
  }
}

const DOMAIN = /^[^\s@./\p{Lu}]+(\.[^\s@./\p{Lu}]+)+$/u
const THIS_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

function isIssuerAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.search !== '' || url.hash !== '' || url.username !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && THIS_MACHINE.test(url.hostname))
}

export const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)

/** Whose people must sign in there, and nowhere else. */
export const boundTo = (issuers: readonly IssuerSettings[], email: string): IssuerSettings | undefined =>
  issuers.find(({ domains }) => domains.includes(domainOf(email)))
