// A value that a shape's serializer goes all the way through: what it compiles only when it meets a value is compiled
// by then. Of a union it fits the last member, so that it is held against each of them.
interface Shape {
  type?: string | readonly string[]
  format?: string
  properties?: Readonly<Record<string, Shape>>
  items?: Shape | readonly Shape[]
  anyOf?: readonly Shape[]
  oneOf?: readonly Shape[]
  allOf?: readonly Shape[]
  enum?: readonly unknown[]
  const?: unknown
}

const PRIMITIVES: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false, null: null }

/** Where it is a member, its value is none of another's. */
const isNull = ({ type }: Shape) => type === 'null'

export function sampleOf(shape: unknown): unknown {
  if (typeof shape !== 'object' || shape === null) return {}
  const { type, format, properties = {}, items, anyOf, oneOf, allOf, const: only, enum: some } = shape as Shape
  const members = anyOf ?? oneOf
  if (only !== undefined) return only
  if (some) return some[0]
  if (members) return sampleOf(members.find(isNull) ?? members.at(-1))
  if (allOf) return Object.assign({}, ...allOf.map(sampleOf))
  const kind = typeof type === 'string' ? type : (type?.[0] ?? 'object')
  if (format === 'date-time') return new Date(0).toISOString()
  if (kind in PRIMITIVES) return PRIMITIVES[kind]
  if (kind === 'array') return [sampleOf(Array.isArray(items) ? items[0] : items)]
  return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, sampleOf(of)]))
}
