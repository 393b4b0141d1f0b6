// What a key is now, and how keys belong together: children stand below their parent, who holds their money (R60, R64).
import type { ApiKey } from '../../api/key-calls.ts'
import type { Tone } from '../../parts/badge.tsx'
import { type BudgetLevel, budgetLevel } from '../../parts/budget-bar.tsx'

export type KeyState = 'active' | 'expired' | 'revoked'

export const STATE_TONES: Record<KeyState, Tone> = { active: 'good', expired: 'warn', revoked: 'calm' }

/** Nobody revoked what has expired; it works no more all the same. */
export function stateOf({ status, expires_at }: ApiKey, now_ms: number): KeyState {
  if (status === 'revoked') return 'revoked'
  return expires_at !== undefined && Date.parse(expires_at) <= now_ms ? 'expired' : 'active'
}

/** A key as the list shows it. */
export interface KeyRow extends ApiKey {
  state: KeyState
  parent_name?: string
  /** How many of its children can still spend, and what of its money they hold. */
  live_children: number
  carved_micros: number
}

/** What live children may still spend is held on their parent; what they spent, it has spent too. */
export function carvedOf(children: readonly ApiKey[], now_ms: number) {
  const live = children.filter((child) => stateOf(child, now_ms) === 'active')
  const carved_micros = live.reduce(
    (sum, { budget_micros = 0, spent_micros }) => sum + Math.max(0, budget_micros - spent_micros),
    0,
  )
  return { live_children: live.length, carved_micros }
}

const NONE: readonly ApiKey[] = []

/** The order of the list, with each key's children right behind it. */
export function families(keys: readonly ApiKey[], now_ms: number): readonly KeyRow[] {
  const children = new Map<string, ApiKey[]>()
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  const isChild = ({ parent_id }: ApiKey) => parent_id !== undefined && names.has(parent_id)
  for (const key of keys) {
    if (key.parent_id === undefined) continue
    const siblings = children.get(key.parent_id)
    if (siblings) siblings.push(key)
    else children.set(key.parent_id, [key])
  }
  const row = (key: ApiKey): KeyRow => {
    const parent_name = names.get(key.parent_id ?? '')
    const carved = carvedOf(children.get(key.id) ?? NONE, now_ms)
    return { ...key, state: stateOf(key, now_ms), ...carved, ...(parent_name !== undefined && { parent_name }) }
  }
  return keys.filter((key) => !isChild(key)).flatMap((key) => [key, ...(children.get(key.id) ?? NONE)].map(row))
}

const SEVERITY: readonly BudgetLevel[] = ['open', 'fine', 'near', 'reached']

/** The worse of the two limits that a key may have: in total, and by the calendar (R65). */
export function levelOf({ spent_micros, budget_micros, carved_micros, window }: KeyRow): BudgetLevel {
  const total = budgetLevel({ spent_micros, held_micros: carved_micros, limit_micros: budget_micros })
  if (!window) return total
  const { spent_micros: spent, limit_micros } = window
  const now = budgetLevel({ spent_micros: spent, held_micros: carved_micros, limit_micros })
  return SEVERITY.indexOf(now) > SEVERITY.indexOf(total) ? now : total
}
