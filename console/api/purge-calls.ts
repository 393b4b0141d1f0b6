// /v2/purge-jobs as the pages use it.
import type { NewPurgeJob, PurgeFilter, PurgeJob } from '../../src/purges/purge-job.ts'
import { get, getBlob, post } from './api-client.ts'

export type { NewPurgeJob, PurgeFilter, PurgeJob }

const JOBS = '/v2/purge-jobs'

export const listPurges = async (signal?: AbortSignal): Promise<readonly PurgeJob[]> =>
  (await get<{ data: PurgeJob[] }>(JOBS, signal)).data

export const planPurge = (body: NewPurgeJob, idempotency_key: string) => post<PurgeJob>(JOBS, body, idempotency_key)

export const stepPurge = (id: string, step: 'erase' | 'cancel') => post<PurgeJob>(`${JOBS}/${id}/${step}`)

export const purgeReceipt = (id: string) => getBlob(`${JOBS}/${id}/receipt`)
