// A start compiles no shape; whoever first uses one does, and that all of them can be is seen to here.
import ajvCompiler from '@fastify/ajv-compiler'
import jsonCompiler from '@fastify/fast-json-stringify-compiler'
import Fastify, { type FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { expect, onTestFinished, test } from 'vitest'
import { heldTimers } from '../../test/support/held-timers.ts'
import { buildTestService } from '../../test/support/service.ts'
import { lazyShapes } from './compiled-shapes.ts'
import { sampleOf } from './sample-value.ts'

const customOptions = { coerceTypes: false, removeAdditional: false } as const

/** A shape that tells how often it was read through, as a compiler does. */
function countedShape() {
  const count = { read: 0 }
  const shape = Type.Object({ name: Type.String() })
  Object.defineProperty(shape, 'toJSON', {
    value() {
      count.read++
      return { ...shape }
    },
  })
  return { count, shape }
}

function serviceWith(shape: object, { compilersFactory } = lazyShapes()): FastifyInstance {
  const app = Fastify({ schemaController: { compilersFactory }, ajv: { customOptions } })
  onTestFinished(() => app.close())
  app.post('/', { schema: { body: shape, response: { 200: shape } } }, async ({ body }) => body)
  return app
}

test('0200 a shape is compiled when it is first used, not at the start', async () => {
  const { count, shape } = countedShape()
  const app = serviceWith(shape)
  await app.ready()
  expect(count.read).toBe(0)
  const send = (payload: object) => app.inject({ method: 'POST', url: '/', payload })
  expect((await send({ name: 'atlas', more: 1 })).json()).toEqual({ name: 'atlas' })
  expect(count.read).toBe(2) // once for what comes in, once for what goes out
  expect((await send({ name: 1 })).json()).toMatchObject({ statusCode: 400, message: 'body/name must be string' })
  expect((await send({ name: 'atlas' })).statusCode).toBe(200)
  expect(count.read).toBe(2)
})

test('0200 what nobody has used is compiled a while after the start, by itself', async () => {
  const [{ count, shape }, shapes, timers] = [countedShape(), lazyShapes(), heldTimers()]
  const app = serviceWith(shape, shapes)
  await app.ready()
  const stop = shapes.compileInTime()
  timers.pass(29_999)
  expect(count.read).toBe(0)
  timers.pass(1)
  expect(count.read).toBe(1)
  timers.pass(50)
  expect(count.read).toBe(2)
  timers.pass(10_000)
  stop()
  expect((await app.inject({ method: 'POST', url: '/', payload: { name: 'atlas' } })).json()).toEqual({ name: 'atlas' })
  expect(count.read).toBe(2)
})

test('0200 R77 where a whole answer is a union, its members are compiled in time as well', async () => {
  const member = (name: string) => Type.Object({ [name]: Type.String(), of: Type.Literal(name) })
  const shape = Type.Union([member('first'), member('second'), member('third')])
  const answer = { second: 'x', of: 'second' }
  const timers = heldTimers()
  const compiledBy = async (in_time: boolean) => {
    const shapes = lazyShapes()
    const app = Fastify({ schemaController: { compilersFactory: shapes.compilersFactory } })
    onTestFinished(() => app.close())
    // A description of its own: what was compiled for the same shape is shared.
    app.get('/', { schema: { response: { 200: { ...shape, description: String(in_time) } } } }, async () => answer)
    app.get('/warm', async () => '') // the router compiles something, too
    await app.ready()
    const stop = shapes.compileInTime()
    if (in_time) timers.pass(40_000)
    stop()
    await app.inject({ url: '/warm' })
    const made = countedFunctions()
    expect((await app.inject({ url: '/' })).json()).toEqual(answer)
    return made()
  }
  expect(await compiledBy(false)).toBeGreaterThan(1)
  expect(await compiledBy(true)).toBe(0)
})

/** How many functions were made of text since: that is how Ajv and fast-json-stringify compile. */
function countedFunctions(): () => number {
  const real = globalThis.Function
  let count = 0
  globalThis.Function = new Proxy(real, {
    construct(target, args, as) {
      count++
      return Reflect.construct(target, args, as)
    },
  })
  onTestFinished(() => {
    globalThis.Function = real
  })
  return () => {
    globalThis.Function = real
    return count
  }
}

test('0200 services with the same shape share what was compiled, and not what it found', async () => {
  const compile = lazyShapes().compilersFactory.buildValidator?.({}, { customOptions }) as (route: object) => {
    (value: unknown): boolean
    errors?: unknown
  }
  const [one, other] = [compile({ schema: { type: 'string' } }), compile({ schema: { type: 'string' } })]
  expect(one(1)).toBe(false)
  expect(other('text')).toBe(true)
  expect([one.errors, other.errors]).toEqual([[expect.objectContaining({ message: 'must be string' })], null])
})

test('0200 every shape of every route can be compiled, and every answer tried out', async () => {
  const service = await buildTestService()
  onTestFinished(service.stop)
  const validator = ajvCompiler()({}, { customOptions })
  const serializer = jsonCompiler()({}, {})
  let compiled = 0
  const seen = new Set<string>()
  /** What a refusal looks like stands at every route, and HEAD has what GET has. */
  const isNew = (use: string, shape: object) => seen.size < seen.add(`${use} ${JSON.stringify(shape)}`).size
  for (const { method, url, schema = {} } of service.routes) {
    const about = { method: String(method), url }
    for (const part of ['body', 'querystring', 'params'] as const) {
      if (schema[part] === undefined) continue
      compiled++
      if (isNew('in', schema[part] as object))
        expect(
          () => validator({ ...about, schema: schema[part] } as never),
          `${part} of ${method} ${url}`,
        ).not.toThrow()
    }
    for (const [httpStatus, answer] of Object.entries((schema.response ?? {}) as Record<string, Answer>))
      for (const shape of answer.content ? Object.values(answer.content).map((one) => one.schema) : [answer]) {
        compiled++
        if (!isNew('out', shape)) continue
        const serialize = () => serializer({ ...about, httpStatus, schema: shape })(sampleOf(shape))
        expect(serialize, `${httpStatus} of ${method} ${url}`).not.toThrow()
      }
  }
  expect(compiled).toBeGreaterThan(100)
  expect(seen.size).toBeGreaterThan(100)
})

interface Answer {
  content?: Record<string, { schema: object }>
}
