// What the official client's own types require of a response, its items and its events: read out of the installed
// package, so that an upgrade which asks for more is noticed.
import { readFileSync } from 'node:fs'

const PATH = new URL('../../node_modules/openai/resources/responses/responses.d.ts', import.meta.url)

interface Shape {
  required: string[]
  optional: string[]
}

let shapes: Map<string, Shape> | undefined

/** By the name of an interface, and by the `type` that its objects carry. */
export function officialShapes(): Map<string, Shape> {
  shapes ??= readShapes(readFileSync(PATH, 'utf8'))
  return shapes
}

function readShapes(source: string): Map<string, Shape> {
  const found = new Map<string, Shape>()
  for (const [, name = '', , body = ''] of source.matchAll(/^export interface (\w+)( extends \w+)? \{\n(.*?)^\}/gms)) {
    const fields = [...body.matchAll(/^ {4}(\w+)(\?)?: /gm)]
    const named = (isOptional: boolean) =>
      fields.filter(([, , mark]) => (mark === '?') === isOptional).map(([, field = '']) => field)
    const shape = { required: named(false), optional: named(true) }
    found.set(name, shape)
    const type = /^ {4}type: '([^']+)';/m.exec(body)?.[1]
    if (type && /Event$|^ResponseOutput(Message|Text|Refusal)$|ToolCall$|ReasoningItem$/.test(name))
      found.set(type, shape)
  }
  return found
}

/** What an object lacks of its official shape, or has beyond it. */
export function misfits(object: object, name: string): string[] {
  const shape = officialShapes().get(name)
  if (!shape) return [`no official shape '${name}'`]
  const has = Object.keys(object)
  const missing = shape.required.filter((field) => !has.includes(field)).map((field) => `${name} lacks ${field}`)
  const known = [...shape.required, ...shape.optional]
  const beyond = has.filter((field) => !known.includes(field)).map((field) => `${name} has ${field}`)
  return [...missing, ...beyond]
}
