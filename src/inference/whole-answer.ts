// Whether a 200 is an answer, and what it took. Some gateways put an error into one, some proxies a page of their own,
// or the half of a body: then the upstream has failed us like any other (R47). An ordinary answer is searched and not
// parsed: a list of embeddings is megabytes of numbers.
import { fieldFromEnd, jsonOrNone, skipSpace } from '../core/json-bytes.ts'
import { UpstreamError } from '../providers/provider.ts'
import type { Asked } from './call.ts'
import { estimateUsage, generatedIn, readUsage, type TokenCounts } from './token-counts.ts'

const OPEN_BRACE = 0x7b

/** Where each kind of answer has what was asked for. */
const RESULT = { chat: 'choices', completions: 'choices', embeddings: 'data', responses: 'output' } as const

/** What the answer says or, where it does not, has probably taken. */
export function tokensOf({ kind, input_estimate }: Pick<Asked, 'kind' | 'input_estimate'>, body: Buffer): TokenCounts {
  const told = readUsage(fieldFromEnd(body, 'usage'))
  if (told && isOrdinary(body, RESULT[kind])) return told
  const answer = jsonOrNone(body)
  const result: unknown = answer?.[RESULT[kind]]
  if (!Array.isArray(result) || answer.error) throw noAnswer()
  const late = readUsage(answer.usage)
  if (!late && result.length === 0) throw noAnswer()
  return late ?? estimateUsage(input_estimate, generatedIn(answer))
}

/** Quotes within a string are escaped, so a quoted word that is not found is no key either. */
const isOrdinary = (body: Buffer, result: string) =>
  body[skipSpace(body, 0)] === OPEN_BRACE && body.includes(`"${result}"`) && !body.includes('"error"')

const noAnswer = () => new UpstreamError('reset', new Error('a 200 that is no answer'))
