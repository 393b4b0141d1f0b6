// R77: what of a bill is too large to be written in one statement is written before its transaction, part by part: the
// answer that is kept, the response that is stored, what a session keeps of its turn. Neither the event loop nor the
// store is held up by one of them.

import { jsonBytes } from '../core/json-writing.ts'
import type { Sealing } from '../core/sealing.ts'
import type { KeptResponse } from '../idempotency/idempotency.ts'
import { mostOf } from '../responses/response-store.ts'
import type { Db } from '../storage/db.ts'
import { isLargeBody, type LargeBody, largeBodies } from '../storage/large-bodies.ts'
import type { Bill, FinalAnswer, WrittenAhead } from './bill.ts'

interface Needs {
  db: Db
  now(): number
  seals: Sealing
}

/** How much of it is sealed and sent to the store, roughly. */
export function keptBytes({ answer, reservation, response, response_bytes = 0, turn }: Bill): number {
  const answered = answer?.body.length ?? 0
  const kept = (reservation ? answered : 0) + (response ? response_bytes : 0)
  return kept + turnBytes({ answer, response_bytes, turn })
}

/** How much of it its session's line has, roughly. */
export function turnBytes({ answer, response_bytes = 0, turn }: Pick<Bill, 'answer' | 'response_bytes' | 'turn'>) {
  if (!turn) return 0
  const answered = answer?.body.length ?? 0
  return (turn.output === undefined ? 0 : answered) + (turn.input === undefined ? 0 : response_bytes - answered)
}

export const isLargeBill = (bill: Bill) => isLargeBody(keptBytes(bill))

/** Undefined where each part of it is small. */
export async function writeAhead({ db, now, seals }: Needs, bill: Bill): Promise<WrittenAhead | undefined> {
  const { answer, reservation, response, response_bytes = 0, turn, spender } = bill
  const bodies = largeBodies(db, seals)
  const ahead: WrittenAhead = {}
  if (answer && reservation && isLargeBody(answer.body.length))
    ahead.answer = await bodies.write(spender.project_id, reservation.key, unchangedOf(answer), now())
  if (response && isLargeBody(response_bytes)) {
    const most = mostOf(await jsonBytes({ response: response.response, input: response.input }, response_bytes))
    if (isLargeBody(most.length))
      ahead.response = await bodies.write(spender.project_id, spender.project_id, most, now())
  }
  if (turn) {
    const answered = answer?.body.length ?? 0
    const sizes = { input: response_bytes - answered, output: answered }
    for (const side of ['input', 'output'] as const) {
      if (turn[side] === undefined || !isLargeBody(sizes[side])) continue
      const said = await jsonBytes(turn[side], sizes[side])
      if (isLargeBody(said.length))
        ahead[side] = await bodies.write(spender.project_id, spender.project_id, said, now())
    }
  }
  return Object.keys(ahead).length > 0 ? ahead : undefined
}

const CLOSE_BRACE = 0x7d

/** What is the same whatever it cost: the native surface tells that at the end of its body. */
const unchangedOf = ({ body, is_native }: FinalAnswer) =>
  is_native ? body.subarray(0, body.lastIndexOf(CLOSE_BRACE)) : body

/** Where it was written anew to tell what it cost, what was written before is not how it begins. */
export function aheadOf(
  large: LargeBody | undefined,
  { body }: FinalAnswer,
  kept: KeptResponse,
): LargeBody | undefined {
  if (!large || kept.body === body) return large
  const begins = kept.body.subarray(0, large.parts_bytes)
  return begins.equals(body.subarray(0, large.parts_bytes)) ? large : undefined
}
