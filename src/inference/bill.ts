// What a generation leaves behind when it ends, as plain data: the charge with its usage event and, in the same
// transaction (R21), the answer that is kept for a retry, the session's turn, and the stored response.
import type { Hold } from '../budgets/budget.ts'
import type { Caller } from '../core/caller.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { makerOf } from '../core/maker.ts'
import { type Headers, type MoneyFacts, moneyHeaders } from '../headers/agent-headers.ts'
import type { KeptResponse } from '../idempotency/idempotency.ts'
import type { Reservation } from '../idempotency/idempotency-store.ts'
import { type NativeBlocks, nativeBlocks } from '../responses/native-response.ts'
import type { KeptResponse as StoredResponse } from '../responses/response-store.ts'
import type { Turn } from '../sessions/session.ts'
import { assistantOutput, finalResponse } from './assistant-output.ts'
import type { Call } from './call.ts'
import { isOpenedHere } from './call-reading.ts'
import { keptForm } from './conversation.ts'
import type { Outcome } from './outcome.ts'
import type { Target } from './target.ts'

export interface Bill {
  spender: Caller
  target: Target
  hold: Hold | undefined
  outcome: Outcome
  answer: FinalAnswer | undefined
  /** §11: under which the answer is kept; undefined where the request carried no idempotency key. */
  reservation: Reservation | undefined
  turn: Turn | undefined
  /** But for its native blocks, which tell what it cost. */
  response: Omit<StoredResponse, 'native'> | undefined
}

/** What the client gets, but for what it cost. */
export interface FinalAnswer {
  headers: Headers
  body: Buffer
  /** §9: only the native surface tells in its body what happened; on /v1 that is for headers. */
  is_native: boolean
}

/** The answer once its cost is known, as it is sent and kept. */
export function toldWith({ headers, body, is_native }: FinalAnswer, outcome: Outcome, money: MoneyFacts): KeptResponse {
  const told = is_native ? Buffer.from(JSON.stringify({ ...jsonIn(body), ...blocksOf(outcome, money) })) : body
  return { status: 200, headers: Object.assign(moneyHeaders(money), headers), body: told }
}

export const blocksOf = (outcome: Outcome, money: MoneyFacts): NativeBlocks =>
  nativeBlocks({ route: outcome, qos: outcome, money, attempts: outcome.attempts })

/** Who left before any content, though after the headers (R82), has had nothing. */
export const isOwed = ({ ending, ttft_ms }: Outcome) =>
  ending === 'completed' || (ending === 'client_left' && ttft_ms !== null)

export const isStored = ({ conversation }: Call) => conversation?.request.store ?? false

/** Only sessions that were opened here have turns. */
export const hasTurn = ({ session_id }: Call) => session_id !== undefined && isOpenedHere(session_id)

/** §11: once, however many attempts ran. Contents are kept under full fidelity alone. */
export function turnOf(call: Call, body: Buffer, outcome: Outcome, full_fidelity: boolean): Turn | undefined {
  if (!hasTurn(call)) return undefined
  const { caller, session_id, trace_id, json, kind, stream, conversation } = call
  const { tokens } = outcome
  return {
    session_id: session_id as string,
    response_id: conversation?.ids.response_id ?? trace_id,
    trace_id,
    input: full_fidelity ? (json.messages ?? json.input ?? json.prompt) : undefined,
    output: full_fidelity ? assistantOutput(kind, stream, body) : undefined,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    maker: makerOf(caller),
  }
}

export function responseOf(call: Call, body: Buffer): Bill['response'] {
  const { conversation } = call
  if (!conversation || !isStored(call)) return undefined
  const kept = keptForm(call.stream ? finalResponse(body) : jsonIn(body), conversation)
  return kept && { trace_id: call.trace_id, ...makerOf(call.caller), ...kept }
}
