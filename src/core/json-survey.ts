// One pass over JSON that has not been parsed: how deep it nests and how much is in it, and, for whoever watches, where
// its texts, arrays and objects stand. Costs what its bytes cost, and can be done in steps.
import { endInText } from './json-bytes.ts'

// Only for this file: a loop over bytes is half as fast with constants that it imports.
const [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, COLON] = [
  0x22, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a,
]

export interface Bounds {
  /** How deep arrays and objects may lie within each other. */
  levels: number
  /** Objects, arrays and members of objects in all. */
  parts: number
  /** Members of one object: to walk through them takes longer than their number. */
  width: number
  /** Values in all, those of arrays as well. */
  values: number
}

/** Whether there is more of something than the bounds say, outside of texts. */
export function isBeyond(bounds: Bounds, json: Buffer): boolean {
  if (json.length <= 2 * Math.min(bounds.levels, bounds.parts, bounds.values)) return false // too short for that many
  return partsIn(bounds, json) === undefined
}

/** How many objects, arrays, members and further values there are; undefined where that is beyond the bounds. */
export function partsIn(bounds: Bounds, json: Buffer): number | undefined {
  const survey = new Survey(json, bounds, undefined)
  return survey.look(json.length) ? undefined : survey.seen()
}

/** Is told of each text, and of each array and object, where it stands. `depth` is how many it lies within. */
export interface Watch {
  text(start: number, end: number, depth: number): void
  opened(at: number, depth: number): void
  closed(start: number, end: number, depth: number): void
}

/** `unbalanced`: something in it does not end, or ends without having begun. */
export type Surveyed = 'within' | 'beyond' | 'unbalanced'

const LOOKED_AT_BYTES = 1024 * 1024

/** All of it, with a `yield` after every so many bytes. */
export function* surveyInSteps(bounds: Bounds, json: Buffer, watch: Watch): Generator<void, Surveyed> {
  const survey = new Survey(json, bounds, watch)
  for (let to = LOOKED_AT_BYTES; ; to += LOOKED_AT_BYTES) {
    if (survey.look(Math.min(to, json.length))) return 'beyond'
    if (to >= json.length) return survey.isBalanced() ? 'within' : 'unbalanced'
    yield
  }
}

class Survey {
  readonly #json: Buffer
  readonly #bounds: Bounds
  readonly #watch: Watch | undefined
  readonly #opened: number[] = []
  /** By depth: how many members the object has that is open there. */
  readonly #members: number[] = [0]
  #at = 0
  #depth = 0
  #parts = 0
  #values = 1
  /** Where the text began that has not ended; -1 where none has. */
  #text = -1
  #is_balanced = true

  constructor(json: Buffer, bounds: Bounds, watch: Watch | undefined) {
    this.#json = json
    this.#bounds = bounds
    this.#watch = watch
  }

  /** Goes on up to `to`, or to the end of the text that stands there. True where it is beyond the bounds. */
  look(to: number): boolean {
    const json = this.#json
    const watch = this.#watch
    const { levels, parts: parts_max, values: values_max, width } = this.#bounds
    const members = this.#members
    let at = this.#at
    let depth = this.#depth
    let parts = this.#parts
    let values = this.#values
    let text = this.#text
    while (at < to) {
      const byte = json[at]
      if (text >= 0) {
        at = endInText(json, at, to)
        if (json[at] !== QUOTE) break
        watch?.text(text, at + 1, depth)
        text = -1
      } else if (byte === QUOTE) text = at
      else if (byte === COMMA) {
        if (++values > values_max) return true
      } else if (byte === COLON) {
        members[depth] = (members[depth] as number) + 1
        if (++parts > parts_max || (members[depth] as number) > width) return true
      } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        watch?.opened(at, depth)
        if (++depth > levels || ++parts > parts_max) return true
        this.#opened[depth] = at
        members[depth] = 0
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        if (depth === 0) this.#is_balanced = false
        else {
          depth--
          watch?.closed(this.#opened[depth + 1] as number, at + 1, depth)
        }
      }
      at++
    }
    this.#at = at
    this.#depth = depth
    this.#parts = parts
    this.#values = values
    this.#text = text
    return false
  }

  seen(): number {
    return this.#parts + this.#values
  }

  isBalanced(): boolean {
    return this.#is_balanced && this.#depth === 0 && this.#text === -1
  }
}
