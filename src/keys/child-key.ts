// R64: keys for one run of an agent, made of a parent's money. They end by themselves, and with their parent.
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { rfc3339, SECOND_MS } from '../core/clock.ts'
import { USD_MAX } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { allows } from '../core/scopes.ts'
import { Label } from '../core/shapes.ts'
import { usdMicros } from '../core/spending-limit.ts'
import { type ApiKey, createKey, type MintedKey } from './key.ts'
import { AllowedModels, isWithin, modelNames } from './key-terms.ts'

export const CHILDREN_MAX = 1_000 // of one parent at a time
const TTL_MAX_S = 30 * 24 * 60 * 60

export const NewChild = Type.Object(
  {
    name: Label('What people call it.'),
    limit_usd: Type.Number({
      minimum: 0,
      maximum: USD_MAX,
      description: 'USD, at most six decimals: held on the parent and the project until the child ends.',
    }),
    ttl_seconds: Type.Integer({ minimum: 1, maximum: TTL_MAX_S, description: 'It never outlives its parent.' }),
    scopes: Type.Optional(Type.Array(Type.Enum(['read', 'inference']), { minItems: 1, default: ['inference'] })),
    allowed_models: Type.Optional(AllowedModels),
  },
  { title: 'NewChildKey' },
)
export type NewChild = Static<typeof NewChild>

/** An orchestrator carries an `inference` key, and needs no more than that to share out what it has. */
export function forbiddenToMint({ scopes, key_id }: Pick<Caller, 'scopes' | 'key_id'>, parent_id: string) {
  if (allows(scopes, 'admin') || key_id === parent_id) return undefined
  return new Refusal('insufficient_scope', "Without the 'admin' scope, a key makes child keys of itself only.")
}

/** What a child is to be, once its parent has been asked. */
export function createChild(parent: ApiKey, asked: NewChild, now: number): MintedKey {
  const { name, scopes = ['inference'], allowed_models, limit_usd, ttl_seconds } = asked
  if (parent.parent_id !== undefined) throw new Refusal('invalid_request', 'A child key has no children of its own.')
  for (const scope of scopes)
    if (!allows(parent.scopes, scope))
      throw new Refusal('invalid_request', `'scopes' must be among those of the parent; it lacks '${scope}'.`)
  const models = allowed_models && modelNames(allowed_models)
  assertAmong(parent, models)
  const minted = createKey(parent.project_id, { name, scopes }, now)
  const api_key: ApiKey = {
    ...minted.api_key,
    parent_id: parent.id,
    budget_micros: usdMicros('limit_usd', limit_usd),
    expires_at: rfc3339(now + ttl_seconds * SECOND_MS),
    ...(models && { allowed_models: [...models] }),
  }
  return { ...minted, api_key }
}

/** R62: what a child may name, its parent may too; both lists are asked at every call all the same. */
export function assertAmong(
  parent: Pick<ApiKey, 'allowed_models'>,
  models: readonly string[] | null | undefined,
): void {
  if (models && parent.allowed_models && !isWithin(parent.allowed_models, models))
    throw new Refusal('invalid_request', "'allowed_models' must be among those of the parent.")
}

interface RunKey {
  project_id: string
  parent_id: string
  name: string
  budget_micros: number
  expires_ms: number
}

/** A child for what this service does itself in a parent's name: nobody gets its secret. */
export function createRunKey({ project_id, parent_id, name, budget_micros, expires_ms }: RunKey, now: number) {
  const minted = createKey(project_id, { name, scopes: ['inference'] }, now)
  const api_key: ApiKey = { ...minted.api_key, parent_id, budget_micros, expires_at: rfc3339(expires_ms) }
  return { ...minted, api_key } satisfies MintedKey
}

/** What a child may spend was carved out of its parent when it was made. */
export function refuseChild({ parent_id }: ApiKey): void {
  if (parent_id !== undefined) throw new Refusal('invalid_request', 'The budget of a child key cannot be changed.')
}

/** Money that went from a parent to a child that is about to be; the room of budgets knows how. */
export interface Carving {
  carve(parent: CarvedFrom, micros: number, now: number): Promise<Carved>
  revokeFamily(project_id: string, key_id: string, now: number): Promise<void>
}

export interface CarvedFrom {
  project_id: string
  key_id: string
  children_max: number
}

export type Carved = { kind: 'carved'; parent_expires_at: number | null } | { kind: 'ended' } | { kind: 'full' }

/** The child with the end that its parent leaves it; refused where the parent can have none. */
export function bornOf(child: MintedKey, carved: Carved): MintedKey {
  if (carved.kind === 'ended') throw new Refusal('invalid_request', 'The parent key is revoked or has expired.')
  if (carved.kind === 'full')
    throw new Refusal('invalid_request', `A key has at most ${CHILDREN_MAX} child keys at a time. Revoke one first.`)
  const { parent_expires_at } = carved
  const { expires_at = '' } = child.api_key
  const earlier = parent_expires_at !== null && parent_expires_at < Date.parse(expires_at)
  return earlier ? { ...child, api_key: { ...child.api_key, expires_at: rfc3339(parent_expires_at) } } : child
}
