// The smallest value that a JSON Schema admits: what a stand-in passes to a tool that it was told to call.
type Schema = Readonly<Record<string, unknown>>

const DEPTH_MAX = 16 // a schema may contain itself,
const VALUES_MAX = 1_000 // and it may do so many times over
const LENGTH_MAX = 100

export function minimalInstance(root: unknown): unknown {
  let values = 0

  function instance(schema: unknown, depth: number): unknown {
    if (++values > VALUES_MAX || depth > DEPTH_MAX || typeof schema !== 'object' || schema === null) return {}
    const given = schema as Schema
    const inner = (one: unknown) => instance(one, depth + 1)
    if (typeof given.$ref === 'string') return inner(resolve(given.$ref, root))
    if ('const' in given) return given.const
    if (Array.isArray(given.enum)) return given.enum[0]
    const merged = mergeAll(given, root)
    const alternatives = merged.anyOf ?? merged.oneOf
    return Array.isArray(alternatives) ? inner(alternatives[0]) : ofType(merged, inner)
  }

  return instance(root, 0)
}

/** `allOf` says several things about one value; a minimal value must satisfy them together. */
function mergeAll(schema: Schema, root: unknown): Schema {
  if (!Array.isArray(schema.allOf)) return schema
  const parts = schema.allOf.map((part) => (typeof part?.$ref === 'string' ? resolve(part.$ref, root) : part))
  const all = [schema, ...parts.filter((part) => typeof part === 'object' && part !== null)] as Schema[]
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
  }
}

function ofType(schema: Schema, inner: (schema: unknown) => unknown): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'string':
      return text(schema)
    case 'number':
    case 'integer':
      return number(schema, type)
    case 'boolean':
      return false
    case 'null':
      return null
    case 'array':
      return Array.from({ length: count(schema.minItems) }, () => inner(schema.items))
    default:
      return object(schema, inner)
  }
}

const count = (value: unknown) => (typeof value === 'number' && value > 0 ? Math.min(Math.ceil(value), LENGTH_MAX) : 0)

const FORMATS: Record<string, string> = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  email: 'nobody@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-0000-0000-000000000000',
  ipv4: '127.0.0.1',
}

function text({ format, minLength }: Schema): string {
  return FORMATS[String(format)] ?? 'x'.repeat(count(minLength))
}

function number({ minimum, exclusiveMinimum, maximum, multipleOf }: Schema, type: string): number {
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : type === 'integer' ? 1 : 0.5
  const above = typeof exclusiveMinimum === 'number' ? (Math.floor(exclusiveMinimum / step) + 1) * step : undefined
  const lowest = above ?? (typeof minimum === 'number' ? Math.ceil(minimum / step) * step : Number.NEGATIVE_INFINITY)
  const highest = typeof maximum === 'number' ? Math.floor(maximum / step) * step : Number.POSITIVE_INFINITY
  return lowest > 0 ? lowest : Math.min(highest, 0)
}

function object({ properties, required }: Schema, inner: (schema: unknown) => unknown): Record<string, unknown> {
  const known = (properties ?? {}) as Schema
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  return Object.fromEntries(names.map((name) => [name, inner(known[name] ?? {})]))
}

function resolve(ref: string, root: unknown): unknown {
  const keys = ref.replace(/^#\/?/, '').split('/').filter(Boolean)
  return keys.reduce<unknown>((at, key) => (at as Schema | undefined)?.[unescaped(key)], root)
}

const unescaped = (key: string) => key.replace(/~1/g, '/').replace(/~0/g, '~')
