// §10.1, §10.2, R46: what the hints ask of the path, and what may be said of it afterwards. Pure.
import type { Hints } from '../hints/hints.ts'

/** Beyond it, a timer would fire at once. How long a generation may take at all is call-timer.ts's. */
export const DEADLINE_MAX_MS = 2 ** 31 - 1

export function deadlineAt(hints: Hints | undefined, received_at: number): number | undefined {
  const ms = hints?.qos?.deadline_ms
  return ms === undefined ? undefined : received_at + Math.min(ms, DEADLINE_MAX_MS)
}

/** Undefined where no target was asked for. A first token that never came did not come in time. */
export function targetMet(hints: Hints | undefined, ttft_ms: number | null): boolean | undefined {
  const target = hints?.qos?.target_ttft_ms
  return target === undefined ? undefined : ttft_ms !== null && ttft_ms <= target
}

/** R82: what is known of it when the headers of a stream leave; what is not is told in its trailers. */
export function targetMetSoFar(
  hints: Hints | undefined,
  { ttft_ms, answered_ms }: { ttft_ms: number | null; answered_ms: number },
): boolean | 'unknown' | undefined {
  const met = targetMet(hints, ttft_ms ?? answered_ms)
  return met && ttft_ms === null ? 'unknown' : met
}

/** What is believed of a prompt and its target before the answer, for hints on reuse. */
export interface ReuseBelief {
  /** The conversation was last answered by the same target. */
  is_affine: boolean
  known_tokens: number
  held_tokens: number
}

/** R84: the target has at least half of what is known of the prompt, or is where the conversation was. */
const isReuseLikely = ({ is_affine, known_tokens, held_tokens }: ReuseBelief) =>
  is_affine || (held_tokens > 0 && 2 * held_tokens >= known_tokens)

/**
 * The sections that changed or bounded what happened; undefined where no hints came. A class other than the usual one
 * orders the queue, a target gives it an order within its class, a deadline is armed; `retry_safety` keeps from
 * failover.
 */
export function hintsHonored(hints: Hints | undefined, belief: ReuseBelief | undefined): string[] | undefined {
  if (!hints) return undefined
  const { qos, reuse, safety } = hints
  const honored = {
    qos: qos && (qos.class !== 'standard' || qos.target_ttft_ms !== undefined || qos.deadline_ms !== undefined),
    reuse: reuse && belief && isReuseLikely(belief) === (reuse.preference !== 'avoid'),
    safety: safety?.retry_safety,
  }
  return Object.entries(honored).flatMap(([section, is]) => (is ? [section] : []))
}
