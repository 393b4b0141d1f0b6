// Bodies of generations: kept as the bytes that came, beside what they say.
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { BeyondBudget, BUDGETS, isLarge, jsonWithin } from '../core/foreign.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import { nestsTooDeep, tooDeepOrMany } from '../http/json-body.ts'

export const GENERATION_MAX_BYTES = BUDGETS.generation.bytes

/** The schema documents the body; what it must have is checked where it is read, so that the rest stays untouched. */
export function takeBodiesAsBytes(app: FastifyInstance): void {
  app.setValidatorCompiler(() => () => true)
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    const bytes = body as Buffer
    if (!isUtf8(bytes)) return done(new Refusal('invalid_request', 'The body is not valid UTF-8.'))
    let soon: unknown
    try {
      soon = jsonOf(bytes)
    } catch (cause) {
      return done(unreadable(cause))
    }
    if (soon instanceof Promise) soon.then(take, (cause) => done(unreadable(cause)))
    else take(soon)

    function take(json: unknown): void {
      done(null, { bytes, json } satisfies JsonBody)
    }
  })
}

/** Of a small one, its depth is seen sooner in what it was parsed to than in its bytes. */
function jsonOf(bytes: Buffer): unknown {
  if (isLarge(bytes)) return jsonWithin(BUDGETS.generation, bytes)
  const json = jsonIn(bytes)
  if (nestsTooDeep(json)) throw new BeyondBudget('too deep')
  return json
}

function unreadable(cause: unknown): Refusal {
  if (cause instanceof BeyondBudget) return tooDeepOrMany()
  return new Refusal('invalid_request', 'The body is not valid JSON.', { cause })
}
