// From a route to an answer: slot, hold, call; and on failure, before any content reached the client, the next target
// (§11 provider_failover, R47). Whatever was taken for an attempt that failed is given back here.

import type { Hold } from '../budgets/budget.ts'
import { Refusal } from '../core/refusal.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { isRefusal } from '../credentials/credential.ts'
import { upTo } from '../providers/first-bytes.ts'
import { type Provider, type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { AttemptTimes } from '../usage/usage-event.ts'
import type { Slot } from './admission.ts'
import { type OpenedStream, type Opening, openStream } from './answer-stream.ts'
import type { Call } from './call.ts'
import { aboutOf, cleared, saidOfFailure } from './failed-attempt.ts'
import { type SseFrames, sseFrames } from './sse-frames.ts'
import { type Attempt, isCustomers, type Route, type Target } from './target.ts'
import type { TokenCounts } from './token-counts.ts'
import { ENVELOPE_MAX_BYTES, wordsIn, wordsOf, wordsOfAnswer } from './upstream-reason.ts'
import { type Elsewhere, refusalOf, type Verdict, verdictOn, verdictOnFailure } from './upstream-verdict.ts'
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
  /** What must not be told on of what the target says. */
  secretFor(call: Call, target: Target): Promise<string | undefined>
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
  /** R43: the output limit that the upstream was told, where the budget bought no longer answer. */
  clamped_to: number | undefined
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
  | { kind: 'client_error'; status: number; content_type: string; body: Buffer; said: string | undefined }

export async function dispatch(
  call: Call,
  route: Route,
  stages: DispatchStages,
  signal: StopSignal,
): Promise<Dispatched> {
  const attempts: Attempt[] = []
  let last: Pick<Failed, 'target' | 'slot'> | undefined
  let reason: unknown
  let is_customers = true // whose business it is where nobody answers
  for (const target of route.candidates) {
    const tried = await tryTarget(call, target, stages, signal)
    if (tried.dialled) attempts.push(attemptOf(attempts.length + 1, target, tried, stages.now() - call.received_at))
    if (tried.kind === 'answered') return notingContent({ target, attempts, ...tried.got }, call, stages, signal)
    if (tried.dialled) last = { target, slot: tried.dialled }
    is_customers &&= isCustomers(target)
    reason = tried.kind === 'aborted' ? tried.reason : (reason ?? tried.reason)
    if (!tried.may_repeat) break
  }
  reason ??= new Refusal('unavailable', 'No target could take this call.')
  if (last) {
    await stages.noteFailed(call, route, { ...last, attempts, reason })
    if (reason instanceof Refusal) reason.about = { ...reason.about, is_customers, has_event: true }
  }
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
      /** What the upstream said of it. */
      message?: string | undefined
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
      const said = await saidOfFailure({ call, target, stages }, upstream)
      await giveBack(slot, hold, stages)
      return failed({ call, target, stages, slot, times }, verdict, said)
    }
    const answer = await answerOf({ call, target, stages }, upstream, verdict)
    const answered_ms = stages.now() - call.received_at
    const got = { slot, hold, clamped_to: held.clamp_output_to, answered_ms, ttft_ms: null, answer }
    return { kind: 'answered', dialled: slot, times, got }
  } catch (error) {
    await giveBack(slot, hold, stages)
    if (signal.aborted) return { ...aborted(signal.reason, target, slot), dialled, times }
    const verdict = verdictOnFailure(error)
    // An address that may not be dialled is found out before there is a connection, and is an attempt all the same.
    if (verdict && slot) {
      const trial = { call, target, stages, slot, times }
      const { said } = error as UpstreamError
      return failed(trial, verdict, said === undefined ? undefined : await cleared(trial, said))
    }
    if (error instanceof Refusal) error.about ??= aboutOf(target)
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

function aborted(reason: unknown, target: Target, slot: Slot | undefined) {
  const failure = abortedBy(reason)
  const told = abortedWith(reason, target, slot)
  return { kind: 'aborted', status: undefined, may_repeat: false, failure, reason: told } as const
}

const abortedBy = (reason: unknown) => (reason instanceof Refusal ? reason.kind : 'client_left')

/** §10.2: a deadline that passed before there was a slot is told apart from one that passed afterwards. */
function abortedWith(reason: unknown, target: Target, slot: Slot | undefined): unknown {
  if (!(reason instanceof Refusal)) return reason
  const headers = { ...reason.headers, 'agent-qos-admission': slot?.verdict ?? 'expired_before_start' }
  return new Refusal(reason.kind, reason.message, { headers, cause: reason.cause, about: aboutOf(target) })
}

type Asked = Pick<Trial, 'call' | 'target' | 'stages'>

async function answerOf(asked: Asked, upstream: ProviderAnswer, verdict: Verdict): Promise<Answered> {
  const { call } = asked
  const { status, content_type } = upstream
  if (verdict.kind === 'hand_on') {
    const { bytes: body } = await upTo(ENVELOPE_MAX_BYTES, upstream)
    const said = await cleared(asked, (secret) => wordsOf(body, secret))
    return { kind: 'client_error', status, content_type, body, said }
  }
  if (call.stream) return { kind: 'stream', stream: await opened(upstream, framesFor(call), asked.stages.opening) }
  const body = await upstream.whole()
  try {
    return { kind: 'whole', content_type, body, tokens: tokensOf(call, body) }
  } catch (error) {
    if (error instanceof UpstreamError) error.said = (secret) => wordsOfAnswer(body, secret)
    throw error
  }
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

async function opened(upstream: ProviderAnswer, frames: SseFrames, opening: Opening): Promise<OpenedStream> {
  try {
    return await openStream(upstream, frames, opening)
  } catch (error) {
    if (error instanceof UpstreamError && frames.failed()) error.said = (secret) => wordsIn(frames.error(), secret)
    throw error
  }
}

interface Trial {
  call: Call
  target: Target
  stages: DispatchStages
  slot: Slot
  times: Times
}

function failed({ call, target, stages, slot, times }: Trial, verdict: Elsewhere, message?: string): Tried {
  const { status, failure, counts_against, surely_not_executed } = verdict
  if (counts_against) stages.breakers.failed(target.id)
  // §11 retry_safety: only what was surely not executed is tried again.
  const cautious = call.hints?.safety?.retry_safety === 'idempotent_generation_only'
  const may_repeat = surely_not_executed || !cautious
  const reason = refusalOf(verdict, target.provider, message)
  reason.about = { upstream_status: status, said: message, ...aboutOf(target) }
  return { kind: 'failed', dialled: slot, times, status, failure, message, may_repeat, reason }
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
    message: has_answered ? undefined : tried.message,
    ttft_ms: undefined, // see notingContent
  }
}
