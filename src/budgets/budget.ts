// §4.4, R43: hard limits. What a call may cost at most is held before anything is dialled; spent + held never exceeds a
// limit, to the micro; a call is charged at most what was held for it.
import { Refusal } from '../core/refusal.ts'

/** Money set aside for one call. */
export interface Hold {
  id: string
  key_id: string
  project_id: string
  micros: number
}

export type Scope = 'key' | 'project'

export type HoldOutcome = { kind: 'held'; hold: Hold } | { kind: 'refused'; limit: Scope; available_micros: number }

export interface Settlement {
  charged_micros: number
  /** What the generation cost beyond its hold: ours to bear, and counted. */
  written_off_micros: number
}

export function settlementOf(cost_micros: number, held_micros: number | undefined): Settlement {
  const charged_micros = held_micros === undefined ? cost_micros : Math.min(cost_micros, held_micros)
  return { charged_micros, written_off_micros: cost_micros - charged_micros }
}

/** R48: no Retry-After, as waiting does not help; R45: stock clients must not try again by themselves. */
export function quotaExceeded(limit: Scope): Refusal {
  const message =
    limit === 'key'
      ? "This call does not fit into what is left of the API key's spending limit. Raise the limit, or ask for less."
      : "This call does not fit into what is left of the project's spending cap. Raise the cap, or ask for less."
  return new Refusal('quota_exceeded', message, { headers: { 'x-should-retry': 'false' } })
}
