// §4.4, R43: hard limits. What a call may cost at most is held before anything is dialled; spent + held never exceeds a
// limit, to the micro; a call is charged at most what was held for it.
import { rfc3339 } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'

/** Money set aside for one call. */
export interface Hold {
  /** Of the row that it is in, which calls of one slice share. */
  id: string
  key_id: string
  project_id: string
  /** R64: only of a child key, which spends what was carved out of its parent. */
  parent_id?: string | undefined
  micros: number
  /** Budgets of tags that it is taken from too, by their ids. */
  tag_budgets?: readonly string[] | undefined
}

export type Limit = 'key' | 'window' | 'project' | 'tag'

export type HoldOutcome =
  | { kind: 'held'; hold: Hold }
  /** `resets_at` only where the window is what is in the way. */
  | { kind: 'refused'; limit: Limit; available_micros: number; resets_at?: number }
  /** R64: a child key that has ended since the request came in. */
  | { kind: 'ended' }

/** What becomes of a hold's row when it is settled; lost: it was settled or given back before. */
export type RowFate = 'ends' | 'stays' | 'lost'

export interface Settlement {
  charged_micros: number
  /** What the generation cost beyond its hold: ours to bear, and counted. */
  written_off_micros: number
  /** R72: by how much the charge took the project above its cap; absent where nobody counts that. */
  overage_micros?: number
}

/** A project's caps as they are stored: its own, and the operator's (R79). */
export interface Cap {
  cap_micros: number | null
  operator_cap_micros: number | null
  overage_enabled: number
}

/** R79: the lower binds. R72: with overage the project's own refuses nothing; the operator's always does. */
export function hardCap({ cap_micros, operator_cap_micros, overage_enabled }: Cap): number | undefined {
  const own = overage_enabled === 1 ? null : cap_micros
  if (own === null || operator_cap_micros === null) return own ?? operator_cap_micros ?? undefined
  return Math.min(own, operator_cap_micros)
}

export const countsOverage = ({ cap_micros, overage_enabled }: Pick<Cap, 'cap_micros' | 'overage_enabled'>): boolean =>
  cap_micros !== null && overage_enabled === 1

/** Of two that refuse, the lower. One with overage refuses nothing, and stands beside the operator's. */
export function capsThatBind(cap: Cap): { limit_micros: number; overage_enabled: boolean }[] {
  const hard = hardCap(cap)
  return [
    ...(cap.cap_micros !== null && cap.overage_enabled === 1
      ? [{ limit_micros: cap.cap_micros, overage_enabled: true }]
      : []),
    ...(hard === undefined ? [] : [{ limit_micros: hard, overage_enabled: false }]),
  ]
}

/** R72: the part of a charge that is above the cap, by what the project has spent with it. */
export const overageOf = (charged_micros: number, spent_micros: number, cap_micros: number | null): number =>
  cap_micros === null ? 0 : Math.min(charged_micros, Math.max(0, spent_micros - cap_micros))

export function settlementOf(cost_micros: number, held_micros: number | undefined): Settlement {
  const charged_micros = held_micros === undefined ? cost_micros : Math.min(cost_micros, held_micros)
  return { charged_micros, written_off_micros: cost_micros - charged_micros }
}

/**
 * R48: no Retry-After, as waiting does not help, or not for sure: what is held outlives the end of a window, and a call
 * may be dearer than a whole one. R45: stock clients must not try again by themselves.
 */
export function quotaExceeded(limit: Limit, resets_at?: number): Refusal {
  const anew = resets_at === undefined ? '' : ` It starts anew at ${rfc3339(resets_at)}.`
  const message = {
    key: "This call does not fit into what is left of the API key's spending limit. Raise the limit, or ask for less.",
    window: `This call does not fit into what is left of the API key's limit for this window.${anew}`,
    project:
      "This call does not fit into what is left of the project's cap. Raise the cap, enable overage, or ask for " +
      'less. Where the cap is the operator’s, only the operator raises it.',
    tag: 'This call does not fit into what is left of the budget of one of its tags. Raise it, or ask for less.',
  }[limit]
  return new Refusal('quota_exceeded', message, { headers: { 'x-should-retry': 'false' } })
}
