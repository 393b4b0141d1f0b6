// What Fastify compiles of the routes' shapes: validators by Ajv, serializers by fast-json-stringify, as it would by
// itself, but each when it is first used, and once in a process, however many routes and services have that shape
// (decision 0200). Compiling all of them is a third of a start. What nobody has used is compiled a while after it.
import ajvCompiler from '@fastify/ajv-compiler'
import jsonCompiler from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'
import { SECOND_MS } from '../core/clock.ts'
import { sampleOf } from './sample-value.ts'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type Factory = (shared: object, options: object) => Compile
type Compile = (route: { schema: unknown }) => Compiled
interface Compiled {
  (value: unknown): unknown
  errors?: unknown
}

const compilers = { validator: once(ajvCompiler() as Factory), serializer: once(jsonCompiler() as Factory) }

const UP_FOR_MS = 30 * SECOND_MS // until then requests want the processor, and whatever only looks in has gone
const EVERY_MS = 50

/** The shapes of one service. */
export function lazyShapes() {
  const unused = new Set<() => unknown>()
  const compilersFactory = {
    buildValidator: (...given: Parameters<Factory>) => onFirstUse(compilers.validator(...given), unused),
    buildSerializer: (...given: Parameters<Factory>) => onFirstUse(compilers.serializer(...given), unused, tryOut),
  } as Factories

  /** Those that nobody has used yet, one at a time: the first request that needs one keeps nobody waiting. */
  function compileInTime(): () => void {
    let timer = setTimeout(next, UP_FOR_MS).unref()
    function next(): void {
      const [prepare] = unused
      if (!prepare) return
      try {
        prepare()
      } catch {} // its first request says why
      timer = setTimeout(next, EVERY_MS).unref()
    }
    return () => clearTimeout(timer)
  }

  return { compilersFactory, compileInTime }
}

/** What is compiled depends on the shared shapes, the options and the shape, each as its text. */
function once(factory: Factory): Factory {
  return remembered(
    (shared: object, options: object) => remembered(factory(shared, options), ({ schema }) => JSON.stringify(schema)),
    (shared, options) => JSON.stringify([shared, options]),
  )
}

/**
 * A serializer compiles the members of a union when it meets a value that might be one. Where a whole answer is one,
 * that is a long turn. Those within answers are small, and many: all of them would take 40 MB.
 */
function tryOut(serialize: Compiled, schema: unknown): void {
  if ((schema as { anyOf?: unknown }).anyOf) serialize(sampleOf(schema))
}

type TryOut = typeof tryOut

function onFirstUse(compile: Compile, unused: Set<() => unknown>, tryOut?: TryOut): Compile {
  return (route) => {
    let made: Compiled | undefined
    const make = () => {
      unused.delete(prepare)
      made = compile(route)
      return made
    }
    const prepare = () => {
      const compiled = make()
      tryOut?.(compiled, route.schema)
    }
    unused.add(prepare)
    const use: Compiled = (value) => {
      const compiled = made ?? make()
      const result = compiled(value)
      use.errors = compiled.errors // where Ajv leaves what it found, and Fastify looks for it
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
