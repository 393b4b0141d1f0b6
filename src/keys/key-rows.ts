// From a row of keys to the key that is shown, and to the caller that it speaks for.

import { countsOverage, hardCap } from '../budgets/budget.ts'
import type { Period } from '../budgets/budget-window.ts'
import type { Caller } from '../core/caller.ts'
import { rfc3339 } from '../core/clock.ts'
import type { Scope } from '../core/scopes.ts'
import { ratesIn } from '../limits/model-rates.ts'
import type { ApiKey } from './key.ts'

export interface KeyRow {
  id: string
  project_id: string
  name: string
  masked: string
  scopes: string
  status: ApiKey['status']
  created_at: string
  last_used_at: string | null
  budget_micros: number | null
  spent_micros: number
  expires_at: number | null
  previous_expires_at: number | null
  parent_id: string | null
  allowed_models: string | null
  allowed_cidrs: string | null
  allowed_clusters: string | null
  window_period: Period | null
  window_limit_micros: number | null
  window_spent_micros: number
  window_ends_at: number | null
  clamp_output: number | null
  max_parallel_requests: number | null
}

export function keyOf(row: KeyRow): ApiKey {
  const { id, project_id, name, masked, scopes, status, created_at, last_used_at, budget_micros, spent_micros } = row
  return {
    id,
    object: 'api_key',
    project_id,
    name,
    masked,
    scopes: scopes.split(' ') as Scope[],
    status,
    created_at,
    ...(last_used_at !== null && { last_used_at }),
    ...(budget_micros !== null && { budget_micros }),
    spent_micros,
    ...termsOf(row),
  }
}

function termsOf(row: KeyRow): Partial<ApiKey> {
  const { expires_at, previous_expires_at, parent_id, allowed_models, allowed_cidrs, allowed_clusters } = row
  const { window_period: period, window_limit_micros, window_spent_micros, window_ends_at } = row
  return {
    ...(expires_at !== null && { expires_at: rfc3339(expires_at) }),
    ...(previous_expires_at !== null && { previous_expires_at: rfc3339(previous_expires_at) }),
    ...(parent_id !== null && { parent_id }),
    ...(allowed_models !== null && { allowed_models: JSON.parse(allowed_models) }),
    ...(allowed_cidrs !== null && { allowed_cidrs: JSON.parse(allowed_cidrs) }),
    ...(allowed_clusters !== null && { allowed_clusters: JSON.parse(allowed_clusters) }),
    ...(row.clamp_output && { clamp_output: true as const }),
    ...(row.max_parallel_requests !== null && { max_parallel_requests: row.max_parallel_requests }),
    ...(period !== null && {
      window: {
        period,
        limit_micros: window_limit_micros ?? 0,
        spent_micros: window_spent_micros,
        resets_at: rfc3339(window_ends_at ?? 0),
      },
    }),
  }
}

export interface HolderRow {
  key_id: string
  project_id: string
  scopes: string
  verified_at: string | null
  budget_micros: number | null
  window_limit_micros: number | null
  cap_micros: number | null
  operator_cap_micros: number | null
  overage_enabled: number
  suspended_at: string | null
  share: number
  routing_epoch: number
  memory_epoch: number
  records_since_ms: number | null
  requests_per_minute: number | null
  tokens_per_minute: number | null
  concurrent_streams: number | null
  max_parallel_requests: number | null
  model_rates: string | null
  parent_id: string | null
  allowed_models: string | null
  allowed_cidrs: string | null
  parent_models: string | null
  parent_cidrs: string | null
  allowed_clusters: string | null
  parent_clusters: string | null
  expires_at: number | null
  previous_expires_at: number | null
  clamp_output: number | null
  /** Whether there are any. */
  tag_budgets: number
}

/** `by` which of its two secrets (R61). */
export function holderOf(row: HolderRow, by: 'hash' | 'previous_hash'): Caller {
  const { key_id, project_id, routing_epoch, scopes, verified_at, budget_micros } = row
  const { requests_per_minute, tokens_per_minute, concurrent_streams, max_parallel_requests } = row
  const models = ratesIn(row.model_rates)
  const limits = { requests_per_minute, tokens_per_minute, concurrent_streams, max_parallel_requests, models }
  const caller: Caller = {
    key_id,
    project_id,
    routing_epoch,
    scopes: scopes.split(' ') as Scope[],
    owner_verified: verified_at !== null,
    budget_micros: budget_micros ?? undefined,
    project_cap_micros: hardCap(row),
    ...(Object.values(limits).some((limit) => limit !== null) && { limits }),
  }
  if (row.window_limit_micros !== null) caller.window_limit_micros = row.window_limit_micros
  if (countsOverage(row)) caller.counts_overage = true
  if (row.suspended_at !== null) caller.is_suspended = true
  if (row.clamp_output) caller.clamp_output = true
  if (row.share !== 1) caller.share = row.share
  if (row.memory_epoch > 0) caller.memory_epoch = row.memory_epoch
  if (row.records_since_ms !== null) caller.records = true
  if (row.tag_budgets === 0) caller.has_no_tag_budgets = true
  if (row.parent_id !== null) caller.parent_id = row.parent_id
  const ends = by === 'hash' ? [row.expires_at] : [row.expires_at, row.previous_expires_at]
  const works_until = Math.min(...ends.map((end) => end ?? Number.POSITIVE_INFINITY))
  if (works_until < Number.POSITIVE_INFINITY) caller.works_until = works_until
  const allowed = listsIn(row.allowed_models, row.parent_models)
  if (allowed) caller.allowed_models = allowed
  const cidrs = listsIn(row.allowed_cidrs, row.parent_cidrs)
  if (cidrs) caller.allowed_cidrs = cidrs
  if (row.parent_id !== null || row.expires_at !== null || allowed || cidrs) caller.has_terms = true
  const clusters = row.allowed_clusters === null ? undefined : listsIn(row.allowed_clusters, row.parent_clusters)
  if (clusters) caller.allowed_clusters = clusters
  return caller
}

function listsIn(own: string | null, parents: string | null): string[][] | undefined {
  if (own === null && parents === null) return undefined
  return [own, parents].flatMap((text) => (text === null ? [] : [JSON.parse(text)]))
}
