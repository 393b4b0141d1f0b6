// What a generation leaves behind when it ends, as plain data: the charge with its usage event and, in the same
// transaction (R21), the answer that is kept for a retry, the session's turn, and the stored response.

import { answeredResponse, assistantOutput } from '../answers/assistant-output.ts'
import type { Hold } from '../budgets/budget.ts'
import type { Caller } from '../core/caller.ts'
import { makerOf } from '../core/maker.ts'
import { type Headers, type MoneyFacts, moneyHeaders } from '../headers/agent-headers.ts'
import type { KeptResponse } from '../idempotency/idempotency.ts'
import type { Reservation } from '../idempotency/idempotency-store.ts'
import { keptForm } from '../responses/conversation.ts'
import { type NativeBlocks, nativeBlocks } from '../responses/native-response.ts'
import type { Json } from '../responses/response-request.ts'
import type { KeptResponse as StoredResponse } from '../responses/response-store.ts'
import type { Target } from '../routing/target.ts'
import type { Turn } from '../sessions/session.ts'
import type { LargeTurn } from '../sessions/session-store.ts'
import type { LargeBody } from '../storage/large-bodies.ts'
import type { Call } from './call.ts'
import { isOpenedHere } from './call-reading.ts'
import type { Outcome } from './outcome.ts'

export interface Bill {
  spender: Caller
  target: Target
  hold: Hold | undefined
  /** Whatever it cost, no more than this is charged. */
  most_micros?: number | undefined
  outcome: Outcome
  answer: FinalAnswer | undefined
  /** §11: under which the answer is kept; undefined where the request carried no idempotency key. */
  reservation: Reservation | undefined
  turn: Turn | undefined
  /** But for its native blocks, which tell what it cost. */
  response: Omit<StoredResponse, 'native'> | undefined
  /** It was promised before, and may be cancelled or deleted by now. */
  is_promised?: boolean | undefined
  /** How much request and answer are together. */
  response_bytes?: number | undefined
  /** What of it is in the store already. */
  ahead?: WrittenAhead | undefined
}

/** What was too large to be written with the rest. */
export interface WrittenAhead extends LargeTurn {
  answer?: LargeBody | undefined
  response?: LargeBody | undefined
}

/** What the client gets, but for what it cost. */
export interface FinalAnswer {
  headers: Headers
  body: Buffer
  /** §9: only the native surface tells in its body what happened; on /v1 that is for headers. */
  is_native: boolean
  said: Said
}

/** What somebody has to know of what is in the answer; nothing, where nobody has. */
export interface Said {
  response?: Json | undefined
  output?: unknown
}

const NOTHING_SAID: Said = {}

/** Of what a session's line has under full fidelity alone. */
export const keepsContents = (call: Call, full_fidelity: boolean) =>
  full_fidelity && hasTurn(call) && call.drops_contents !== true

/** Before anything is settled, since what is large is read in steps (R77). */
export function saidIn(call: Call, body: Buffer, full_fidelity: boolean): Said | Promise<Said> {
  const { conversation, kind, stream } = call
  const is_response = isStored(call) || (conversation?.surface === 'v2' && !stream)
  const has_output = keepsContents(call, full_fidelity) && !call.media
  if (!is_response && !has_output) return NOTHING_SAID
  return readSaid()

  async function readSaid(): Promise<Said> {
    const response = is_response ? await answeredResponse(stream, body) : undefined
    const output = has_output ? (response?.output ?? (await assistantOutput(kind, stream, body))) : undefined
    return { response, output }
  }
}

/** The answer once its cost is known, as it is sent and kept. */
export function toldWith(answer: FinalAnswer, outcome: Outcome, money: MoneyFacts): KeptResponse {
  const { headers, body, is_native, said } = answer
  const told = is_native && said.response ? withBlocks(body, said.response, blocksOf(outcome, money)) : body
  return { status: 200, headers: Object.assign(moneyHeaders(money), headers), body: told }
}

const CLOSE_BRACE = 0x7d

/** Behind what the response says; where it uses one of their names itself, it is written anew. */
function withBlocks(body: Buffer, response: Json, blocks: NativeBlocks): Buffer {
  if (Object.keys(blocks).some((name) => Object.hasOwn(response, name)))
    return Buffer.from(JSON.stringify({ ...response, ...blocks }))
  const end = body.lastIndexOf(CLOSE_BRACE)
  return Buffer.concat([body.subarray(0, end), Buffer.from(`,${JSON.stringify(blocks).slice(1)}`)])
}

export const blocksOf = (outcome: Outcome, money: MoneyFacts): NativeBlocks =>
  nativeBlocks({ route: outcome, qos: outcome, money, attempts: outcome.attempts })

/** Who left before any content, though after the headers (R82), has had nothing. */
export const isOwed = ({ ending, is_paid_so_far, ttft_ms }: Outcome) =>
  ending === 'completed' || ((ending === 'client_left' || is_paid_so_far === true) && ttft_ms !== null)

export const isStored = ({ conversation }: Call) => conversation?.request.store ?? false

/** Only sessions that were opened here have turns. */
export const hasTurn = ({ session_id }: Call) => session_id !== undefined && isOpenedHere(session_id)

/** §11: once, however many attempts ran. Contents are kept under full fidelity alone. */
export function turnOf(call: Call, said: Said, outcome: Outcome, full_fidelity: boolean): Turn | undefined {
  if (!hasTurn(call)) return undefined
  const { caller, session_id, trace_id, conversation, client_json: json = call.json } = call
  const { tokens } = outcome
  return {
    session_id: session_id as string,
    response_id: conversation?.ids.response_id ?? trace_id,
    trace_id,
    input: keepsContents(call, full_fidelity) ? (json.messages ?? json.input ?? json.prompt) : undefined,
    output: said.output,
    content_dropped: call.drops_contents ? 'quota' : undefined,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    maker: makerOf(caller),
  }
}

export function responseOf(call: Call, said: Said): Bill['response'] {
  const { conversation } = call
  if (!conversation || !isStored(call)) return undefined
  const kept = keptForm(said.response, conversation)
  return kept && { trace_id: call.trace_id, ...makerOf(call.caller), ...kept }
}
