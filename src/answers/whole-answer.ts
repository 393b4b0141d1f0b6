// Whether a 200 is an answer, and what it took. Some gateways put an error into one, some proxies a page of their own,
// or the half of a body: then the upstream has failed us like any other (R47). An ordinary answer is searched and not
// parsed: a list of embeddings is megabytes of numbers.
import { AT_ONCE_BYTES, BeyondBudget, BUDGETS, isLarge, jsonWithin, toldBounds } from '../core/foreign.ts'
import { fieldFromEnd, jsonOrNone, skipSpace } from '../core/json-bytes.ts'
import { isBeyond } from '../core/json-survey.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { inTurns } from '../core/turns.ts'
import { type TextKind, UpstreamError } from '../providers/provider.ts'
import { readLargeAnswer } from './large-answer.ts'
import { estimateUsage, generatedIn, readUsageOf, type TokenCounts } from './token-counts.ts'

const OPEN_BRACE = 0x7b

/** Where each kind of answer has what was asked for. */
const RESULT = {
  chat: 'choices',
  completions: 'choices',
  embeddings: 'data',
  responses: 'output',
  messages: 'content',
} as const

interface Asking {
  kind: TextKind
  input_estimate: number
}

/** What the answer says or, where it does not, has probably taken. A promise where it is large, and searched. */
export function tokensOf(asked: Asking, body: Buffer): MaybePromise<TokenCounts> {
  if (asked.kind === 'responses') return isLarge(body) ? tokensOfResponse(asked, body) : tokensOfSmall(asked, body)
  const told = readUsageOf(asked.kind, fieldFromEnd(body, 'usage', AT_ONCE_BYTES))
  if (told && isOrdinary(body, RESULT[asked.kind])) return told
  return isLarge(body) ? tokensOfLarge(asked, body) : tokensOfSmall(asked, body)
}

function tokensOfSmall({ kind, input_estimate }: Asking, body: Buffer): TokenCounts {
  if (isBeyond(BUDGETS.answer, body)) throw new UpstreamError('too_many_parts', new Error(toldBounds(BUDGETS.answer)))
  const answer = jsonOrNone(body)
  const result: unknown = answer?.[RESULT[kind]]
  if (!Array.isArray(result) || answer.error) throw noAnswer()
  const late = readUsageOf(kind, answer.usage)
  if (!late && result.length === 0) throw noAnswer()
  return late ?? estimateUsage(input_estimate, generatedIn(answer))
}

/** A response is stored, and told with what it cost: it has to be JSON throughout. */
async function tokensOfResponse(asked: Asking, body: Buffer): Promise<TokenCounts> {
  const tokens = await tokensOfLarge(asked, body)
  try {
    await jsonWithin(BUDGETS.answer, body)
    return tokens
  } catch (error) {
    throw error instanceof BeyondBudget ? new UpstreamError('too_many_parts', error) : noAnswer()
  }
}

async function tokensOfLarge({ kind, input_estimate }: Asking, body: Buffer): Promise<TokenCounts> {
  const answer = await inTurns(readLargeAnswer(body, RESULT[kind]))
  if (!answer || answer.result === 'none' || answer.has_error) throw noAnswer()
  const late = readUsageOf(kind, answer.usage)
  if (!late && answer.result === 'empty') throw noAnswer()
  return late ?? estimateUsage(input_estimate, answer.quarter_tokens)
}

/** Quotes within a string are escaped, so a quoted word that is not found is no key either. */
const isOrdinary = (body: Buffer, result: string) =>
  body[skipSpace(body, 0)] === OPEN_BRACE && body.includes(`"${result}"`) && !body.includes('"error"')

const noAnswer = () => new UpstreamError('reset', new Error('a 200 that is no answer'))
