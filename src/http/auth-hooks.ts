// §5: bearer key or session cookie → caller (401), then what the caller may do (403).
import type { FastifyContextConfig, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Caller } from '../core/caller.ts'
import type { Address } from '../core/ip-address.ts'
import { type MaybePromise, settleNow } from '../core/maybe-promise.ts'
import { Refusal } from '../core/refusal.ts'
import { allows } from '../core/scopes.ts'
import { headerValues } from './routes.ts'

/** How a raw key becomes a caller; the room of keys knows. */
export interface Holders {
  find(raw: string, from: () => Address | undefined): MaybePromise<Caller | undefined>
}

/** How a browser that somebody signed in with becomes a caller; the room of accounts knows. */
export interface Browsers {
  callerOf(request: FastifyRequest, reply: FastifyReply): Promise<Caller | undefined>
}

const KEY_LENGTH_MAX = 2_048
const BEARER = /^bearer +(\S+) *$/i

/** Where a request comes from, as far as trusted proxies tell it. */
export type AddressOf = (request: FastifyRequest) => Address | undefined

/** Whose a request is that this process makes itself, for whoever asked for that. */
export type OwnCallerOf = (request: FastifyRequest) => Caller | undefined

export interface Authenticators {
  holders: Holders
  browsers: Browsers
  addressOf: AddressOf
  ownCallerOf: OwnCallerOf
}

export function authenticate({ holders, browsers, addressOf, ownCallerOf }: Authenticators): onRequestHookHandler {
  return (request, reply, done) => {
    const own_caller = ownCallerOf(request)
    if (own_caller) {
      request.caller = own_caller
      return done()
    }
    const raw = keyIn(request)
    const enter = (caller: Caller | undefined) => {
      if (!caller) return done(unauthenticated(raw, keyHeader(request)))
      request.caller = caller
      done()
    }
    if (isBrowsers(request)) settleNow(browsers.callerOf(request, reply), enter, done)
    else if (raw === undefined) enter(undefined)
    else
      settleNow(
        holders.find(raw, () => addressOf(request)),
        enter,
        done,
      )
  }
}

/** T-102: programs speak `/v1` and send a key. Where a key is sent, right or wrong, a cookie counts for nothing. */
const isBrowsers = ({ headers, route }: FastifyRequest) =>
  headers.cookie !== undefined && headers.authorization === undefined && (route.url ?? '').startsWith('/v2/')

/** R81: clients of Anthropic's protocol say `x-api-key`, Azure's `api-key`; or Bearer, or both alike. */
function keyHeader({ route: { config } }: FastifyRequest): string | undefined {
  return config.x_api_key ? 'x-api-key' : config.api_key && 'api-key'
}

/** Two that differ are none. */
function keyIn(request: FastifyRequest): string | undefined {
  const { rawHeaders } = request.raw
  const name = keyHeader(request)
  if (name === undefined) return bearer(rawHeaders)
  const values = headerValues(rawHeaders, name)
  if (values.length === 0) return bearer(rawHeaders)
  const [key] = values
  if (values.length > 1 || key === undefined || !/^\S+$/.test(key) || key.length > KEY_LENGTH_MAX) return undefined
  const has_bearer = headerValues(rawHeaders, 'authorization').length > 0
  return has_bearer && bearer(rawHeaders) !== key ? undefined : key
}

function bearer(rawHeaders: readonly string[]): string | undefined {
  const values = headerValues(rawHeaders, 'authorization')
  const [value] = values
  if (values.length !== 1 || value === undefined || value.length > KEY_LENGTH_MAX) return undefined
  return BEARER.exec(value)?.[1]
}

function unauthenticated(raw: string | undefined, key_header: string | undefined): Refusal {
  if (raw !== undefined) return invalidKey()
  if (key_header === undefined) return invalidKey('Send your API key as one header: Authorization: Bearer svc_live_…')
  return invalidKey(
    `Send your API key as ${key_header} or as Authorization: Bearer; where both are sent, the same in both.`,
  )
}

/** The same words for every key that does not work, so that none of them tells why (R60, R63). */
export const invalidKey = (message = 'This API key is not valid: it is mistyped, unknown or revoked.') =>
  new Refusal('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } })

/** R79: whether this is the project that the first start made; the room of accounts knows. */
export type IsOperators = (project_id: string) => MaybePromise<boolean>

export const authorize =
  (isOperators: IsOperators): onRequestHookHandler =>
  ({ route, caller, params }, _reply, done) => {
    const refused = refusalOf(route.config, caller, params)
    if (refused || !route.config.operator) return done(refused)
    settleNow(isOperators(caller.project_id), (is) => done(is ? undefined : operatorsAlone()), done)
  }

function refusalOf(config: FastifyContextConfig, caller: Caller, params: unknown): Refusal | undefined {
  const { scope, verified_owner, forbidden, while_suspended } = config
  const { scopes, owner_verified, is_suspended } = caller
  if (is_suspended && !(while_suspended && allows(scopes, 'admin'))) return suspended()
  if (scope && !allows(scopes, scope))
    return new Refusal(
      'insufficient_scope',
      `This needs a key with the '${scope}' scope; yours has: ${scopes.join(', ')}.`,
    )
  if (verified_owner && !owner_verified)
    return new Refusal('insufficient_scope', "Verify the project owner's e-mail address before creating keys.")
  return forbidden?.(caller, params)
}

/** The same words for every path and every id: none of them tells what there is (0215). */
const operatorsAlone = () =>
  new Refusal('insufficient_scope', 'This belongs to whoever runs this service, and not to a project.')

const suspended = () =>
  new Refusal(
    'project_suspended',
    'This project is suspended by whoever runs this service. Ask them. An admin can still read its usage.',
    { headers: { 'x-should-retry': 'false' } },
  )
