// /v2/api-keys as the pages use it.
import type { Static } from 'typebox'
import type { KeySpendingLimit, Period } from '../../src/budgets/budget-window.ts'
import type { NewChild } from '../../src/keys/child-key.ts'
import type { ApiKey, CreatedKey, KeyChanges, NewKey, RevokedKey, Rotation } from '../../src/keys/key.ts'
import type { ApiKeyLimits, NewKeyLimits } from '../../src/limits/key-limits.ts'
import { ApiError, del, get, patch, post } from './api-client.ts'

export type { ApiKey, ApiKeyLimits, KeyChanges, KeySpendingLimit, NewChild, NewKey, NewKeyLimits, Period, Rotation }
export type CreatedApiKey = Static<typeof CreatedKey>

interface List<T> {
  data: T[]
}

const KEYS = '/v2/api-keys'

export const listKeys = async (signal?: AbortSignal) => (await get<List<ApiKey>>(KEYS, signal)).data

/** A key with those it belongs together with: its parent, or its children, newest first (R64). */
export interface Family {
  api_key: ApiKey
  parent: ApiKey | undefined
  children: readonly ApiKey[]
}

export async function findFamily(id: string, signal?: AbortSignal): Promise<Family> {
  const keys = await listKeys(signal)
  const api_key = keys.find((one) => one.id === id)
  if (!api_key)
    throw new ApiError(404, { type: 'invalid_request_error', message: `No API key '${id}' in this project.` })
  const parent = keys.find((one) => one.id === api_key.parent_id)
  return { api_key, parent, children: keys.filter(({ parent_id }) => parent_id === id) }
}

export const createKey = (body: NewKey, idempotency_key: string) => post<CreatedApiKey>(KEYS, body, idempotency_key)

export const revokeKey = (id: string) => del<Static<typeof RevokedKey>>(`${KEYS}/${id}`)

export const changeKey = (id: string, body: KeyChanges) => patch<ApiKey>(`${KEYS}/${id}`, body)

export const rotateKey = (id: string, body: Rotation, idempotency_key: string) =>
  post<CreatedApiKey>(`${KEYS}/${id}/rotate`, body, idempotency_key)

export const createChild = (id: string, body: NewChild, idempotency_key: string) =>
  post<CreatedApiKey>(`${KEYS}/${id}/children`, body, idempotency_key)

export const setBudget = (id: string, body: KeySpendingLimit) => post<ApiKey>(`${KEYS}/${id}/budget`, body)

export const keyLimits = (id: string, signal?: AbortSignal) => get<ApiKeyLimits>(`${KEYS}/${id}/limits`, signal)

export const setKeyLimits = (id: string, body: NewKeyLimits) => post<ApiKeyLimits>(`${KEYS}/${id}/limits`, body)
