// /v2/operator/providers as the pages of whoever runs the service use it.
import type { Change, Entered, OperatorProvider, ProviderVersion } from '../../src/providers/operator-provider.ts'
import type { ProviderTest } from '../../src/providers/provider-test.ts'
import { del, get, patch, post } from './api-client.ts'

export type { Change, Entered, OperatorProvider, ProviderTest, ProviderVersion }

const PATH = '/v2/operator/providers'
const at = (id: string) => `${PATH}/${encodeURIComponent(id)}`

export const listProviders = async (signal?: AbortSignal) =>
  (await get<{ data: OperatorProvider[] }>(PATH, signal)).data
export const findProvider = (id: string, signal?: AbortSignal) => get<OperatorProvider>(at(id), signal)
export const listVersions = async (id: string, signal?: AbortSignal) =>
  (await get<{ data: ProviderVersion[] }>(`${at(id)}/versions`, signal)).data

export const addProvider = (body: Entered, idempotency_key: string) =>
  post<OperatorProvider>(PATH, body, idempotency_key)
export const changeProvider = (id: string, change: Change) => patch<OperatorProvider>(at(id), change)
export const drainProvider = (id: string) => post<OperatorProvider>(`${at(id)}/drain`)
export const resumeProvider = (id: string) => post<OperatorProvider>(`${at(id)}/resume`)
export const restoreProvider = (id: string, body: { version: number; to_version: number }) =>
  post<OperatorProvider>(`${at(id)}/restore`, body)
export const removeProvider = (id: string, force: boolean) => del(`${at(id)}${force ? '?force=true' : ''}`)

export const testProvider = (id: string) => post<ProviderTest>(`${at(id)}/test`)
/** Before it is added. */
export const tryProvider = (body: Entered) => post<ProviderTest>(`${PATH}/test`, body)
