// The path of one generation (§1, §8.1, §10, §11): route, reserve, dispatch, answer, settle. Stages take values and
// return values; the promise that each one keeps stands beside it.
import { Refusal } from '../core/refusal.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { moneyHeaders } from '../headers/agent-headers.ts'
import type { KeptResponse } from '../idempotency/idempotency.ts'
import type { Reservation } from '../idempotency/idempotency-store.ts'
import { UpstreamError } from '../providers/provider.ts'
import type { ToldRefusal } from '../refusals/refused-call.ts'
import type { Link } from '../reuse/prefix-chain.ts'
import type { Db } from '../storage/db.ts'
import type { Ending } from '../usage/usage-event.ts'
import type { OpenedStream } from './answer-stream.ts'
import type { Call } from './call.ts'
import { type Client, ClientLeft } from './client.ts'
import type { Answered, Dispatched } from './dispatch.ts'
import { aboutOf, brokenAttempts, cleared } from './failed-attempt.ts'
import { type Facts, factsOf, headersOf, modeOf } from './generation-facts.ts'
import { endOf, type LateStages, type LateStream, lateStream, trailersOf, withoutQos } from './late-stream.ts'
import { isFallback } from './own-capacity.ts'
import { type ReuseBelief, targetMetSoFar } from './qos.ts'
import type { Money, Produced, Together } from './settle.ts'
import type { Route, Target } from './target.ts'
import { NO_TOKENS, streamedTokens, type TokenCounts } from './token-counts.ts'
import { whatWasRefused, withoutOtherCode, wordsIn } from './upstream-reason.ts'
import { brokenOff } from './upstream-verdict.ts'

export interface Stages extends LateStages {
  chooseRoute(call: Call): Promise<Route> | Route
  reserve(call: Call): Promise<Reservation | undefined>
  release(reservation: Reservation): Promise<void>
  dispatch(call: Call, route: Route, signal: StopSignal): Promise<Dispatched>
  /** R84: what is believed of the prompt before it is noted; asked for only where hints on reuse came. */
  reuseOf(call: Call, got: Dispatched): PromptReuse
  /** Notes the prompt; `chain` is that of `reuseOf` where it was asked for. */
  repeatedTokens(call: Call, got: Dispatched, chain: readonly Link[] | undefined): Promise<number> | number
  settle(call: Call, got: Dispatched, produced: Produced, together: Together | undefined): Promise<Money>
  /** For tokens that the client already has: written later where the store is away, and then without a result. */
  settleDelivered: (...settled: Parameters<Stages['settle']>) => Promise<Money | undefined>
  giveBack(got: Dispatched): Promise<void>
  /** What the client hears in the middle of a stream, the operator must hear too. */
  tellOperator(refusal: Refusal): void
  /** R80: what the client is told in an upstream's own words is put on record. */
  noteRefused(refusal: Refusal, told: ToldRefusal): void
  /** What must not be told on of what the target says. */
  secretFor(call: Call, target: Target): Promise<string | undefined>
  /** Whether the whole stream is needed afterwards. */
  wantsBody(call: Call): boolean
  /** Whether `also` has anything to write. */
  leavesMore(call: Call): boolean
  /** What is written together with the charge, such as the session's line. */
  also(ended: Ended, tx: Db): Promise<void>
  /** The body that the client gets, once it is known what it cost. */
  finalBody(ended: Ended): Buffer
}

/** A generation that came to its end, as the records see it. */
export interface Ended {
  call: Call
  got: Dispatched
  facts: Facts
  body: Buffer
  tokens: TokenCounts
  money: Money
}

export interface PromptReuse extends ReuseBelief {
  chain: readonly Link[]
}

interface Run {
  call: Call
  route: Route
  got: Dispatched
  reservation: Reservation | undefined
  client: Client
  stages: Stages
  reuse: PromptReuse | undefined
  /** R82: the headers leave before it is known whether the target is met. */
  is_target_open: boolean
}

export async function generate(call: Call, client: Client, stages: Stages, signal: StopSignal): Promise<void> {
  const route = await stages.chooseRoute(call) //                 R40: alias, own clusters, own keys, managed
  const reservation = await stages.reserve(call) //               §11: durable before anything is dialled; else 409
  try {
    const got = await stages.dispatch(call, route, signal) //     R43 hold, R47 failover, R44 deadline
    try {
      const reuse = call.hints?.reuse && stages.reuseOf(call, got)
      const is_target_open = targetMetSoFar(call.hints, got) === 'unknown'
      const run = { call, route, got, reservation, client, stages, reuse, is_target_open }
      await answer(run, signal) //                                R41, R42: charged once, told truly
    } catch (error) {
      await stages.giveBack(got) //                               what was not settled is not kept back either
      if (error instanceof Refusal) error.about ??= { attempts: got.attempts, ...aboutOf(got.target) }
      throw error
    } finally {
      got.slot.release()
    }
  } catch (error) {
    if (reservation) await stages.release(reservation) //         §11.6: a failure frees the key at once
    throw error
  }
}

function answer(run: Run, signal: StopSignal): Promise<void> {
  const { answer: answered } = run.got
  if (answered.kind === 'stream') return answerStream(run, answered, signal)
  return answered.kind === 'whole' ? answerWhole(run, answered) : answerClientError(run, answered)
}

type Whole = Extract<Answered, { kind: 'whole' }>

async function answerWhole(run: Run, { content_type, body, tokens }: Whole): Promise<void> {
  const { call, got, client, stages, reservation } = run
  const facts = factsOf(run)
  const headers = { 'content-type': content_type || 'application/json', ...headersOf(facts) }
  const ended = (money: Money): Ended => ({ call, got, facts, body, tokens, money })
  const told = (money: Money): KeptResponse => ({
    status: 200,
    headers: Object.assign(moneyHeaders(money), headers),
    body: stages.finalBody(ended(money)),
  })
  const also = (tx: Db, money: Money) => stages.also(ended(money), tx)
  const produced = await producedOf(run, 'completed', tokens, facts)
  const together = { reservation, leaves_more: stages.leavesMore(call), kept: told, kept_bytes: body.length, also }
  const answer = told(await stages.settle(call, got, produced, together))
  client.send(answer.status, answer.headers, answer.body)
}

async function answerClientError(run: Run, answered: Extract<Answered, { kind: 'client_error' }>): Promise<void> {
  await run.stages.giveBack(run.got)
  if (run.reservation) await run.stages.release(run.reservation)
  const { status, body, said } = answered
  const { envelope, reason } = whatWasRefused(body)
  const refusal = upstreamRefused(status, reason)
  const { target, attempts } = run.got
  refusal.about = { upstream_status: status, said, attempts, ...aboutOf(target) }
  if (!envelope) throw refusal
  const headers = headersOf(factsOf(run))
  run.stages.noteRefused(refusal, { status, headers, ...envelope })
  run.client.send(status, { 'content-type': 'application/json; charset=utf-8', ...headers }, withoutOtherCode(body))
}

const upstreamRefused = (status: number, reason: string | undefined) =>
  new Refusal(
    'invalid_request',
    `The upstream refused this request with status ${status}${reason === undefined ? '.' : `: ${reason}`}`,
    { by: 'upstream' },
  )

/** Read for a client that has left, at most: the usage comes last, and what was produced is charged by it. */
const LEFT_MAX_BYTES = 1024 * 1024

async function answerStream(
  run: Run,
  { stream }: Extract<Answered, { kind: 'stream' }>,
  signal: StopSignal,
): Promise<void> {
  const { call, got, client, stages, reservation, is_target_open } = run
  const late = lateStream(run, { frames: stream.frames, isAbandoned: () => isAbandoned(run) })
  const promised = (facts: Facts) => (late.promised ? facts : withoutQos(facts))
  const begun = promised(factsOf(run, is_target_open))
  const headers = headersOf(begun)
  const parts: Buffer[] = []
  const keepParts = reservation !== undefined || stages.wantsBody(call)
  let last: Buffer | undefined
  let left_bytes = 0

  function write(part: Buffer): void | Promise<void> {
    if (isAbandoned(run)) left_bytes += part.length
    if (left_bytes > LEFT_MAX_BYTES) throw new ClientLeft('the client left')
    if (keepParts) parts.push(part)
    const asking = late.asking()
    return asking ? asking.then(() => (late.isWaived() ? undefined : client.write(part))) : client.write(part)
  }

  try {
    client.begin(headers, trailersOf(run))
    last = await stream.forward(write)
    await late.asking()
    if (isAbandoned(run)) throw new ClientLeft('the client left')
    if (late.isWaived()) throw signal.reason
  } catch (error) {
    stream.cancel()
    await late.asking()
    // Who left has ended it, and so has who did not read until the time of the call was over.
    const ended = isAbandoned(run) || isNotTaken(error) ? new ClientLeft('the client left', { cause: error }) : error
    return endEarly({ ...run, begun, late }, stream, signal.aborted ? signal.reason : ended)
  }
  stream.leave()
  if (keepParts && last) parts.push(last)
  const body = Buffer.concat(parts)
  const tokens = streamedTokens(call, stream.frames)
  const { facts, trailers, hints_at_end } = endOf(run, is_target_open ? promised(factsOf(run)) : begun, late)
  const kept = (money: Money) => keptStream(Object.assign(moneyHeaders(money), headers, trailers), body)
  const also = (tx: Db, money: Money) => stages.also({ call, got, facts, body, tokens, money }, tx)
  const produced = Object.assign(await producedOf(run, 'completed', tokens, begun), { hints_at_end })
  const money = await stages.settleDelivered(call, got, produced, {
    reservation,
    leaves_more: stages.leavesMore(call),
    kept,
    kept_bytes: body.length,
    also,
  })
  client.end(Object.assign(money ? moneyHeaders(money) : {}, trailers), last)
}

const isNotTaken = (error: unknown) => error instanceof UpstreamError && error.failure === 'not_taken'

/** R26: nobody will ask for it again, and nobody reads it any more. */
const isAbandoned = ({ client, reservation }: Run) => reservation === undefined && client.hasLeft()

/** R26, R47, R71: a client that left pays for what was produced; nobody pays for what we or the upstream broke off. */
async function endEarly(
  run: Run & { begun: Facts; late: LateStream },
  stream: OpenedStream,
  reason: unknown,
): Promise<void> {
  const { call, got, client, stages, reservation, begun, late } = run
  const left = reason instanceof ClientLeft
  const is_late = reason instanceof Refusal && reason.kind === 'deadline_exceeded'
  const tokens = got.ttft_ms === null ? NO_TOKENS : streamedTokens(call, stream.frames)
  const ending: Ending = left ? 'client_left' : is_late ? 'deadline_exceeded' : 'upstream_failed'
  const { target } = got
  const { frames } = stream
  const said = frames.failed()
    ? await cleared({ call, target, stages }, (secret) => wordsIn(frames.error(), secret))
    : undefined
  const broken =
    ending === 'upstream_failed' ? { ...got, attempts: brokenAttempts(got.attempts, frames, reason, said) } : got
  const { trailers, hints_at_end } = endOf(run, begun, late)
  const waived_micros = is_late ? late.waivedMicros() : 0
  const produced = Object.assign(await producedOf(run, ending, tokens, begun), { waived_micros, hints_at_end })
  const money = await stages.settleDelivered(call, broken, produced, undefined)
  if (reservation) await stages.release(reservation)
  if (left) return client.forget()
  const told = Object.assign(money ? moneyHeaders(money) : {}, trailers)
  const refusal = reason instanceof Refusal ? reason : brokenOff(target.provider, said, reason)
  refusal.about = { said, has_event: true, ...aboutOf(target) }
  stages.tellOperator(refusal)
  if (stream.hasToldFailure()) return client.end(told) // the upstream has said so itself
  client.fail(refusal, told)
}

async function producedOf(
  { call, route, got, stages, reservation, reuse, is_target_open }: Run,
  ending: Ending,
  tokens: TokenCounts,
  facts: Facts,
): Promise<Produced> {
  return {
    ending,
    tokens,
    mode: modeOf(route, got),
    admission: got.slot.verdict,
    alias_release_id: route.alias_release_id,
    fallback_used: isFallback(route, got),
    keyed: reservation !== undefined,
    repeated_tokens_est: await stages.repeatedTokens(call, got, reuse?.chain),
    hints_honored: facts.qos.hints_honored,
    target_met_in_trailer: is_target_open || undefined,
  }
}

const keptStream = (headers: Record<string, string>, body: Buffer): KeptResponse => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers },
  body,
})
