// §10.1, §10.2, R46: what the hints ask of the path, and what may be said of it afterwards. Pure.
import type { Hints } from '../hints/hints.ts'

/** The longest that any generation may take, with or without a deadline of its own. */
export const DEADLINE_MAX_MS = 2 ** 31 - 1 // beyond it, a timer would fire at once

export function deadlineAt(hints: Hints | undefined, received_at: number): number | undefined {
  const ms = hints?.qos?.deadline_ms
  return ms === undefined ? undefined : received_at + Math.min(ms, DEADLINE_MAX_MS)
}

/** Undefined where no target was asked for. */
export function targetMet(hints: Hints | undefined, ttft_ms: number): boolean | undefined {
  const target = hints?.qos?.target_ttft_ms
  return target === undefined ? undefined : ttft_ms <= target
}

/** The sections that changed or bounded what happened; undefined where no hints came. */
export function hintsHonored(hints: Hints | undefined): string[] | undefined {
  if (!hints) return undefined
  const { qos, reuse, safety } = hints
  const honored = {
    qos: qos && (qos.class !== 'standard' || qos.target_ttft_ms !== undefined || qos.deadline_ms !== undefined),
    reuse: reuse && (reuse.session_id !== undefined || reuse.preference === 'avoid'),
    safety: safety?.retry_safety,
  }
  return Object.entries(honored).flatMap(([section, is]) => (is ? [section] : []))
}
