// What is told of an attempt that failed (R80): who was asked, and what it said, in bounds and without secrets.

import type { SseFrames } from '../answers/sse-frames.ts'
import { wordsOf } from '../answers/upstream-reason.ts'
import type { Slot } from '../capacity/admission.ts'
import { BUDGETS } from '../core/foreign.ts'
import { type About, type InItsWords, Refusal } from '../core/refusal.ts'
import { inItsWords } from '../messages/upstream-words.ts'
import { soonRead } from '../providers/first-bytes.ts'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import { kindOf } from '../refusals/refusal-kind.ts'
import { leftBehind } from '../routing/own-capacity.ts'
import { type Attempt, isCustomers, type Target } from '../routing/target.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { Ending } from '../usage/usage-event.ts'
import { ClientLeft } from './client.ts'
import type { Generation } from './generation.ts'
import { eventOf, type Outcome, outcomeOf } from './outcome.ts'

export const aboutOf = (target: Target): About => ({
  target: target.id,
  provider: target.provider,
  is_customers: isCustomers(target),
})

/** Of an answer that is itself the failure. Its connection is let go of. */
export async function saidOfFailure(
  generation: Generation,
  target: Target,
  answer: ProviderAnswer,
): Promise<{ said: string | undefined; in_its_words: InItsWords | undefined }> {
  const bytes = await soonRead(BUDGETS.said.bytes, SAID_WITHIN_MS, answer)
  const said = await cleared(generation, target, (secret) => wordsOf(bytes, secret))
  const is_told = generation.call.kind === 'messages' && said !== undefined
  return { said, in_its_words: is_told ? inItsWords(answer, bytes, await generation.secretOf(target)) : undefined }
}

/** A failover does not wait for longer than this for what the target that failed has to say. */
const SAID_WITHIN_MS = 250

/** Words that we cannot clear of the credential that was sent are not told. */
export async function cleared(
  generation: Generation,
  target: Target,
  said: (secret: string | undefined) => string | undefined,
): Promise<string | undefined> {
  try {
    return said(await generation.secretOf(target))
  } catch {
    return undefined
  }
}

/** R80: not where it quotes the credential that was sent, which is not the client's, or where we cannot know. */
export async function mayBeTold(generation: Generation, target: Target, body: Buffer): Promise<boolean> {
  try {
    const secret = (await generation.secretOf(target)) ?? ''
    return secret.length < SECRET_LEAST || !body.includes(secret)
  } catch {
    return false
  }
}

const SECRET_LEAST = 8 // what stands in for a key where none is wanted, such as `none`, may be any word

/** R80: the last of them answered, and then did not go on. */
export function brokenAttempts(
  attempts: readonly Attempt[],
  frames: SseFrames,
  reason: unknown,
  message: string | undefined,
): Attempt[] {
  const broke = reason instanceof UpstreamError ? reason.failure : 'fault'
  const failure = frames.failed() ? 'an error event' : broke
  return attempts.map((attempt, at) =>
    at === attempts.length - 1 ? Object.assign({}, attempt, { failure, message }) : attempt,
  )
}

const NO_MONEY = { charged_micros: 0, direct_cost_micros: 0, written_off_micros: 0 }

/**
 * §8.2: somebody was dialled and nobody answered. An event without tokens and money, written after the hold went back:
 * it can neither charge nor hold up anyone's budget.
 */
export async function noteFailed(
  generation: Generation,
  target: Target,
  slot: Slot | undefined,
  reason: unknown,
): Promise<void> {
  const { path, call, route, attempts } = generation
  path.departures.note(call.caller.project_id, leftBehind(route, { target, attempts }), target.id)
  const outcome = outcomeOf({
    call,
    route,
    target,
    attempts,
    slot,
    clamped_to: undefined,
    ttft_ms: null,
    reuse: undefined,
    is_target_open: false,
  })
  outcome.ending = endingOf(reason)
  const now = path.clock.now()
  const event = eventOf(outcome, NO_MONEY, now)
  path.counts.ended(target, outcome, NO_MONEY, now)
  generation.request.traced?.answered(outcome)
  await path.deferred.surely(() => path.usage.insert(event, failedTrace(outcome, reason)))
}

/** R80: what its client was told, and in which headers. */
function failedTrace(outcome: Outcome, reason: unknown): TraceFacts {
  const { stream, keyed, attempts } = outcome
  const facts = { stream, keyed, fallback_used: attempts.some(({ kind }) => kind === 'provider_failover') }
  if (!(reason instanceof Refusal)) return facts
  const { status, body, headers } = reason
  return { ...facts, refusal: { layer: kindOf(reason) ?? 'fault', status, headers, ...body.error } }
}

/** Who ended it: the client, its deadline, or the upstreams, of which none answered. */
function endingOf(reason: unknown): Ending {
  if (reason instanceof ClientLeft) return 'client_left'
  return reason instanceof Refusal && reason.kind === 'deadline_exceeded' ? 'deadline_exceeded' : 'failed'
}
