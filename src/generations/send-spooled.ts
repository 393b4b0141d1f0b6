// An answer that came whole and lies in a spool: kept where it is to be, settled, and then sent (R41, R42). What is
// larger than is held in memory goes into the store part by part before it is settled.
import type { Spool } from '../core/spool.ts'
import { type Bill, type FinalAnswer, toldWith } from './bill.ts'
import type { Answered } from './first-answer.ts'
import type { Generation } from './generation.ts'
import { headersOf, outcomeOf } from './outcome.ts'
import { billFor, settleNow } from './send-whole.ts'

type Spooled = Extract<Answered, { kind: 'spooled' }>

export async function sendSpooled(generation: Generation, { content_type, spool, tokens }: Spooled): Promise<void> {
  const outcome = outcomeOf(generation)
  outcome.tokens = tokens
  const headers = Object.assign(headersOf(outcome), generation.told)
  headers['content-type'] = content_type || 'application/json'
  const { body, ahead } = await keptOf(generation, spool)
  const answer: FinalAnswer = { headers, body, is_native: false, said: {} }
  const settled = await settleNow(generation, { ...billFor(generation, outcome, answer), ahead })
  const { status, headers: told } = settled.kept ?? toldWith(answer, outcome, settled)
  generation.slot?.release() // the upstream is done with, however slowly its answer is read
  const whole = spool.inMemory()
  if (whole) generation.client.send(status, told, whole)
  else await generation.client.sendParts(status, told, spool)
}

const NOTHING = Buffer.alloc(0)

/** What is kept in the answer's own row, and what was written beside it: found there by nobody until it is settled. */
export async function keptOf({ path, call, reservation }: Generation, spool: Spool): Promise<KeptSpool> {
  const body = spool.inMemory()
  if (body || !reservation) return { body: body ?? NOTHING, ahead: undefined }
  const answer = await path.bodies.write(call.caller.project_id, reservation.key, spool, path.clock.now())
  return { body: NOTHING, ahead: { answer } }
}

interface KeptSpool {
  body: Buffer
  ahead: Bill['ahead']
}
