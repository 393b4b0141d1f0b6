// §8.2: the usage event of a generation that was dialled and came to nothing. No tokens and no money: it is written
// after the hold went back, so it can neither charge nor hold up anyone's budget.
import { Refusal } from '../core/refusal.ts'
import { kindOf } from '../refusals/refusal-kind.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { Ending, UsageEvent } from '../usage/usage-event.ts'
import type { Call } from './call.ts'
import { ClientLeft } from './client.ts'
import type { Failed } from './dispatch.ts'
import { modeOf } from './generation-facts.ts'
import { eventOf } from './settle.ts'
import type { Route } from './target.ts'
import { NO_TOKENS } from './token-counts.ts'

const NO_MONEY = { charged_micros: 0, direct_cost_micros: 0, written_off_micros: 0 }

export function failedEvent(call: Call, route: Route, failed: Failed, now: number): UsageEvent {
  const produced = {
    ending: endingOf(failed.reason),
    tokens: NO_TOKENS,
    mode: modeOf(route, failed),
    admission: failed.slot.verdict,
    alias_release_id: route.alias_release_id,
    repeated_tokens_est: 0,
  }
  return eventOf(call, { ttft_ms: null, ...failed }, produced, { now, ...NO_MONEY })
}

/** R80: what its client was told, and in which headers. */
export function failedFacts(call: Call, { attempts, reason }: Failed): TraceFacts {
  const facts = { stream: call.stream, keyed: call.is_keyed, fallback_used: attempts.length > 1 }
  if (!(reason instanceof Refusal)) return facts
  const { status, body, headers } = reason
  return { ...facts, refusal: { layer: kindOf(reason) ?? 'fault', status, headers, ...body.error } }
}

/** Who ended it: the client, its deadline, or the upstreams, of which none answered. */
function endingOf(reason: unknown): Ending {
  if (reason instanceof ClientLeft) return 'client_left'
  return reason instanceof Refusal && reason.kind === 'deadline_exceeded' ? 'deadline_exceeded' : 'failed'
}
