// Which thresholds of its limits a charge has crossed: 50, 80 and 100 %. One comparison for each limit. Pure.
import type { Crossing } from '../notifications/happening.ts'

export type { Crossing } from '../notifications/happening.ts'

const THRESHOLDS = [100, 80, 50] as const

/** The highest that the charge reached; undefined where it reached none. A limit of 0 blocks, and has none. */
export function crossedBy(spent: number, after: number, limit: number): number | undefined {
  if (limit <= 0 || after < limit / 2) return undefined
  const before = after - spent
  return THRESHOLDS.find((pct) => before < (limit * pct) / 100 && after >= (limit * pct) / 100)
}

export interface KeySums {
  spent_micros: number
  budget_micros: number | null
  window_spent_micros: number
  window_limit_micros: number | null
}

export interface ProjectSums {
  spent_micros: number
  cap_micros: number | null
  operator_cap_micros: number | null
  overage_enabled: number
}

export function crossingsOfKey(key: { id: string; project_id: string }, sums: KeySums, spent: number): Crossing[] {
  const { spent_micros, budget_micros, window_spent_micros, window_limit_micros } = sums
  return [
    ...crossing({ ...key, limit: 'key', limit_micros: budget_micros, spent_micros }, spent),
    ...crossing(
      { ...key, limit: 'window', limit_micros: window_limit_micros, spent_micros: window_spent_micros },
      Math.min(spent, window_spent_micros),
    ),
  ]
}

export function crossingsOfProject(id: string, sums: ProjectSums, spent: number): Crossing[] {
  const { spent_micros, cap_micros, operator_cap_micros } = sums
  const project = { id, project_id: id, spent_micros }
  return [
    ...crossing({ ...project, limit: 'project', limit_micros: cap_micros }, spent, sums.overage_enabled === 1),
    ...crossing({ ...project, limit: 'operator', limit_micros: operator_cap_micros }, spent),
  ]
}

type Limited = Omit<Crossing, 'threshold_pct' | 'limit_micros' | 'is_overage'> & { limit_micros: number | null }

function crossing({ limit_micros, ...limited }: Limited, spent: number, has_overage = false): Crossing[] {
  if (limit_micros === null) return []
  const threshold_pct = crossedBy(spent, limited.spent_micros, limit_micros)
  if (threshold_pct === undefined) return []
  return [{ ...limited, limit_micros, threshold_pct, is_overage: has_overage && threshold_pct === 100 }]
}
