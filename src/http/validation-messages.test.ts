// R2: a message names the field and what it must be. The findings are real ones, from the service's own validator.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { orNull } from '../core/shapes.ts'
import { buildFastify } from './fastify.ts'
import { describeInvalid } from './validation-messages.ts'

const Body = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 4 }),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
  flag: Type.Optional(Type.Boolean()),
  kind: Type.Optional(Type.Enum(['a', 'b'])),
  limit: Type.Optional(orNull(Type.Number({ minimum: 0 }))),
  parts: Type.Optional(Type.Array(Type.Object({ cost: Type.Number() }), { minItems: 1, maxItems: 2 })),
  names: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
  inner: Type.Optional(Type.Object({ deep: Type.Object({ er: Type.String() }) })),
  code: Type.Optional(Type.String({ pattern: '^x' })),
  email: Type.Optional(Type.String({ minLength: 3 })),
  secret: Type.Optional(Type.String({ pattern: '^[!-~]+$' })),
  times: Type.Optional(orNull(Type.Object({ a: Type.Optional(Type.Number()) }, { additionalProperties: false }))),
  window: Type.Optional(orNull(Type.Object({ period: Type.Enum(['day', 'week']), cap: orNull(Type.Number()) }))),
})

async function messageFor(body: unknown): Promise<string> {
  const app = buildFastify(undefined as never)
  app.post('/', { config: { public: true }, schema: { body: Body } }, async () => ({}))
  const answer = await app.inject({ method: 'POST', url: '/', payload: body as object })
  expect(answer.statusCode).toBe(400)
  return answer.json().error.message
}

test.each([
  [{}, "'name' is required."],
  [{ name: 5 }, "'name' must be a string."],
  [{ name: '' }, "'name' must not be empty."],
  [{ name: 'abcde' }, "'name' must have at most 4 characters."],
  [{ name: 'a', count: '1' }, "'count' must be an integer."],
  [{ name: 'a', count: 0 }, "'count' must be at least 1."],
  [{ name: 'a', count: 10 }, "'count' must be at most 9."],
  [{ name: 'a', flag: 'yes' }, "'flag' must be a boolean."],
  [{ name: 'a', kind: 'c' }, "'kind' must be one of 'a', 'b'."],
  [{ name: 'a', limit: '5' }, "'limit' must be a number or null."],
  [{ name: 'a', limit: -1 }, "'limit' must be at least 0 or null."],
  [{ name: 'a', email: 'ab' }, "'email' must have at least 3 characters."],
  [{ name: 'a', secret: 'a b' }, "'secret' must be made of visible ASCII characters, without blanks."],
  [{ name: 'a', times: { b: 1 } }, "'times.b' is not a field that is known here."],
  [{ name: 'a', parts: {} }, "'parts' must be an array."],
  [{ name: 'a', parts: [] }, "'parts' must have at least 1 entry."],
  [{ name: 'a', parts: [{ cost: 1 }, { cost: 2 }, { cost: 3 }] }, "'parts' must have at most 2 entries."],
  [{ name: 'a', names: ['x', 'y', 'x'] }, "'names' must not name anything twice."],
  [{ name: 'a', parts: [{ cost: 1 }, {}] }, "'parts[1].cost' is required."],
  [{ name: 'a', parts: [{ cost: null }] }, "'parts[0].cost' must be a number."],
  [{ name: 'a', inner: { deep: { er: 1 } } }, "'inner.deep.er' must be a string."],
  [{ name: 'a', code: 'y' }, '\'code\' must match pattern "^x".'],
  [{ name: 'a', window: 'day' }, "'window' must be an object or null."],
  [{ name: 'a', window: { period: 'day' } }, "'window.cap' is required."],
  [{ name: 'a', window: { period: null, cap: 1 } }, "'window.period' must be one of 'day', 'week'."],
  [{ name: 'a', window: { period: 'day', cap: '1' } }, "'window.cap' must be a number or null."],
  [[], 'The body must be a JSON object.'],
])('R2 %j: %s', async (body, message) => {
  expect(await messageFor(body)).toBe(message)
})

test('R2 what stands in a query twice is to be given once', async () => {
  const app = buildFastify(undefined as never)
  const querystring = Type.Object({ limit: Type.Optional(Type.String()) })
  app.get('/', { config: { public: true }, schema: { querystring } }, async () => ({}))
  const answer = await app.inject('/?limit=1&limit=2')
  expect([answer.statusCode, answer.json().error.message]).toEqual([400, "'limit' must be given once."])
})

test('R2 where nothing was found, something is said all the same', () => {
  expect(describeInvalid([])).toBe('The request is not valid.')
})

test('R2 whatever pattern a shape asks for is told in words', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  )
  const patterns = files.flatMap((path) =>
    [...readFileSync(join('src', path), 'utf8').matchAll(/pattern: '(.+?)'[ ,]/g)].map(([, text = '']) =>
      text.replaceAll('\\\\', '\\'),
    ),
  )
  expect(patterns).toContain('^\\d{4}-\\d\\d-\\d\\d$')
  const told = patterns.map((pattern) =>
    describeInvalid([{ keyword: 'pattern', instancePath: '/a', params: { pattern }, message: 'is a riddle' }]),
  )
  expect(told.filter((text) => text.includes('riddle'))).toEqual([])
})
