// What is told of an attempt that failed (R80): who was asked, and what it said, in bounds and without secrets.
import type { About } from '../core/refusal.ts'
import { soonRead } from '../providers/first-bytes.ts'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { Call } from './call.ts'
import type { SseFrames } from './sse-frames.ts'
import { type Attempt, isCustomers, type Target } from './target.ts'
import { SAID_READ_MAX_BYTES, wordsOf } from './upstream-reason.ts'

interface Tried {
  call: Call
  target: Target
  stages: {
    /** What must not be told on of what the target says. */
    secretFor(call: Call, target: Target): Promise<string | undefined>
  }
}

export const aboutOf = (target: Target): About => ({
  target: target.id,
  provider: target.provider,
  is_customers: isCustomers(target),
})

/** Of an answer that is itself the failure. Its connection is let go of. */
export async function saidOfFailure(tried: Tried, answer: ProviderAnswer): Promise<string | undefined> {
  const bytes = await soonRead(SAID_READ_MAX_BYTES, SAID_WITHIN_MS, answer)
  return cleared(tried, (secret) => wordsOf(bytes, secret))
}

/** A failover does not wait for longer than this for what the target that failed has to say. */
const SAID_WITHIN_MS = 250

/** Words that we cannot clear of the credential that was sent are not told. */
export async function cleared(
  { call, target, stages }: Tried,
  said: (secret: string | undefined) => string | undefined,
): Promise<string | undefined> {
  try {
    return said(await stages.secretFor(call, target))
  } catch {
    return undefined
  }
}

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
