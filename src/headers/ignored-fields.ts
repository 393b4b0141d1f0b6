// R75: which fields of a body nobody read, as the header `Agent-Ignored-Fields` tells them.
import { inHeader } from './header-text.ts'

export const IGNORED_FIELDS_HEADER = 'agent-ignored-fields'

export const NAMES_MAX = 20
const BYTES_MAX = 1_024

/** Undefined where there is none. What is too much for a header is left out, and a last `...` says so. */
export function ignoredFieldsHeader(names: readonly string[]): string | undefined {
  const told: string[] = []
  let bytes = 0
  for (const name of names.slice(0, NAMES_MAX)) {
    const text = inHeader(name).replaceAll(',', '%2C')
    bytes += text.length + 2
    if (bytes > BYTES_MAX - 5) break
    told.push(text)
  }
  if (told.length < names.length) told.push('...')
  return told.length === 0 ? undefined : told.join(', ')
}

/** What a shape knows: everything below an open one. */
export type Known = 'open' | { fields: ReadonlyMap<string, Known> | undefined; items: Known | undefined }

interface JsonSchema {
  properties?: Record<string, JsonSchema>
  additionalProperties?: unknown
  patternProperties?: unknown
  items?: JsonSchema
  anyOf?: readonly JsonSchema[]
}

/** Read off a schema once, as its route is declared. */
export function knownFields(schema: unknown): Known {
  const { properties, additionalProperties, patternProperties, items, anyOf } = (schema ?? {}) as JsonSchema
  if (anyOf) return anyOf.map(knownFields).reduce(either)
  if (additionalProperties === true || patternProperties) return 'open'
  return {
    fields: properties && new Map(Object.entries(properties).map(([name, shape]) => [name, knownFields(shape)])),
    items: items && knownFields(items),
  }
}

function either(a: Known, b: Known): Known {
  if (a === 'open' || b === 'open') return 'open'
  const fields = a.fields && b.fields ? merged(a.fields, b.fields) : (a.fields ?? b.fields)
  return { fields, items: a.items && b.items ? either(a.items, b.items) : (a.items ?? b.items) }
}

function merged(a: ReadonlyMap<string, Known>, b: ReadonlyMap<string, Known>): ReadonlyMap<string, Known> {
  const all = new Map(a)
  for (const [name, known] of b) {
    const other = all.get(name)
    all.set(name, other ? either(other, known) : known)
  }
  return all
}

/** As they would be written in code: `autoscaling.max`, `tiers[0].cost`. One more than can be told is enough. */
export function ignoredFields(value: unknown, known: Known): string[] {
  const names: string[] = []
  walk(value, known, '')
  return names

  function walk(part: unknown, shape: Known, at: string): void {
    if (shape === 'open' || typeof part !== 'object' || part === null) return
    if (Array.isArray(part)) {
      if (!shape.items) return
      for (let n = 0; n < part.length && names.length <= NAMES_MAX; n++) walk(part[n], shape.items, `${at}[${n}]`)
      return
    }
    if (!shape.fields) return
    for (const name of Object.keys(part)) {
      if (names.length > NAMES_MAX) return
      const path = at === '' ? name : `${at}.${name}`
      const within = shape.fields.get(name)
      if (within) walk((part as Record<string, unknown>)[name], within, path)
      else names.push(path)
    }
  }
}
