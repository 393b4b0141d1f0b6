// The fields of an object that has not been parsed, and is not to be: where the value of each begins. Found in one pass
// over its bytes, whether these are JSON throughout or not.
import { AT_ONCE_BYTES } from './foreign.ts'
import { endOfValue, jsonOrNone, skipSpace } from './json-bytes.ts'
import type { Watch } from './json-survey.ts'

const [QUOTE, BACKSLASH, COLON, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x22, 0x5c, 0x3a, 0x7b, 0x5b, 0x5d]
const NAME_MAX_BYTES = 256 // with every letter as an escape, none that is looked for has more

/** Of the outermost object: a field that is there twice is the last of its name, as a parser has it. */
export class Outline implements Watch {
  protected readonly json: Buffer
  readonly #wanted: ReadonlySet<string>
  readonly #places = new Map<string, number>()
  #has_ended = false

  constructor(json: Buffer, wanted: ReadonlySet<string>) {
    this.json = json
    this.#wanted = wanted
  }

  text(start: number, end: number, depth: number): void {
    if (depth === 1 && !this.#has_ended) this.name(start, end, depth)
  }

  opened(_at: number, _depth: number): void {}

  /** What comes behind the outermost object is none of it. */
  closed(_start: number, _end: number, depth: number): void {
    if (depth === 0) this.#has_ended = true
  }

  /** The name where the text is one; undefined where it is a value. */
  protected name(start: number, end: number, depth: number): string | undefined {
    const { json } = this
    const colon = skipSpace(json, end)
    if (json[colon] !== COLON) return undefined
    const name = end - start > NAME_MAX_BYTES ? '' : nameIn(json.subarray(start, end))
    if (depth === 1 && this.#wanted.has(name)) this.#places.set(name, skipSpace(json, colon + 1))
    return name
  }

  /** Where the field's value begins. */
  at(name: string): number | undefined {
    return this.#places.get(name)
  }

  /** The field's value where it is small; undefined where it is not, or not there. */
  value(name: string): unknown {
    const at = this.#places.get(name)
    if (at === undefined) return undefined
    const near = this.json.subarray(at, at + AT_ONCE_BYTES)
    return jsonOrNone(near.subarray(0, endOfValue(near, 0)))
  }

  /** Whether its value is anything but null, false, 0 or an empty text, however large it is. */
  isSomething(name: string): boolean {
    const at = this.#places.get(name)
    if (at === undefined) return false
    const byte = this.json[at]
    if (byte === QUOTE) return this.json[at + 1] !== QUOTE
    return byte === OPEN_BRACE || byte === OPEN_BRACKET || Boolean(this.value(name))
  }

  list(name: string): 'none' | 'empty' | 'filled' {
    const at = this.#places.get(name)
    if (at === undefined || this.json[at] !== OPEN_BRACKET) return 'none'
    return this.json[skipSpace(this.json, at + 1)] === CLOSE_BRACKET ? 'empty' : 'filled'
  }

  /** From where an object stands that is the field's value. */
  objectAt(name: string): Buffer | undefined {
    const at = this.#places.get(name)
    return at !== undefined && this.json[at] === OPEN_BRACE ? this.json.subarray(at) : undefined
  }
}

const nameIn = (quoted: Buffer): string =>
  quoted.includes(BACKSLASH) ? String(jsonOrNone(quoted)) : quoted.toString('latin1', 1, quoted.length - 1)
