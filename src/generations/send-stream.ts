// An answer that is streamed: its bytes go on as they come, and what it cost is told behind them (R41). Failures, a
// deadline that passes and a client that leaves are ends like the others: each is settled, and each is told.

import type { OpenedStream } from '../answers/answer-stream.ts'
import { NO_TOKENS, streamedTokens } from '../answers/token-counts.ts'
import { wordsIn } from '../answers/upstream-reason.ts'
import { brokenOff } from '../answers/upstream-verdict.ts'
import { KEPT_STREAM_MAX_BYTES } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { Refusal } from '../core/refusal.ts'
import type { Spool } from '../core/spool.ts'
import {
  type Headers,
  HONORED,
  honoredHeader,
  MONEY_TRAILERS,
  moneyHeaders,
  TARGET_MET,
} from '../headers/agent-headers.ts'
import { tellTrouble } from '../http/answers.ts'
import { isOfItsSize, UpstreamError } from '../providers/provider.ts'
import type { Ending } from '../usage/usage-event.ts'
import { type Bill, isOwed, isStored, keepsContents, saidIn } from './bill.ts'
import { ClientLeft } from './client.ts'
import { isAway } from './deferred-writes.ts'
import { aboutOf, brokenAttempts, cleared } from './failed-attempt.ts'
import type { Generation } from './generation.ts'
import { LateStream } from './late-stream.ts'
import { headersOf, type Outcome, outcomeOf, withoutQos } from './outcome.ts'
import { targetMet } from './qos.ts'
import { keptOf } from './send-spooled.ts'
import { billFor } from './send-whole.ts'
import type { Settled } from './settle.ts'

/** Read for a client that has left, at most: the usage comes last, and what was produced is charged by it. */
const LEFT_MAX_BYTES = 1024 * 1024
/** An image alone has more. */
const LEFT_MEDIA_MAX_BYTES = 32 * LEFT_MAX_BYTES

const EVENT_STREAM = 'text/event-stream; charset=utf-8'

export async function sendStream(generation: Generation, stream: OpenedStream): Promise<void> {
  const forwarding = new Forwarding(generation, stream)
  try {
    await forwarding.run()
  } catch (error) {
    stream.cancel()
    await forwarding.late.asking
    const { stop } = generation
    // Who left has ended it, and so has who did not read until the time of the call was over.
    const has_left = generation.isAbandoned() || isNotTaken(error)
    const reason = has_left ? new ClientLeft('the client left', { cause: error }) : error
    return endEarly(forwarding, stop.aborted ? stop.reason : reason)
  }
  stream.leave()
  await endWell(forwarding)
}

const isNotTaken = (error: unknown) => error instanceof UpstreamError && error.failure === 'not_taken'

/** A stream on its way to its client. */
class Forwarding {
  readonly generation: Generation
  readonly stream: OpenedStream
  readonly late: LateStream
  readonly outcome: Outcome
  readonly headers: Headers
  /** The last word, which is sent once all is settled. */
  last: Buffer | undefined = undefined
  /** Of sound and images: what is to be kept of it. */
  readonly spool: Spool | undefined
  readonly #parts: GatheredParts | undefined
  #left_bytes = 0

  constructor(generation: Generation, stream: OpenedStream) {
    const { call, path, reservation } = generation
    this.generation = generation
    this.stream = stream
    this.late = new LateStream(generation, stream.frames)
    this.outcome = outcomeOf(generation)
    if (!this.late.is_promised) this.outcome.hints_honored = withoutQos(this.outcome.hints_honored)
    this.headers = Object.assign(headersOf(this.outcome), generation.told)
    if (generation.stream_type !== undefined) this.headers['content-type'] = generation.stream_type
    const is_kept = reservation || isStored(call) || keepsContents(call, path.gateway.full_fidelity)
    this.#parts = is_kept && !call.media ? new GatheredParts() : undefined
    if (reservation) this.spool = call.media?.spool(path.media_room.place(call.caller.project_id))
  }

  async run(): Promise<void> {
    const { generation, stream, late } = this
    generation.client.begin(this.headers, trailersOf(generation))
    this.last = await stream.forward((part) => this.#write(part))
    await late.asking
    if (generation.isAbandoned()) throw new ClientLeft('the client left')
    if (late.isWaived) throw generation.stop.reason
    if (this.last) this.#parts?.add(this.last)
    if (this.last) await this.spool?.add(this.last)
  }

  #write(part: Buffer): void | Promise<void> {
    const { client } = this.generation
    if (client.left && this.generation.isAbandoned()) this.#left_bytes += part.length
    const most = this.generation.call.media ? LEFT_MEDIA_MAX_BYTES : LEFT_MAX_BYTES
    if (this.#left_bytes > most) throw new ClientLeft('the client left')
    this.#keep(part)
    const spooled = this.spool?.add(part)
    if (spooled) return spooled.then(() => this.#forward(part))
    return this.#forward(part)
  }

  #forward(part: Buffer): void | Promise<void> {
    const { client } = this.generation
    const { asking } = this.late
    return asking ? asking.then(() => (this.late.isWaived ? undefined : client.write(part))) : client.write(part)
  }

  /** R77: what is to be kept lies in memory until it ends. */
  #keep(part: Buffer): void {
    if (!this.#parts) return
    this.generation.held.take(part.length)
    this.#parts.add(part)
    if (this.#parts.bytes > KEPT_STREAM_MAX_BYTES) throw new UpstreamError('too_large')
  }

  /** All that was sent, where it is needed afterwards. */
  body(): Buffer {
    return this.#parts ? Buffer.concat(this.#parts.take()) : Buffer.alloc(0)
  }

  /** What the headers could not say yet (R82), or said and was not kept (R71). */
  trailers(): Headers {
    const { generation, outcome, late } = this
    const trailers: Headers = {}
    outcome.ttft_ms = generation.ttft_ms
    outcome.target_met = targetMet(generation.call.hints, generation.ttft_ms)
    if (generation.is_target_open) trailers[TARGET_MET] = String(outcome.target_met)
    if (!late.isOutlived) return trailers
    outcome.hints_at_end = withoutQos(outcome.hints_honored)
    return Object.assign(trailers, outcome.hints_at_end && honoredHeader(outcome.hints_at_end))
  }
}

/** The names of all that may come behind the body. */
const trailersOf = ({ call, is_target_open }: Generation): string =>
  [MONEY_TRAILERS, ...(is_target_open ? [TARGET_MET] : []), ...(call.deadline_at === undefined ? [] : [HONORED])].join(
    ', ',
  )

async function endWell(forwarding: Forwarding): Promise<void> {
  const { generation, stream, outcome, headers, last } = forwarding
  const { call, path, target, reuse, client, timer } = generation
  timer.clear() // R71: a deadline that passes from here on was kept
  const trailers = forwarding.trailers()
  outcome.tokens = streamedTokens(call, stream.frames)
  outcome.repeated_tokens_est = path.prompts.note(call, target, reuse?.chain)
  const told = { 'content-type': EVENT_STREAM, ...headers, ...trailers }
  const body = forwarding.body()
  const said = await saidIn(call, body, path.gateway.full_fidelity)
  const bill = billFor(generation, outcome, { headers: told, body, is_native: false, said })
  if (forwarding.spool) await keepSpool(generation, bill, forwarding.spool)
  const settled = await settleSurely(generation, bill)
  client.end(Object.assign(settled ? moneyHeaders(settled) : {}, trailers), last)
}

/** Where the store is away, its charge is written later, and its answer is kept by nobody: a retry is served anew. */
async function keepSpool(generation: Generation, bill: Bill, spool: Spool): Promise<void> {
  try {
    const { body, ahead } = await keptOf(generation, spool)
    if (bill.answer) bill.answer.body = body
    bill.ahead = ahead
  } catch (error) {
    if (!isAway(error)) throw error
    bill.reservation = undefined
    await generation.giveBackKey()
  }
}

/** R26, R47: a client that left pays for what was produced, and nobody pays for what the upstream broke off. */
async function endEarly(forwarding: Forwarding, reason: unknown): Promise<void> {
  const { generation, stream, outcome, late } = forwarding
  const { call, path, target, reuse, client, request, timer } = generation
  timer.clear() // it has ended: nothing is waived for a deadline any more
  const { frames } = stream
  const has_left = reason instanceof ClientLeft
  const is_late = reason instanceof Refusal && reason.kind === 'deadline_exceeded'
  const ending: Ending = has_left ? 'client_left' : is_late ? 'deadline_exceeded' : 'upstream_failed'
  const said = frames.failed()
    ? await cleared(generation, target, (secret) => wordsIn(frames.error(), secret))
    : undefined
  const trailers = forwarding.trailers()
  outcome.ending = ending
  outcome.is_paid_so_far = !has_left && (await isPaidSoFar(late, reason))
  outcome.tokens = generation.ttft_ms === null ? NO_TOKENS : streamedTokens(call, frames)
  outcome.repeated_tokens_est = path.prompts.note(call, target, reuse?.chain)
  outcome.waived_micros = has_left ? 0 : late.waived_micros
  if (ending === 'upstream_failed') outcome.attempts = brokenAttempts(outcome.attempts, frames, reason, said)
  // Nothing of it is kept: whoever asks again is served anew.
  const bill: Bill = { ...billFor(generation, outcome, undefined), reservation: undefined }
  const settled = await settleSurely(generation, bill)
  await generation.giveBackKey()
  if (has_left) return client.forget()
  const told = Object.assign(settled ? moneyHeaders(settled) : {}, trailers)
  const refusal = is_late
    ? timer.tooLate(isOwed(outcome))
    : brokenOff(target.provider, { said, is_charged: isOwed(outcome), cause: reason })
  refusal.about = { said, has_event: true, ...aboutOf(target) }
  tellTrouble(refusal, refusal, request)
  if (stream.hasToldFailure()) return client.end(told) // the upstream has said so itself
  client.fail(refusal, told)
}

/**
 * R71, R77: how large a stream is, and how long it takes, is for its client to ask. Beyond what is read of one, what
 * came is paid; what we break off otherwise is free within the waiver of the day.
 */
async function isPaidSoFar(late: LateStream, reason: unknown): Promise<boolean> {
  if (!(reason instanceof UpstreamError) || reason.failure === 'total_timeout') return !(await late.isLetOff())
  return isOfItsSize(reason.failure)
}

/** The client already has these tokens: written later where the store is away, and then without a result. */
async function settleSurely({ path, allowance, request }: Generation, bill: Bill): Promise<Settled | undefined> {
  const { input, output } = bill.outcome.tokens
  allowance.used(input + output)
  request.traced?.answered(bill.outcome)
  // What has to wait keeps no answer in memory that nobody needs.
  if (!bill.reservation) bill.answer = undefined
  const settled = await path.deferred.surely(() => settleOrLetGo(path, bill))
  request.traced?.settled(settled)
  return settled
}

/** What can never be written, because another process has taken over meanwhile, must not stay held either. */
async function settleOrLetGo({ charges, deferred, slices, idempotency }: Generation['path'], bill: Bill) {
  const { hold, reservation } = bill
  try {
    return await charges.settle(bill)
  } catch (error) {
    if (isAway(error)) throw error
    await Promise.allSettled([
      hold && deferred.surely(() => slices.release(hold)),
      reservation && deferred.surely(() => idempotency.release(reservation)),
    ])
    throw error
  }
}
