// Bodies are JSON in UTF-8 (§4). Nothing is guessed: what would change on its way through is refused instead.
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { BUDGETS, toldBounds } from '../core/foreign.ts'
import { textOf } from '../core/json-bytes.ts'
import { isBeyond } from '../core/json-survey.ts'
import { Refusal } from '../core/refusal.ts'

const { levels: DEPTH_MAX } = BUDGETS.body

export function parseJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  // `__proto__` would be taken for a prototype by whatever copies it. `constructor` is a field like any other: only a
  // merge of whole trees could reach a prototype through it, and a body is never merged into anything.
  const parse = app.getDefaultJsonParser('error', 'ignore')
  const parseAnything = app.getDefaultJsonParser('ignore', 'ignore')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    // DELETE with a JSON content type and no body is what many clients send.
    if (bytes.length === 0) return done(null, undefined)
    if (!isUtf8(bytes)) return done(new Refusal('invalid_request', 'The body is not valid UTF-8.'))
    if (isTooDeep(bytes)) return done(new Refusal('invalid_request', `The body nests deeper than ${DEPTH_MAX} levels.`))
    const text = textOf(bytes)
    parse(request, text, (error, value) => {
      if (!error) return done(null, value)
      parseAnything(request, text, (unreadable) => done(unreadable ? notJson(unreadable) : namedProto()))
    })
  })
}

const notJson = (cause: Error) => new Refusal('invalid_request', 'The body is not valid JSON.', { cause })
const namedProto = () => new Refusal('invalid_request', "No field of the body may be called '__proto__'.")

/** Of a body that is large enough to have too many parts as well. */
export const tooDeepOrMany = () => new Refusal('invalid_request', `The body has ${toldBounds(BUDGETS.generation)}.`)

/** Parsing deep nesting is cheap, but everything that walks the result afterwards recurses. */
export const isTooDeep = (json: Buffer) => isBeyond(BUDGETS.body, json)

/** The same of a body that was parsed already, which for one of a few long texts costs far less than its bytes. */
export const nestsTooDeep = (value: unknown) => nestsDeeper(value, DEPTH_MAX)

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => nestsDeeper(item, levels - 1))
  for (const name in value) if (nestsDeeper((value as Record<string, unknown>)[name], levels - 1)) return true
  return false
}
