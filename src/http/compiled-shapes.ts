// What Fastify compiles of the routes' shapes: validators by Ajv, serializers by fast-json-stringify, as it would by
// itself, but each when it is first used, and once in a process, however many routes and services have that shape
// (decision 0200). Compiling all of them is a third of a start.
import ajvCompiler from '@fastify/ajv-compiler'
import jsonCompiler from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type Factory = (shared: object, options: object) => Compile
type Compile = (route: { schema: unknown }) => Compiled
interface Compiled {
  (value: unknown): unknown
  errors?: unknown
}

export const compilersFactory = {
  buildValidator: once(ajvCompiler() as Factory),
  buildSerializer: once(jsonCompiler() as Factory),
} as Factories

/** What is compiled depends on the shared shapes, the options and the shape, each as its text. */
function once(factory: Factory): Factory {
  return remembered(
    (shared: object, options: object) =>
      onFirstUse(remembered(factory(shared, options), ({ schema }) => JSON.stringify(schema))),
    (shared, options) => JSON.stringify([shared, options]),
  )
}

function onFirstUse(compile: Compile): Compile {
  return (route) => {
    let made: Compiled | undefined
    const use: Compiled = (value) => {
      made ??= compile(route)
      const result = made(value)
      use.errors = made.errors // where Ajv leaves what it found, and Fastify looks for it
      return result
    }
    return use
  }
}

function remembered<Args extends unknown[], T>(make: (...args: Args) => T, nameOf: (...args: Args) => string) {
  const made = new Map<string, T>()
  return (...args: Args): T => {
    const name = nameOf(...args)
    const known = made.get(name) ?? make(...args)
    made.set(name, known)
    return known
  }
}
