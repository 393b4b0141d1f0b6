// What an API key is (§2.1), and how one is minted, masked and hashed (R4, R5).
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { BudgetWindow, windowEnd } from '../budgets/budget-window.ts'
import { rfc3339, SECOND_MS } from '../core/clock.ts'
import { base62, newId, randomBase62 } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Scope } from '../core/scopes.ts'
import { Label, label, time } from '../core/shapes.ts'
import { limitMicros, SpendingLimit } from '../core/spending-limit.ts'
import { MaxParallelRequests } from '../limits/policy.ts'
import { AllowedCidrs, AllowedClusters, AllowedModels, ClampOutput, checkedTerms, KeyTerms } from './key-terms.ts'

export const KEY_PREFIX = 'svc_live_' // §5.2

export const ApiKey = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `key_`.' }),
    object: Type.Literal('api_key'),
    project_id: Type.String(),
    name: Type.String(),
    masked: Type.String({ description: 'Leading characters, an ellipsis, the last four.' }),
    scopes: Type.Array(Scope),
    status: Type.Enum(['active', 'revoked']),
    created_at: time(),
    last_used_at: Type.Optional(time()),
    budget_micros: Type.Optional(Type.Integer({ description: 'Spending limit in micro-USD; absent without a limit.' })),
    spent_micros: Type.Integer(),
    expires_at: Type.Optional(time()),
    previous_expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Until when the secret before the last rotation works too.' }),
    ),
    parent_id: Type.Optional(Type.String({ description: 'Only of a child key: whose money it spends.' })),
    allowed_models: Type.Optional(AllowedModels),
    allowed_cidrs: Type.Optional(AllowedCidrs),
    allowed_clusters: Type.Optional(AllowedClusters),
    clamp_output: Type.Optional(ClampOutput),
    max_parallel_requests: Type.Optional(MaxParallelRequests),
    window: Type.Optional(BudgetWindow),
  },
  { title: 'ApiKey' },
)
export type ApiKey = Static<typeof ApiKey>

export const CreatedKey = Type.Object(
  { ...ApiKey.properties, key: Type.String({ description: 'The raw key: shown here, once, and never again.' }) },
  { title: 'CreatedApiKey' },
)

export const RevokedKey = Type.Object(
  { id: Type.String(), object: Type.Literal('api_key.revoked'), revoked: Type.Literal(true) },
  { title: 'RevokedApiKey' },
)

export const NewKey = Type.Object(
  {
    name: Label('What people call it.'),
    scopes: Type.Optional(Type.Array(Scope, { minItems: 1, default: ['inference'] })),
    ...SpendingLimit.properties,
    ...KeyTerms.properties,
  },
  { title: 'NewApiKey' },
)
export type NewKey = Static<typeof NewKey>

export const KeyChanges = Type.Object(
  { name: Type.Optional(Label('What people call it.')), ...KeyTerms.properties },
  { title: 'ApiKeyChanges' },
)
export type KeyChanges = Static<typeof KeyChanges>

const OVERLAP_MAX_S = 7 * 24 * 60 * 60
const OVERLAP_DEFAULT_S = 24 * 60 * 60

export const Rotation = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_MAX_S,
        default: OVERLAP_DEFAULT_S,
        description: 'How long the secret of before works beside the new one; 0 ends it at once.',
      }),
    ),
  },
  { title: 'Rotation' },
)
export type Rotation = Static<typeof Rotation>

/** A key with what is only known, or only kept, at its making. */
export interface MintedKey {
  api_key: ApiKey
  raw: string
  hash: string
  origin: 'minted' | 'operator'
}

export function createKey(project_id: string, asked: NewKey, now: number): MintedKey {
  const { name, scopes = ['inference'] } = asked
  const minted = describe(mint(), { project_id, name, scopes, origin: 'minted', now })
  const checked = checkedTerms(asked, now)
  const { expires_at, allowed_models, allowed_cidrs, allowed_clusters, clamp_output, max_parallel_requests } = checked
  const budget_micros = limitMicros(asked) ?? undefined
  const terms = {
    ...(budget_micros !== undefined && { budget_micros }),
    ...(expires_at && { expires_at: rfc3339(expires_at) }),
    ...(allowed_models && { allowed_models: [...allowed_models] }),
    ...(allowed_cidrs && { allowed_cidrs: [...allowed_cidrs] }),
    ...(allowed_clusters && { allowed_clusters: [...allowed_clusters] }),
    ...(clamp_output && { clamp_output }),
    ...(max_parallel_requests && { max_parallel_requests }),
  }
  return { ...minted, api_key: { ...minted.api_key, ...terms } }
}

/** What a key is at this moment, from what was last written of it. */
export function asOf(key: ApiKey, now: number): ApiKey {
  const { previous_expires_at, window, ...rest } = key
  const until = previous_expires_at && earlier(previous_expires_at, key.expires_at)
  const overlaps = until !== undefined && Date.parse(until) > now
  const ended = window !== undefined && Date.parse(window.resets_at) <= now
  const anew = ended && { spent_micros: 0, resets_at: rfc3339(windowEnd(window.period, now)) }
  return { ...rest, ...(overlaps && { previous_expires_at: until }), ...(window && { window: { ...window, ...anew } }) }
}

/** No secret works for longer than its key (R60). Times of ours compare as text. */
const earlier = (time: string, end = time) => (end < time ? end : time)

export type KeyEdit = ReturnType<typeof keyEdit>

/** What a body asks to change, checked. A child ends when it was made to: its money comes back then. */
export function keyEdit({ parent_id }: ApiKey, { name, ...terms }: KeyChanges, now: number) {
  if (parent_id !== undefined && terms.expires_at !== undefined)
    throw new Refusal('invalid_request', "'expires_at' of a child key cannot be changed. Revoke it to end it earlier.")
  if (parent_id !== undefined && terms.max_parallel_requests !== undefined)
    throw new Refusal('invalid_request', "A child key has the 'max_parallel_requests' of its parent.")
  return { name: name === undefined ? undefined : label('name', name), ...checkedTerms(terms, now) }
}

/** R74: nobody could make a key for the project any more, but for people who sign in. */
export const lastAdmin = () =>
  new Refusal(
    'invalid_request',
    "This is the project's last active key with the 'admin' scope, and the one that you are using: the project would " +
      'be left without any. Make another one first (POST /v2/api-keys), and end this one with that.',
  )

/** R74: the same, where it would work from anywhere but from where its holder is. */
export const shutOut = () =>
  new Refusal(
    'invalid_request',
    "'allowed_cidrs' must contain the address that you ask from: this is the project's last active key with the " +
      "'admin' scope, and nobody could use it. Make another one first (POST /v2/api-keys), and bind this one then.",
  )

/** Whether an edit brings a key's end nearer. */
export const endsSooner = ({ expires_at }: Pick<ApiKey, 'expires_at'>, wanted: number | null | undefined) =>
  typeof wanted === 'number' && (expires_at === undefined || wanted < Date.parse(expires_at))

export const endedKey = () =>
  new Refusal('invalid_request', 'This API key is revoked or has expired: it has no secret to rotate.')

/** A new secret for a key that is there already. */
export interface NewSecret {
  raw: string
  hash: string
  masked: string
  /** From when on the secret of before is good for nothing. */
  previous_expires_at: number
}

/** R61. */
export function rotateSecret({ overlap_seconds = OVERLAP_DEFAULT_S }: Rotation, now: number): NewSecret {
  const raw = mint()
  return { raw, hash: hashKey(raw), masked: mask(raw), previous_expires_at: now + overlap_seconds * SECOND_MS }
}

/** R5: a key that the operator chose, for automation. */
export function adoptKey(project_id: string, raw: string, now: number): MintedKey {
  return describe(raw, { project_id, name: 'bootstrap', scopes: ['admin'], origin: 'operator', now })
}

interface Making {
  project_id: string
  name: string
  scopes: readonly Scope[]
  origin: MintedKey['origin']
  now: number
}

function describe(raw: string, { project_id, name, scopes, origin, now }: Making): MintedKey {
  const api_key: ApiKey = {
    id: newId('key'),
    object: 'api_key',
    project_id,
    name: label('name', name),
    masked: mask(raw),
    scopes: [...new Set(scopes)],
    status: 'active',
    created_at: rfc3339(now),
    spent_micros: 0,
  }
  return { api_key, raw, hash: hashKey(raw), origin }
}

const RANDOM_LENGTH = 36 // 214 bits
const CHECK_LENGTH = 6
const MINTED = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`)
const OPERATOR = new RegExp(`^${KEY_PREFIX}[\\x21-\\x7e]{32,1024}$`)

function mint(): string {
  const body = KEY_PREFIX + randomBase62(RANDOM_LENGTH)
  return body + checksum(body)
}

const checksum = (text: string) => base62(crc32(text), CHECK_LENGTH)

/** R5: a mistyped key is told from a real one without asking the database. */
export function isMintedForm(raw: string): boolean {
  return MINTED.test(raw) && checksum(raw.slice(0, -CHECK_LENGTH)) === raw.slice(-CHECK_LENGTH)
}

export const isOperatorForm = (raw: string) => OPERATOR.test(raw)

export const mask = (raw: string) => `${raw.slice(0, 13)}…${raw.slice(-4)}` // R4

export const hashKey = (raw: string) => hash('sha256', raw, 'base64url')
