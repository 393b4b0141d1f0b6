// Part of `npm run openapi`: writes what the Terraform provider is made of, terraform/provider/resources.json, from the
// OpenAPI document and the table in terraform-resources.ts. A test compares the two.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { RESOURCES, type ResourceTable } from './terraform-resources.ts'

export const RESOURCES_FILE = fileURLToPath(new URL('../terraform/provider/resources.json', import.meta.url))
const OPENAPI_FILE = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))

interface Schema {
  type?: string
  format?: string
  description?: string
  enum?: string[]
  pattern?: string
  minimum?: number
  maximum?: number
  maxItems?: number
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
}
interface Call {
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}
type Paths = Record<string, Record<string, Call>>

interface Attribute {
  type: 'string' | 'int' | 'number' | 'bool' | 'set' | 'list' | 'map' | 'object'
  description?: string
  /** What the API calls it, where that is not its name here. */
  field?: string
  fields?: Record<string, Attribute>
  [more: string]: unknown
}

export function resourcesText(): string {
  const { paths, info } = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8')) as { paths: Paths; info: { version: string } }
  const resources = Object.fromEntries(Object.entries(RESOURCES).map(([name, table]) => [name, resource(table, paths)]))
  return `${JSON.stringify({ version: info.version, resources }, null, 1)}\n`
}

function resource(table: ResourceTable, paths: Paths) {
  const { about, create, reads, updates = [], left, reset, gone, used } = table
  const call = (text: string) => callOf(text, paths, table)
  const made = create === undefined ? undefined : call(create)
  const changes = updates.map(({ call: text, ...more }) => ({ ...call(text), ...more }))
  const told = Object.assign({}, ...reads.map(({ path, list, take }) => answer(path, paths, { list, take }))) as Told
  const sent = [...(made ? [made] : []), ...changes]
  const attributes: Record<string, Attribute> = {}
  for (const { body } of sent)
    for (const [name, { schema }] of Object.entries(body))
      attributes[name] ??= settable(name, schema, { table, told, made, changes })
  for (const [name, description] of Object.entries(table.parents ?? {}))
    attributes[name] = { type: 'string', description, required: true, replace: true, parent: true }
  Object.assign(attributes, readOnly(table, told, made?.told ?? {}))
  const plain = ({ body, told: _told, ...rest }: ReturnType<typeof call>) => ({ ...rest, body: Object.keys(body) })
  return {
    about,
    ...(made && { create: plain(made) }),
    reads,
    ...(changes.length > 0 && { updates: changes.map(plain) }),
    ...(table.delete && { delete: split(table.delete) }),
    ...{ import: table.import, left, reset, gone, used },
    attributes: Object.fromEntries(Object.entries(attributes).sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

type Told = Record<string, { schema: Schema; always: boolean }>

const split = (text: string) => {
  const [method = '', path = ''] = text.split(' ')
  return { method, path }
}

/** A call with its fields by the names that they have here. Paths here have `{id}` for whatever the document calls it. */
function callOf(text: string, paths: Paths, { renamed = {}, without = [] }: ResourceTable) {
  const { method, path } = split(text)
  const found = operation(method, path, paths)
  const { properties = {}, required = [] } = found.requestBody?.content['application/json']?.schema ?? {}
  const body = Object.fromEntries(
    Object.entries(properties)
      .filter(([field]) => !without.includes(field) && field !== 'version')
      .map(([field, schema]) => {
        const name = Object.keys(renamed).find((one) => renamed[one] === field) ?? field
        return [name, { schema, required: required.includes(field) }]
      }),
  )
  return { method, path, body, told: fieldsOf(success(found)) }
}

function operation(method: string, path: string, paths: Paths): Call {
  const shape = (one: string) => one.replace(/\{[^}]+\}/g, '{}')
  const known = Object.keys(paths).find((one) => shape(one) === shape(path) && paths[one]?.[method.toLowerCase()])
  const found = known && paths[known]?.[method.toLowerCase()]
  if (!found) throw new Error(`docs/openapi.json has no ${method} ${path}`)
  return found
}

const success = ({ responses }: Call): Schema =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.['application/json']?.schema ?? {}

function answer(
  path: string,
  paths: Paths,
  { list, take }: { list?: boolean | undefined; take?: readonly string[] | undefined },
) {
  const whole = success(operation('GET', path, paths))
  const told = fieldsOf(list ? (whole.properties?.data?.items ?? {}) : whole)
  return Object.fromEntries(Object.entries(told).filter(([name]) => !take || take.includes(name)))
}

const fieldsOf = ({ properties = {}, required = [] }: Schema): Told =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { schema, always: required.includes(name) }]),
  )

interface Around {
  table: ResourceTable
  told: Told
  made: ReturnType<typeof callOf> | undefined
  changes: ReturnType<typeof callOf>[]
}

/** A field that some call takes. Where none but the one that makes it does, a change of it makes another. */
function settable(name: string, schema: Schema, { table, told, made, changes }: Around): Attribute {
  const { renamed = {}, from = {}, when = {}, fixed = [], defaults = {}, sensitive = [] } = table
  const field = renamed[name] ?? name
  const place = from[name] ?? from['*']?.replace('*', field) ?? field
  const answered = told[place]
  const required = made ? made.body[name]?.required === true : false
  const changeable = changes.some(({ body }) => name in body)
  const nullable = answered ? isNullable(answered.schema) : true
  const is_secret = hasSecret(name, table)
  return {
    ...shapeOf(schema, name, table),
    ...(field !== name && { field }),
    ...(required ? { required } : {}),
    ...(!required && answered?.always && !nullable && !when[name] && { computed: true }),
    ...(name in defaults && { default: defaults[name], computed: true }),
    ...(made && !changeable && (fixed.includes(name) ? { fixed: true } : { replace: true })),
    ...(is_secret || place === '-' ? { from: '-' } : place !== field && { from: place }),
    ...(when[name] && { when: when[name] }),
    ...(sensitive.includes(name) && { sensitive: true }),
    ...(answered?.schema.format === 'date-time' && { time: true }),
  }
}

const isNullable = ({ anyOf = [] }: Schema) => anyOf.some(({ type }) => type === 'null')
const hasSecret = (name: string, { secrets = [] }: ResourceTable) => secrets.includes(name)

function shapeOf(schema: Schema, at: string, table: ResourceTable): Attribute {
  const one = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  const { description, enum: choices, pattern, minimum: min, maximum: max } = one
  const bounds = { description, enum: choices, pattern, min, max, ...(table.secrets?.includes(at) && { secret: true }) }
  const kept = Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined))
  if (one.type === 'integer') return { type: 'int', ...kept }
  if (one.type === 'number') return { type: 'number', ...kept }
  if (one.type === 'boolean') return { type: 'bool', ...kept }
  if (one.type === 'array')
    return { type: isList(one, at, table) ? 'list' : 'set', ...kept, ...inside(one.items ?? {}, at, table) }
  if (one.type === 'object' && one.properties) return { type: 'object', ...kept, ...inside(one, at, table) }
  if (one.type === 'object') return { type: 'map', ...kept }
  return { type: 'string', ...kept }
}

const isList = ({ items }: Schema, at: string, { ordered = [] }: ResourceTable) =>
  ordered.includes(at) || items?.type === 'object'

/** The fields of an object, or of each entry of a list of them. */
function inside({ properties, required = [], enum: choices, pattern }: Schema, at: string, table: ResourceTable) {
  if (!properties) return { ...(choices && { enum: choices }), ...(pattern && { pattern }) }
  const fields = Object.entries(properties).map(([name, schema]): [string, Attribute] => {
    const path = `${at}.${name}`
    const [from, fallback] = [table.from?.[path], table.defaults?.[path]]
    const extra = { ...(from && { from }), ...(fallback !== undefined && { default: fallback, computed: true }) }
    return [name, { ...shapeOf(schema, path, table), ...(required.includes(name) && { required: true }), ...extra }]
  })
  return { fields: Object.fromEntries(fields) }
}

/** What the server says of it. */
function readOnly(table: ResourceTable, told: Told, made: Told): Record<string, Attribute> {
  const { shown = [], moving = [], once = {}, flags = {}, sensitive = [], create, secrets = [] } = table
  const all: Record<string, Attribute> = {}
  for (const name of shown)
    all[name] = {
      ...shapeOf(told[name]?.schema ?? {}, name, table),
      ...{ read_only: true, ...(moving.includes(name) && { moving: true }) },
    }
  for (const [name, from] of Object.entries(once)) {
    const schema = from.split('.').reduce<Schema>((at, part) => at.properties?.[part] ?? {}, asSchema(made))
    const is_sensitive = sensitive.includes(name) && { sensitive: true }
    all[name] = { ...shapeOf(schema, name, table), from, read_only: true, once: true, ...is_sensitive }
  }
  for (const [name, { about: description, ...flag }] of Object.entries(flags))
    all[name] = { type: 'bool', description, computed: true, flag }
  if (secrets.length > 0) all.secrets_version = { type: 'int', description: SECRETS_VERSION, from: '-', rest: true }
  if (create)
    all.idempotency_key = { type: 'string', description: IDEMPOTENCY_KEY, from: '-', computed: true, rest: true }
  if (secrets.length > 0 && !table.updates && all.secrets_version) all.secrets_version.replace = true
  return all
}

const asSchema = (told: Told): Schema => ({
  properties: Object.fromEntries(Object.entries(told).map(([name, { schema }]) => [name, schema])),
})

const SECRETS_VERSION =
  'Change it whenever a secret changed: secrets are write-only, so Terraform cannot see that one did.'
const IDEMPOTENCY_KEY =
  'Under what the POST that makes it is sent. Left out, it follows from `workspace`, the type and the arguments.'

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(RESOURCES_FILE, resourcesText())
  process.stdout.write(`wrote ${RESOURCES_FILE}\n`)
}
