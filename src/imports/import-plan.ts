// What an import comes to, whatever it comes from: providers and aliases for switchyard.yaml, keys for the store, and
// what was found on the way.
import type { Period } from '../budgets/budget-window.ts'
import { isAliasName, WEIGHT_MAX } from '../models/alias.ts'
import type { Finding } from './foreign-file.ts'

/** As switchyard.yaml spells it. */
export interface PlannedModel {
  id: string
  upstream_id?: string
  [field: `${string}_usd_per_${string}`]: number
  max_output_tokens?: number
}

export interface PlannedProvider {
  id: string
  protocol?: 'anthropic' | 'azure' | 'bedrock' | 'vertex'
  /** Left out of platforms that have one in each region. */
  base_url?: string
  api_key?: string
  region?: string
  api_version?: string
  access_key_id?: string
  secret_access_key?: string
  session_token?: string
  google_project?: string
  max_concurrency?: number
  unlisted_models?: true
  timeouts?: { connect_ms: number; first_byte_ms: number; idle_ms: number; total_ms: number }
  models: PlannedModel[]
}

export interface PlannedTarget {
  provider: string
  model: string
  weight: number
}

export interface PlannedAlias {
  name: string
  targets: PlannedTarget[]
}

export interface PlannedKey {
  name: string
  /** SHA-256 of the secret, in base64url. */
  hash: string
  masked: string
  team?: string
  expires_at?: number
  allowed_models?: string[]
  budget_micros?: number
  spent_micros: number
  window?: { period: Period; limit_micros: number; spent_micros: number }
  requests_per_minute?: number
  tokens_per_minute?: number
  max_parallel_requests?: number
}

export interface ImportPlan {
  providers: PlannedProvider[]
  aliases: PlannedAlias[]
  keys: PlannedKey[]
  findings: Finding[]
}

const TARGETS_MAX = 32

/** In the order of their first appearance. */
export function groupedBy<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(nameOf(item))
    if (group) group.push(item)
    else groups.set(nameOf(item), [item])
  }
  return groups
}

/** Whole weights up to 1000, in the same proportions; what had some keeps some. */
export function wholeWeights(weights: readonly number[]): number[] {
  if (weights.every((one) => Number.isInteger(one) && one <= WEIGHT_MAX)) return [...weights]
  const most = Math.max(...weights)
  const factor = most <= 1 ? 100 / most : WEIGHT_MAX / most
  return weights.map((one) => (one === 0 ? 0 : Math.max(1, Math.round(one * factor))))
}

/** Why these targets cannot stand behind this name; undefined where they can. */
export function againstAlias(name: string, targets: readonly PlannedTarget[]): string | undefined {
  if (!isAliasName(name)) return `an alias cannot be called '${name}': small letters, digits, '.', '_', '/' and '-'`
  if (targets.length > TARGETS_MAX) return `an alias has at most ${TARGETS_MAX} targets`
  if (targets.every(({ weight }) => weight === 0)) return 'no target is left with a weight above 0'
  return undefined
}

export interface Upstream extends Omit<PlannedProvider, 'id' | 'models'> {
  /** What its id begins with. */
  called: string
}

export type Shelves = ReturnType<typeof shelves>

/**
 * Providers as they come up. Models of one upstream stand in one provider; where a name is there already, in another
 * one of the same upstream, for a provider lists a name once.
 */
export function shelves() {
  const providers: PlannedProvider[] = []
  const upstreams = new Map<PlannedProvider, string>()

  function place(upstream: Upstream, model: PlannedModel | undefined): PlannedProvider {
    const { called, ...settings } = upstream
    const same = JSON.stringify(settings)
    const found = providers.find((one) => upstreams.get(one) === same && !one.models.some(({ id }) => id === model?.id))
    const provider = found ?? { id: freeId(called, providers), ...settings, models: [] }
    if (!found) {
      providers.push(provider)
      upstreams.set(provider, same)
    }
    if (model) provider.models.push(model)
    return provider
  }
  return { providers, place }
}

function freeId(called: string, providers: readonly PlannedProvider[]): string {
  const base =
    called
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, '-')
      .replace(/^[^a-z0-9]+/, '')
      .slice(0, 48) || 'provider'
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base}-${n}`
    if (!providers.some((one) => one.id === id)) return id
  }
}
