// A JSON schema for the reference page: as a list of fields with what each may be, and as an example of a value.
export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  format?: string
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

const NESTED_MAX = 12 // deeper than any shape of ours: a schema that contains itself ends there

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] as string)

export const code = (text: string) => `<code>${escaped(text)}</code>`

/** What descriptions are written in: sentences, names between backticks, and an empty line between paragraphs. */
export const prose = (text: string) => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

/** Where a shape stands: what a caller sends says what it must have, what an answer holds says what may be missing. */
export type Side = 'request' | 'answer'

/** The fields of an object, each with those inside it; of anything else, what it may be. */
export function fields(schema: Schema, side: Side, depth = 0): string {
  const shapes = depth > NESTED_MAX ? [] : shapesOf(schema)
  if (shapes.length === 0) return depth === 0 ? `<p class="type">${typeOf(schema)}</p>` : ''
  return shapes.map((shape) => listOf(shape, side, depth)).join('<p class="type">or</p>')
}

function listOf({ properties = {}, required = [] }: Schema, side: Side, depth: number): string {
  const rows = Object.entries(properties).map(([name, field]) =>
    row(name, field, { required: required.includes(name), side, depth }),
  )
  return `<ul class="fields">${rows.join('')}</ul>`
}

interface Place {
  required: boolean
  side: Side
  depth: number
}

export function row(name: string, field: Schema, { required, side, depth }: Place): string {
  const inside = fields(field, side, depth + 1)
  const said = field.description ?? whole(field)?.description
  return [
    `<li><p>${code(name)} <span class="type">${typeOf(field)}</span>${mark(required, side)}`,
    said ? ` <span class="said">${prose(said)}</span>` : '',
    '</p>',
    inside && `<details><summary>Fields of ${code(name)}</summary>${inside}</details>`,
    '</li>',
  ].join('')
}

function mark(required: boolean, side: Side): string {
  if (side === 'request') return required ? ' <span class="required">required</span>' : ''
  return required ? '' : ' <span class="type">may be missing</span>'
}

/** What it may be, in words: `integer, 1 to 1000`, `array of string`, `one of day, week`, `string or null`. */
export function typeOf(schema: Schema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  const base = schema.enum ? listed(schema.enum) : named(schema)
  const limits = [bounds(schema), schema.default === undefined ? '' : `default ${code(JSON.stringify(schema.default))}`]
  return [base, ...limits.filter((limit) => limit !== '')].join(', ')
}

const listed = (values: readonly unknown[]) =>
  `${values.length > 1 ? 'one of ' : ''}${values.map((value) => code(String(value))).join(', ')}`

function named({ type, items, format, additionalProperties }: Schema): string {
  if (type === 'array') return items ? `array of ${typeOf(items)}` : 'array'
  if (type === 'object' && typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties)}`
  return escaped(format ?? [type ?? 'anything'].flat().join(' or '))
}

function bounds(schema: Schema): string {
  const { minimum, maximum, maxLength, maxItems } = schema
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  if (minimum !== undefined) return `${minimum} or more`
  if (maximum !== undefined) return `at most ${maximum}`
  if (maxLength !== undefined) return `at most ${maxLength} characters`
  return maxItems === undefined ? '' : `at most ${maxItems} of them`
}

/** Where a field may be null or a thing, the thing. */
const whole = ({ anyOf }: Schema) => anyOf?.find(({ type }) => type !== 'null')

/** The objects whose fields are shown: its own, its alternatives', those of an array's items or of a map's values. */
function shapesOf(schema: Schema): readonly Schema[] {
  const { items, additionalProperties, properties, anyOf } = schema
  if (properties && Object.keys(properties).length > 0) return [schema]
  const inner = [...(anyOf ?? []), ...(items ? [items] : [])]
  return [...inner, ...(typeof additionalProperties === 'object' ? [additionalProperties] : [])].flatMap(shapesOf)
}

/** What somebody would write, where the name of a field says more than its type. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Say hello.' }],
  input: 'Say hello.',
  prompt: 'Say hello.',
  name: 'agent-7',
  email: 'ada@example.com',
  provider: 'openai',
  region: 'eu-west-1',
  allowed_regions: ['eu-west-1'],
  gpu: { type: 'h100_sxm' },
  limit_usd: 25,
  ttl_seconds: 3600,
  prefix_tokens: 8192,
  sha256: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
}

/** A value that the schema takes: of an object, the fields that it must have, or its first one. */
export function example(schema: Schema, name = ''): unknown {
  if (SAMPLES[name] !== undefined) return SAMPLES[name]
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  const one = whole(schema)
  if (one) return example(one, name)
  if (schema.type === 'array') return schema.items ? [example(schema.items, name)] : []
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 1)
  if (schema.type !== 'object') return schema.format === 'date-time' ? '2027-01-01T00:00:00Z' : name || 'text'
  const names = schema.required?.length ? schema.required : Object.keys(schema.properties ?? {}).slice(0, 1)
  return Object.fromEntries(names.map((field) => [field, example(schema.properties?.[field] ?? {}, field)]))
}
