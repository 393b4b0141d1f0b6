// Sets top-level fields of a JSON object without touching any other byte of it: what a client sent reaches the upstream
// as it was written, numbers, spacing and repeated keys included.
import { endOfString, endOfValue, jsonIn, skipSpace } from './json-bytes.ts'

const [OPEN_BRACE, CLOSE_BRACE, COMMA, COLON] = [0x7b, 0x7d, 0x2c, 0x3a]

export type Fields = Readonly<Record<string, unknown>>

export interface ParsedObject {
  bytes: Buffer
  /** What the bytes parsed to. */
  json: Fields
}

/** Fields that are there are replaced, the others put in front; only where one is there is the whole text looked at. */
export function spliceFields({ bytes: json, json: parsed }: ParsedObject, fields: Fields): Buffer {
  const names = Object.keys(fields)
  if (names.length === 0) return json
  const added = names.filter((name) => !Object.hasOwn(parsed, name))
  const spans = added.length < names.length ? valuesOf(json, new Set(names)) : []
  const parts: Buffer[] = []
  let copied = json.indexOf(OPEN_BRACE) + 1
  parts.push(json.subarray(0, copied))
  if (added.length > 0) {
    const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(fields[name])}`).join(',')
    parts.push(Buffer.from(Object.keys(parsed).length === 0 ? text : `${text},`))
  }
  for (const { name, start, end } of spans) {
    parts.push(json.subarray(copied, start), Buffer.from(JSON.stringify(fields[name])))
    copied = end
  }
  parts.push(json.subarray(copied))
  return Buffer.concat(parts)
}

/**
 * The same object without some fields, and with others in front, which must not be in it otherwise. No byte of what
 * stays changes; a field that is there twice goes twice.
 */
export function respelled(json: Buffer, without: ReadonlySet<string>, added: Fields): Buffer {
  const open = json.indexOf(OPEN_BRACE) + 1
  const kept: Buffer[] = []
  let behind = open
  let is_first = true
  for (const { name, name_start, end } of membersOf(json)) {
    if (!without.has(name)) {
      kept.push(json.subarray(is_first ? name_start : behind, end))
      is_first = false
    }
    behind = end
  }
  const text = Object.entries(added).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  const front = Buffer.from(text.join(',') + (text.length > 0 && kept.length > 0 ? ',' : ''))
  return Buffer.concat([json.subarray(0, open), front, ...kept, json.subarray(behind)])
}

/** Some fields of an object that is known to be one, without parsing the rest. */
export function fieldsOf(json: Buffer, names: ReadonlySet<string>): Fields {
  const fields: Record<string, unknown> = {}
  for (const { name, start, end } of valuesOf(json, names)) fields[name] = jsonIn(json.subarray(start, end))
  return fields
}

interface Span {
  name: string
  /** Where the value begins, and where it has ended. */
  start: number
  end: number
}

/** Where a top-level field's value lies; of one that is there twice, the last, as a parser has it. */
export const spanOf = (json: Buffer, name: string) => [...valuesOf(json, new Set([name]))].at(-1)

const NAME_MAX_BYTES = 256 // a name that is looked for has fewer, even with every letter as an escape

/** Where the values of these fields of the outermost object stand, in order; of a field given twice, both. */
export function* valuesOf(json: Buffer, names: ReadonlySet<string>): Generator<Span> {
  for (const { name, start, end } of membersOf(json)) if (names.has(name)) yield { name, start, end }
}

interface Member extends Span {
  name_start: number
}

function* membersOf(json: Buffer): Generator<Member> {
  let at = json.indexOf(OPEN_BRACE) + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] === CLOSE_BRACE || at >= json.length) return
    if (json[at] === COMMA) {
      at++
      continue
    }
    const nameEnd = endOfString(json, at)
    const name = nameEnd - at > NAME_MAX_BYTES ? '' : nameIn(json, at, nameEnd)
    const start = skipSpace(json, json.indexOf(COLON, nameEnd) + 1)
    const end = endOfValue(json, start)
    yield { name, name_start: at, start, end }
    at = end
  }
}

function nameIn(json: Buffer, from: number, to: number): string {
  const name = json.toString('utf8', from + 1, to - 1)
  return name.includes('\\') ? JSON.parse(`"${name}"`) : name
}
