// What an API key is (§2.1), and how one is minted, masked and hashed (R4, R5).
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { base62, newId, randomBase62 } from '../core/ids.ts'
import { Scope } from '../core/scopes.ts'
import { Label, label, time } from '../core/shapes.ts'

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
  },
  { title: 'NewApiKey' },
)
export type NewKey = Static<typeof NewKey>

/** A key with what is only known, or only kept, at its making. */
export interface MintedKey {
  api_key: ApiKey
  raw: string
  hash: string
  origin: 'minted' | 'operator'
}

export function createKey(project_id: string, { name, scopes = ['inference'] }: NewKey, now: number): MintedKey {
  return describe(mint(), { project_id, name, scopes, origin: 'minted', now })
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
