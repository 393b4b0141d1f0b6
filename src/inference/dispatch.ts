// From a route to an answer: slot, hold, call; and on failure, before any content reached the client, the next target
// (§11 provider_failover, R47). Whatever was taken for an attempt that failed is given back here.

import type { Hold } from '../budgets/budget.ts'
import { Refusal } from '../core/refusal.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { isRefusal } from '../credentials/credential.ts'
import type { Provider, ProviderAnswer } from '../providers/provider.ts'
import type { AttemptTimes } from '../usage/usage-event.ts'
import type { Slot } from './admission.ts'
import { type OpenedStream, type Opening, openStream } from './answer-stream.ts'
import type { Call } from './call.ts'
import { type SseFrames, sseFrames } from './sse-frames.ts'
import type { Attempt, Route, Target } from './target.ts'
import type { TokenCounts } from './token-counts.ts'
import { type Verdict, verdictOn, verdictOnFailure } from './upstream-verdict.ts'
import { tokensOf } from './whole-answer.ts'

/** What is held for one attempt; `clamp_output_to` is what the budget still buys (R43). */
export interface Held {
  hold: Hold | undefined
  clamp_output_to: number | undefined
}

export interface DispatchStages {
  now(): number
  /** How long a stream may be silent towards its client (R82). */
  opening: Opening
  admit(call: Call, target: Target, signal: StopSignal): Slot | Promise<Slot>
  hold(call: Call, target: Target): Promise<Held>
  release(hold: Hold): Promise<void>
  providerFor(call: Call, target: Target): Promise<Provider>
  bodyFor(call: Call, target: Target, held: Held): Buffer
  headersFor(call: Call, target: Target): Record<string, string>
  breakers: { allows(target_id: string): boolean; succeeded(target_id: string): void; failed(target_id: string): void }
  /** R73: what a provider says to a project's own credential. */
  noteCredential(call: Call, credential_id: string, is_refused: boolean): Promise<void>
  /** Somebody was dialled and nobody answered: the operator is to see it, though there is nothing to settle. */
  noteFailed(call: Call, route: Route, failed: Failed): Promise<void>
}

/** A generation that ended before any content. What was taken for it has been given back. */
export interface Failed {
  /** The last that was dialled. */
  target: Target
  slot: Slot
  attempts: readonly Attempt[]
  reason: unknown
}

/** An attempt that answered, with all that must still be settled or given back. */
export interface Dispatched {
  target: Target
  attempts: readonly Attempt[]
  slot: Slot
  hold: Hold | undefined
  /** When it had answered: of a stream, when its headers could leave. */
  answered_ms: number
  /** Null until the first content is there: headers may leave before it (R82). */
  ttft_ms: number | null
  answer: Answered
  /** The conversation was last answered by the same target. */
  is_affine?: boolean
}

export type Answered =
  | { kind: 'stream'; stream: OpenedStream }
  | { kind: 'whole'; content_type: string; body: Buffer; tokens: TokenCounts }
  /** An upstream's own 4xx: the client's to read, never charged. */
  | { kind: 'client_error'; status: number; content_type: string; body: Buffer }

export async function dispatch(
  call: Call,
  route: Route,
  stages: DispatchStages,
  signal: StopSignal,
): Promise<Dispatched> {
  const attempts: Attempt[] = []
  let last: Pick<Failed, 'target' | 'slot'> | undefined
  let reason: unknown
  for (const target of route.candidates) {
    const tried = await tryTarget(call, target, stages, signal)
    if (tried.dialled) attempts.push(attemptOf(attempts.length + 1, target, tried, stages.now() - call.received_at))
    if (tried.kind === 'answered') return notingContent({ target, attempts, ...tried.got }, call, stages, signal)
    if (tried.dialled) last = { target, slot: tried.dialled }
    reason = tried.kind === 'aborted' ? tried.reason : (reason ?? tried.reason)
    if (!tried.may_repeat) break
  }
  reason ??= new Refusal('unavailable', 'No target could take this call.')
  if (last) await stages.noteFailed(call, route, { ...last, attempts, reason })
  throw reason
}

type Got = Omit<Dispatched, 'target' | 'attempts'>
type Times = Omit<AttemptTimes, 'ended_ms'>
type Tried =
  | { kind: 'answered'; dialled: Slot; times: Times; got: Got }
  | {
      kind: 'failed' | 'aborted'
      times: Times
      /** The slot that it was dialled in. */
      dialled: Slot | undefined
      status: number | undefined
      failure: string
      may_repeat: boolean
      reason: unknown
    }

async function tryTarget(call: Call, target: Target, stages: DispatchStages, signal: StopSignal): Promise<Tried> {
  let slot: Slot | undefined
  let hold: Hold | undefined
  let dialled: Slot | undefined
  const times: Times = { started_ms: stages.now() - call.received_at, queue_ms: 0, dialled_ms: 0 }
  try {
    slot = await stages.admit(call, target, signal)
    times.queue_ms = slot.queue_ms
    const held = await stages.hold(call, target)
    hold = held.hold
    const provider = await stages.providerFor(call, target)
    // The one probe of a target that failed is taken here, where it is dialled, and nowhere before.
    if (!stages.breakers.allows(target.id)) throw new Refusal('unavailable', 'The target is left alone for a while.')
    dialled = slot
    times.dialled_ms = stages.now() - call.received_at
    const { timeouts } = target.dialling
    const upstream = await provider.call(
      {
        kind: call.kind,
        body: stages.bodyFor(call, target, held),
        stream: call.stream,
        headers: stages.headersFor(call, target),
        timeouts,
      },
      signal,
    )
    const noted = credentialNews(target, upstream.status)
    if (noted) await stages.noteCredential(call, noted.credential_id, noted.is_refused)
    const verdict = verdictOn(upstream.status, upstream.retry_after_s)
    if (verdict.kind === 'try_elsewhere') {
      upstream.cancel()
      await giveBack(slot, hold, stages)
      return failed({ call, target, stages, slot, times }, verdict, upstream.status)
    }
    const answer = await answerOf(call, upstream, verdict, stages.opening)
    const answered_ms = stages.now() - call.received_at
    return { kind: 'answered', dialled: slot, times, got: { slot, hold, answered_ms, ttft_ms: null, answer } }
  } catch (error) {
    await giveBack(slot, hold, stages)
    if (signal.aborted) return { ...aborted(signal.reason, slot), dialled, times }
    const verdict = verdictOnFailure(error)
    // An address that may not be dialled is found out before there is a connection, and is an attempt all the same.
    if (verdict?.kind === 'try_elsewhere' && slot)
      return failed({ call, target, stages, slot, times }, verdict, undefined)
    if (error instanceof Refusal && !dialled)
      return { kind: 'failed', dialled, times, status: undefined, failure: error.kind, may_repeat: true, reason: error }
    throw error
  }
}

/** R73: a refusal is counted, and what is taken after one ends the row. Else there is nothing to note. */
function credentialNews({ credential_id, refusals }: Target, status: number) {
  if (credential_id === undefined) return undefined
  const is_refused = isRefusal(status)
  return is_refused || (refusals && status < 300) ? { credential_id, is_refused } : undefined
}

function aborted(reason: unknown, slot: Slot | undefined) {
  const failure = abortedBy(reason)
  return { kind: 'aborted', status: undefined, may_repeat: false, failure, reason: abortedWith(reason, slot) } as const
}

const abortedBy = (reason: unknown) => (reason instanceof Refusal ? reason.kind : 'client_left')

/** §10.2: a deadline that passed before there was a slot is told apart from one that passed afterwards. */
function abortedWith(reason: unknown, slot: Slot | undefined): unknown {
  if (!(reason instanceof Refusal)) return reason
  const headers = { ...reason.headers, 'agent-qos-admission': slot?.verdict ?? 'expired_before_start' }
  return new Refusal(reason.kind, reason.message, { headers, cause: reason.cause })
}

async function answerOf(call: Call, upstream: ProviderAnswer, verdict: Verdict, opening: Opening): Promise<Answered> {
  const { status, content_type } = upstream
  if (verdict.kind === 'hand_on') return { kind: 'client_error', status, content_type, body: await upstream.whole() }
  if (call.stream) return { kind: 'stream', stream: await openStream(upstream, framesFor(call), opening) }
  const body = await upstream.whole()
  return { kind: 'whole', content_type, body, tokens: tokensOf(call, body) }
}

/** The time of the first token, and what the target is thought of, wait for content where headers did not (R82). */
function notingContent(got: Dispatched, call: Call, stages: DispatchStages, signal: StopSignal): Dispatched {
  const { answer, attempts, target } = got
  const attempt = attempts.at(-1)
  const onContent = () => {
    got.ttft_ms = stages.now() - call.received_at
    if (attempt) attempt.ttft_ms = got.ttft_ms
    stages.breakers.succeeded(target.id)
  }
  const onNothing = (error: unknown) => {
    const verdict = signal.aborted ? undefined : verdictOnFailure(error)
    const elsewhere = verdict?.kind === 'try_elsewhere' ? verdict : undefined
    if (elsewhere?.counts_against) stages.breakers.failed(target.id)
    if (attempt) attempt.failure = elsewhere?.failure ?? abortedBy(signal.reason)
  }
  if (answer.kind === 'stream') answer.stream.watch({ onContent, onNothing })
  else onContent()
  return got
}

const framesFor = (call: Call): SseFrames => sseFrames({ kind: call.kind, drop_usage: !call.wants_usage })

interface Trial {
  call: Call
  target: Target
  stages: DispatchStages
  slot: Slot
  times: Times
}

type Elsewhere = Extract<Verdict, { kind: 'try_elsewhere' }>

function failed({ call, target, stages, slot, times }: Trial, verdict: Elsewhere, status: number | undefined): Tried {
  const { failure, counts_against, surely_not_executed, refusal } = verdict
  if (counts_against) stages.breakers.failed(target.id)
  // §11 retry_safety: only what was surely not executed is tried again.
  const cautious = call.hints?.safety?.retry_safety === 'idempotent_generation_only'
  const may_repeat = surely_not_executed || !cautious
  return { kind: 'failed', dialled: slot, times, status, failure, may_repeat, reason: refusal }
}

async function giveBack(slot: Slot | undefined, hold: Hold | undefined, stages: DispatchStages): Promise<void> {
  slot?.release()
  if (hold) await stages.release(hold)
}

function attemptOf(n: number, target: Target, tried: Tried, ended_ms: number): Attempt {
  const { id, provider, model } = target
  const kind = n === 1 ? 'first' : 'provider_failover'
  const { started_ms, queue_ms, dialled_ms } = tried.times
  const has_answered = tried.kind === 'answered'
  return {
    n,
    kind,
    target: id,
    provider,
    model,
    times: { started_ms, queue_ms, dialled_ms, ended_ms },
    status: has_answered ? 200 : tried.status,
    failure: has_answered ? undefined : tried.failure,
    ttft_ms: undefined, // see notingContent
  }
}
