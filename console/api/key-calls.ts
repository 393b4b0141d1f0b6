// /v2/api-keys as the pages use it.
import type { Static } from 'typebox'
import type { KeySpendingLimit, Period } from '../../src/budgets/budget-window.ts'
import type { NewChild } from '../../src/keys/child-key.ts'
import type { ApiKey, CreatedKey, KeyChanges, NewKey, RevokedKey, Rotation } from '../../src/keys/key.ts'
import type { ApiKeyLimits, NewKeyLimits } from '../../src/limits/key-limits.ts'
import { del, get, patch, post } from './api-client.ts'
import { asked } from './usage-calls.ts'

export type { ApiKey, ApiKeyLimits, KeyChanges, KeySpendingLimit, NewChild, NewKey, NewKeyLimits, Period, Rotation }
export type CreatedApiKey = Static<typeof CreatedKey>

interface List<T> {
  data: T[]
  has_more: boolean
}

const KEYS = '/v2/api-keys'

const PAGE_KEYS = 1_000 // in one answer, ten thousand would keep the service from others for too long
const PAGES_MAX = 1_000

/** All keys, page by page. `tell` gets what is there so far, for whoever cannot wait. */
export async function listKeys(signal?: AbortSignal, tell?: (keys: readonly ApiKey[]) => void): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  for (let page = 0; page < PAGES_MAX; page++) {
    const after = keys.at(-1)?.id
    const { data, has_more } = await get<List<ApiKey>>(`${KEYS}?${asked({ limit: String(PAGE_KEYS), after })}`, signal)
    keys.push(...data)
    if (!has_more) break
    tell?.([...keys])
  }
  return keys
}

/** At most one: whose secret has this hash. */
export const keysOfSecret = async (sha256: string, signal?: AbortSignal) =>
  (await get<List<ApiKey>>(`${KEYS}?${asked({ sha256 })}`, signal)).data

/** Whether the project has one that works. */
export const anyKey = async (signal?: AbortSignal) =>
  (await get<List<ApiKey>>(`${KEYS}?${asked({ limit: '100' })}`, signal)).data.some(({ status }) => status === 'active')

export const findKey = (id: string, signal?: AbortSignal) => get<ApiKey>(`${KEYS}/${encodeURIComponent(id)}`, signal)

/** A key with those it belongs together with: its parent, or its children, newest first (R64). */
export interface Family {
  api_key: ApiKey
  parent: ApiKey | undefined
  children: readonly ApiKey[]
  /** Its own, and what holds for it. */
  limits: ApiKeyLimits
}

export async function findFamily(id: string, signal?: AbortSignal): Promise<Family> {
  const [api_key, children, limits] = await Promise.all([
    findKey(id, signal),
    get<List<ApiKey>>(`${KEYS}?${asked({ parent_id: id })}`, signal),
    keyLimits(id, signal),
  ])
  const parent = api_key.parent_id === undefined ? undefined : await findKey(api_key.parent_id, signal)
  return { api_key, parent, children: children.data, limits }
}

export const createKey = (body: NewKey, idempotency_key: string) => post<CreatedApiKey>(KEYS, body, idempotency_key)

export const revokeKey = (id: string) => del<Static<typeof RevokedKey>>(`${KEYS}/${id}`)

export const changeKey = (id: string, body: KeyChanges) => patch<ApiKey>(`${KEYS}/${id}`, body)

export const rotateKey = (id: string, body: Rotation, idempotency_key: string) =>
  post<CreatedApiKey>(`${KEYS}/${id}/rotate`, body, idempotency_key)

export const createChild = (id: string, body: NewChild, idempotency_key: string) =>
  post<CreatedApiKey>(`${KEYS}/${id}/children`, body, idempotency_key)

export const setBudget = (id: string, body: KeySpendingLimit) => post<ApiKey>(`${KEYS}/${id}/budget`, body)

export const keyLimits = (id: string, signal?: AbortSignal) =>
  get<ApiKeyLimits>(`${KEYS}/${encodeURIComponent(id)}/limits`, signal)

export const setKeyLimits = (id: string, body: NewKeyLimits) => post<ApiKeyLimits>(`${KEYS}/${id}/limits`, body)
