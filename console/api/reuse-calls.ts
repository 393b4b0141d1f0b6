// /v2/usage/reuse as the console uses it.
import type { ReuseBundle, ReusePlace, ReuseSummary } from '../../src/usage/reuse-summary.ts'
import { get } from './api-client.ts'
import { asked } from './usage-calls.ts'

export type { ReuseBundle, ReusePlace, ReuseSummary }

export const reuseSummary = (query: { from: string; to: string }, signal?: AbortSignal) =>
  get<ReuseSummary>(`/v2/usage/reuse?${asked(query)}`, signal)
