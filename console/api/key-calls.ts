// /v2/api-keys as the pages use it.
import type { Static } from 'typebox'
import type { SpendingLimit } from '../../src/core/spending-limit.ts'
import type { ApiKey, CreatedKey, NewKey, RevokedKey } from '../../src/keys/key.ts'
import type { ApiKeyLimits, NewKeyLimits } from '../../src/limits/key-limits.ts'
import { ApiError, del, get, post } from './api-client.ts'

export type { ApiKey, ApiKeyLimits, NewKey, NewKeyLimits }
export type CreatedApiKey = Static<typeof CreatedKey>

interface List<T> {
  data: T[]
}

const KEYS = '/v2/api-keys'

export const listKeys = async (signal?: AbortSignal) => (await get<List<ApiKey>>(KEYS, signal)).data

export async function findKey(id: string, signal?: AbortSignal): Promise<ApiKey> {
  const key = (await listKeys(signal)).find((one) => one.id === id)
  if (key) return key
  throw new ApiError(404, { type: 'invalid_request_error', message: `No API key '${id}' in this project.` })
}

export const createKey = (body: NewKey, idempotency_key: string) => post<CreatedApiKey>(KEYS, body, idempotency_key)

export const revokeKey = (id: string) => del<Static<typeof RevokedKey>>(`${KEYS}/${id}`)

export const setBudget = (id: string, body: SpendingLimit) => post<ApiKey>(`${KEYS}/${id}/budget`, body)

export const keyLimits = (id: string, signal?: AbortSignal) => get<ApiKeyLimits>(`${KEYS}/${id}/limits`, signal)

export const setKeyLimits = (id: string, body: NewKeyLimits) => post<ApiKeyLimits>(`${KEYS}/${id}/limits`, body)
