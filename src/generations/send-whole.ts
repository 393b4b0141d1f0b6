// An answer that came whole: settled first, so that its headers say truly what it cost (R41, R42), then sent.

import { whatWasRefused, withoutOtherCode } from '../answers/upstream-reason.ts'
import { BUDGETS, smallJsonOrNone } from '../core/foreign.ts'
import { Refusal } from '../core/refusal.ts'
import { errorFrom } from '../messages/message-from-chat.ts'
import { isMessagesError } from '../messages/upstream-words.ts'
import { type Bill, responseOf, saidIn, toldWith, turnOf } from './bill.ts'
import { aboutOf, mayBeTold } from './failed-attempt.ts'
import type { Answered } from './first-answer.ts'
import type { Generation } from './generation.ts'
import { headersOf, type Outcome, outcomeOf } from './outcome.ts'
import type { Settled } from './settle.ts'

type Whole = Extract<Answered, { kind: 'whole' }>
type ClientError = Extract<Answered, { kind: 'client_error' }>

export async function sendWhole(generation: Generation, { content_type, body, tokens }: Whole): Promise<void> {
  const { call, path, target, reuse } = generation
  const outcome = outcomeOf(generation)
  outcome.tokens = tokens
  outcome.repeated_tokens_est = path.prompts.note(call, target, reuse?.chain)
  const headers = Object.assign(headersOf(outcome), generation.told)
  headers['content-type'] = content_type || 'application/json'
  const said = await saidIn(call, body, path.gateway.full_fidelity)
  const answer = { headers, body, is_native: call.conversation?.surface === 'v2', said }
  const settled = await settleNow(generation, billFor(generation, outcome, answer))
  const { status, headers: told, body: sent } = settled.kept ?? toldWith(answer, outcome, settled)
  generation.client.send(status, told, sent)
}

export function billFor(generation: Generation, outcome: Outcome, answer: Bill['answer']): Bill {
  const { call, target, hold, reservation, path, only } = generation
  outcome.placing = path.placing.answered(generation, outcome.tokens)
  if (target.cluster_id !== undefined) outcome.prefix_hash = call.chain?.links[0]?.hash
  const said = answer?.said
  return {
    spender: call.caller,
    target,
    hold,
    most_micros: only?.most_micros,
    outcome,
    answer,
    reservation,
    turn: said && turnOf(call, said, outcome, path.gateway.full_fidelity),
    response: said && responseOf(call, said),
    is_promised: call.conversation?.background,
    response_bytes: call.body.length + (answer?.body.length ?? 0),
  }
}

/** Where the store is away, nobody is charged and the client is told so. */
export async function settleNow({ path, allowance, request }: Generation, bill: Bill): Promise<Settled> {
  const { input, output } = bill.outcome.tokens
  allowance.used(input + output)
  request.traced?.answered(bill.outcome)
  try {
    const settled = await path.charges.settle(bill)
    request.traced?.settled(settled)
    return settled
  } catch (error) {
    path.deferred.noteRefused(error)
    throw error
  }
}

/** An upstream's own 4xx, in its own words where clients know their form: never charged. */
export async function sendUpstreamRefusal(generation: Generation, { status, body, said }: ClientError): Promise<void> {
  await generation.giveBackHold()
  await generation.giveBackKey()
  const { envelope, reason } = whatWasRefused(body)
  const { path, call, target, attempts, request, client } = generation
  const refusal = upstreamRefused(status, reason && said)
  const outcome = outcomeOf(generation)
  path.counts.refused(target, outcome, path.clock.now())
  refusal.about = { upstream_status: status, said, attempts, ...aboutOf(target) }
  if (!envelope || !(await mayBeTold(generation, target, body))) throw refusal
  const headers = Object.assign(headersOf(outcome), generation.told)
  request.noteRefused(refusal, { status, headers, ...envelope })
  const told = call.kind === 'messages' ? messagesError(body, status) : withoutOtherCode(body)
  client.send(status, { 'content-type': 'application/json; charset=utf-8', ...headers }, told)
}

/** R81: as it came, or in that protocol's shape where the upstream has another, as llama.cpp does. */
const messagesError = (body: Buffer, status: number) =>
  isMessagesError(body) ? body : Buffer.from(JSON.stringify(errorFrom(smallJsonOrNone(BUDGETS.envelope, body), status)))

const upstreamRefused = (status: number, reason: string | undefined) =>
  new Refusal(
    'invalid_request',
    `The upstream refused this request with status ${status}${reason === undefined ? '.' : `: ${reason}`}`,
    { by: 'upstream' },
  )
