// From a route to an answer (R47): per target a slot, a hold, a call, a verdict; and on failure, before any content
// reached the client, the next target, or the same again (target-order.ts). Whatever was taken for an attempt that
// failed is given back here.
import { type OpenedStream, openStream } from '../answers/answer-stream.ts'
import { type Retry, retryOf } from '../answers/retry-rule.ts'
import { sseFrames } from '../answers/sse-frames.ts'
import type { TokenCounts } from '../answers/token-counts.ts'
import { wordsIn, wordsOf, wordsOfAnswer } from '../answers/upstream-reason.ts'
import { type Elsewhere, refusalOf, type Verdict, verdictOn, verdictOnFailure } from '../answers/upstream-verdict.ts'
import { tokensOf } from '../answers/whole-answer.ts'
import type { Hold } from '../budgets/budget.ts'
import type { Slot } from '../capacity/admission.ts'
import { BUDGETS } from '../core/foreign.ts'
import { Refusal } from '../core/refusal.ts'
import { isRefusal } from '../credentials/credential.ts'
import { upTo } from '../providers/first-bytes.ts'
import { type ProviderAnswer, type TextKind, UpstreamError } from '../providers/provider.ts'
import { leftBehind } from '../routing/own-capacity.ts'
import { type Attempt, isCustomers, type Target } from '../routing/target.ts'
import { admissionOf } from './admission-request.ts'
import type { Call } from './call.ts'
import { aboutOf, cleared, noteFailed, saidOfFailure } from './failed-attempt.ts'
import type { Generation } from './generation.ts'
import { holdFor } from './hold.ts'
import { type MediaAnswered, mediaAnswer } from './media-answer.ts'
import { providerFor } from './spoken-protocol.ts'
import { paused, TargetOrder } from './target-order.ts'
import { bodyFor, headersFor } from './upstream-request.ts'

export type Answered =
  | { kind: 'stream'; stream: OpenedStream }
  | { kind: 'whole'; content_type: string; body: Buffer; tokens: TokenCounts }
  | MediaAnswered
  /** An upstream's own 4xx: the client's to read, never charged. */
  | { kind: 'client_error'; status: number; body: Buffer; said: string | undefined }

/** One try at one target. */
interface Trial {
  generation: Generation
  target: Target
  attempt: Attempt
  /** Kept where the target answered; given back where it did not. */
  slot: Slot | undefined
  hold: Hold | undefined
  clamped_to: number | undefined
  is_dialled: boolean
  /** R81: headers of the upstream's that go on. */
  told: ProviderAnswer['told']
  prefill?: Generation['prefill']
}

interface Failure {
  kind: 'failure'
  reason: unknown
  /** No other target is asked. */
  is_final: boolean
  /** The same one may be asked again. */
  retry?: Retry | undefined
}

/** The first target that answers. What was taken for it is the generation's from then on. */
export async function firstAnswer(generation: Generation): Promise<Answered> {
  const { path, call, route, attempts, stop, request } = generation
  let last: Trial | undefined
  let reason: unknown
  let is_customers = true // whose business it is where nobody answers
  const order = new TargetOrder(route.candidates)
  for (let target = order.next(); target; target = order.next()) {
    if (order.is_retry) await paused(order.pause_ms, stop)
    const trial = trialOf(generation, target, order.is_retry)
    const tried = await tryTarget(trial)
    trial.attempt.times.ended_ms = generation.elapsedMs()
    request.traced?.attempted(trial.attempt)
    if (trial.is_dialled) {
      attempts.push(trial.attempt)
      path.counts.attempted(target, trial.attempt, call.caller.project_id)
    }
    if (tried.kind !== 'failure') return take(trial, tried)
    if (trial.is_dialled) last = trial
    is_customers &&= isCustomers(target)
    reason = stop.aborted ? tried.reason : (reason ?? tried.reason)
    if (tried.is_final) break
    if (tried.retry) order.again(target, tried.retry, { now: path.clock.now(), deadline_at: call.deadline_at })
  }
  reason ??= new Refusal('unavailable', 'No target could take this call.')
  if (last) {
    await noteFailed(generation, last.target, last.slot, reason)
    if (reason instanceof Refusal) reason.about = { ...reason.about, is_customers, has_event: true }
  }
  throw reason
}

function trialOf(generation: Generation, target: Target, is_retry: boolean): Trial {
  const n = generation.attempts.length + 1
  const attempt: Attempt = {
    n,
    kind: n === 1 ? 'first' : is_retry ? 'retry' : 'provider_failover',
    target: target.id,
    provider: target.provider,
    model: target.model,
    status: undefined,
    failure: undefined,
    message: undefined,
    ttft_ms: undefined,
    times: { started_ms: generation.elapsedMs(), queue_ms: 0, dialled_ms: 0, ended_ms: 0 },
  }
  const none = { slot: undefined, hold: undefined, clamped_to: undefined, told: undefined }
  return { generation, target, attempt, is_dialled: false, ...none }
}

async function tryTarget(trial: Trial): Promise<Answered | Failure> {
  try {
    const { traced } = trial.generation.request
    await takeSlot(trial)
    traced?.stage('slot')
    const held = holdFor(trial.generation, trial.target)
    const { hold, clamp_output_to } = held instanceof Promise ? await held : held
    if (hold) traced?.stage('hold')
    trial.hold = hold
    trial.clamped_to = clamp_output_to
    // R78: those that had their holds together do not go on together.
    const turn = hold && trial.generation.path.turns.next(hold.project_id)
    if (turn) await turn
    const upstream = await dial(trial)
    trial.attempt.status = upstream.status
    trial.told = upstream.told
    if (upstream.left_out) trial.generation.left_out = upstream.left_out
    await noteCredential(trial, upstream.status)
    const verdict = verdictOn(upstream.status, upstream.retry_after_s)
    if (verdict.kind !== 'try_elsewhere') return await answerOf(trial, upstream, verdict)
    const { said, in_its_words } = await saidOfFailure(trial.generation, trial.target, upstream)
    await giveBack(trial)
    const failure = failed(trial, verdict, said)
    if (failure.reason instanceof Refusal) failure.reason.in_its_words = in_its_words
    return failure
  } catch (error) {
    await giveBack(trial)
    return failedWith(trial, error)
  }
}

async function takeSlot(trial: Trial): Promise<void> {
  const { path, call, stop } = trial.generation
  const slot = path.slots.admit(admissionOf(call, trial.target, stop))
  trial.slot = slot instanceof Promise ? await slot : slot
  trial.attempt.times.queue_ms = trial.slot.queue_ms
}

async function dial(trial: Trial): Promise<ProviderAnswer> {
  const { generation, target, attempt, clamped_to } = trial
  const { path, call, stop, request } = generation
  const provider = await providerFor(generation, target)
  // The one probe of a target that failed is taken here, where it is dialled, and nowhere before.
  if (!path.breakers.allows(target.id, call)) throw new Refusal('unavailable', 'The target is left alone for a while.')
  trial.is_dialled = true
  generation.left_out = []
  trial.prefill = path.placing.sent(generation.route, target)
  attempt.times.dialled_ms = generation.elapsedMs()
  const form = call.media?.formFor(target.model)
  const asked = {
    kind: call.kind,
    body: form ? call.body : bodyFor(call, target, clamped_to),
    form,
    stream: call.stream,
    headers: headersFor(call, target, request.traced?.dialling(target, attempt.n, call.kind)),
    timeouts: target.dialling.timeouts,
    query: call.messages?.query ?? '',
    below: call.conversation?.compacts ? ('compact' as const) : undefined,
  }
  return provider.call(asked, stop)
}

/** R73: a refusal is counted, and what is taken after one ends the row. Else there is nothing to note. */
async function noteCredential({ generation, target }: Trial, status: number): Promise<void> {
  const { credential_id, refusals } = target
  if (credential_id === undefined) return
  const is_refused = isRefusal(status)
  if (!is_refused && !(refusals && status < 300)) return
  const { path, call } = generation
  const { noteRefused, noteTaken } = path.credentials
  const note = is_refused ? noteRefused : noteTaken
  await path.deferred.surely(() => note(call.caller.project_id, credential_id, path.clock.now()))
}

async function answerOf({ generation, target }: Trial, upstream: ProviderAnswer, verdict: Verdict): Promise<Answered> {
  const { call, path } = generation
  const { status, content_type } = upstream
  if (verdict.kind === 'hand_on') {
    const { bytes: body } = await upTo(BUDGETS.envelope.bytes, upstream)
    const said = await cleared(generation, target, (secret) => wordsOf(body, secret))
    return { kind: 'client_error', status, body, said }
  }
  if (call.media) return mediaAnswer(generation, call.media, upstream)
  if (call.stream) {
    const frames = sseFrames({ kind: call.kind as TextKind, drop_usage: !call.wants_usage })
    try {
      return { kind: 'stream', stream: await openStream(upstream, frames, path.opening) }
    } catch (error) {
      if (error instanceof UpstreamError && frames.failed()) error.said = (secret) => wordsIn(frames.error(), secret)
      throw error
    }
  }
  const body = await upstream.whole(generation.held)
  try {
    return { kind: 'whole', content_type, body, tokens: await tokensOf(call as Call & { kind: TextKind }, body) }
  } catch (error) {
    if (error instanceof UpstreamError) error.said = (secret) => wordsOfAnswer(body, secret)
    throw error
  }
}

/** What was taken for the attempt is the generation's. The time of the first token waits for content (R82). */
function take(trial: Trial, answered: Answered): Answered {
  const { generation, target, attempt } = trial
  const { path, call, stop } = generation
  const { project_id } = call.caller
  generation.target = target
  generation.slot = trial.slot
  generation.hold = trial.hold
  generation.prefill = trial.prefill
  generation.clamped_to = trial.clamped_to
  generation.told = trial.told
  generation.answered_ms = attempt.times.ended_ms
  if (answered.kind !== 'stream') noteContent(trial)
  else
    answered.stream.watch({
      onContent: () => noteContent(trial),
      onNothing(error) {
        const verdict = stop.aborted ? undefined : verdictOnFailure(error)
        if (verdict?.counts_against) path.breakers.failed(target.id, call, verdict.failure)
        attempt.failure = verdict?.failure ?? abortedBy(stop.reason)
      },
    })
  generation.is_affine = path.affinity.targetOf(project_id, call.session_id) === target.id
  path.affinity.remember(project_id, call.session_id, target.id)
  path.departures.note(project_id, leftBehind(generation.route, generation), target.id)
  return answered
}

function noteContent({ generation, target, attempt, prefill }: Trial): void {
  generation.path.placing.firstToken(prefill, generation.call.stream)
  generation.ttft_ms = generation.elapsedMs()
  attempt.ttft_ms = generation.ttft_ms
  generation.path.breakers.succeeded(target.id, generation.call)
}

async function failedWith(trial: Trial, error: unknown): Promise<Failure> {
  const { generation, target, attempt, slot } = trial
  const { stop } = generation
  if (stop.aborted) {
    attempt.failure = abortedBy(stop.reason)
    return { kind: 'failure', reason: abortedWith(stop.reason, target, slot), is_final: true }
  }
  const verdict = verdictOnFailure(error)
  // An address that may not be dialled is found out before there is a connection, and is an attempt all the same.
  if (verdict && slot) {
    const { said } = error as UpstreamError
    trial.is_dialled = true
    attempt.status = undefined
    return failed(trial, verdict, said === undefined ? undefined : await cleared(generation, target, said))
  }
  if (!(error instanceof Refusal)) throw error
  error.about ??= aboutOf(target)
  if (trial.is_dialled) throw error
  return { kind: 'failure', reason: error, is_final: false }
}

function failed({ generation, target, attempt }: Trial, verdict: Elsewhere, message: string | undefined): Failure {
  const { failure, counts_against, surely_not_executed, status } = verdict
  if (counts_against) generation.path.breakers.failed(target.id, generation.call, failure)
  if (counts_against && surely_not_executed) generation.path.placing.failed(target.id)
  attempt.failure = failure
  attempt.message = message
  const reason = refusalOf(verdict, target.provider, message)
  reason.about = { upstream_status: status, said: message, ...aboutOf(target) }
  // §11 retry_safety: only what was surely not executed is tried again.
  const is_cautious = generation.call.hints?.safety?.retry_safety === 'idempotent_generation_only'
  const retry = retryOf(verdict, generation.elapsedMs() - attempt.times.dialled_ms)
  return { kind: 'failure', reason, is_final: is_cautious && !surely_not_executed, retry }
}

const abortedBy = (reason: unknown) => (reason instanceof Refusal ? reason.kind : 'client_left')

/** §10.2: a deadline that passed before there was a slot is told apart from one that passed afterwards. */
function abortedWith(reason: unknown, target: Target, slot: Slot | undefined): unknown {
  if (!(reason instanceof Refusal)) return reason
  const headers = { ...reason.headers, 'agent-qos-admission': slot?.verdict ?? 'expired_before_start' }
  return new Refusal(reason.kind, reason.message, { headers, cause: reason.cause, about: aboutOf(target) })
}

async function giveBack({ generation: { path }, slot, hold, prefill }: Trial): Promise<void> {
  path.placing.ended(prefill)
  slot?.release()
  if (hold) await path.deferred.surely(() => path.slices.release(hold))
}
