// JSON.parse in steps, for values that are too large to be parsed in one go: what is small is parsed by native code,
// run by run; only what is large is taken apart here. First a survey counts what there is, and finds the large parts;
// then they are built. Each byte is looked at a few times, however the value is nested.
import { endOfString, endOfValue, jsonIn, safeCut, textOf } from './json-bytes.ts'
import { type Bounds, surveyInSteps } from './json-survey.ts'

const [QUOTE, OPEN_BRACKET, CLOSE_BRACKET, CLOSE_BRACE, COMMA, COLON] = [0x22, 0x5b, 0x5d, 0x7d, 0x2c, 0x3a]

/** What native code is given in one go. */
const RUN_BYTES = 64 * 1024

/** `beyond` makes what is thrown where the value has more than `bounds`. `run_bytes` is for tests. */
export function* jsonInSteps(
  json: Buffer,
  bounds: Bounds,
  beyond: () => Error,
  run_bytes = RUN_BYTES,
): Generator<void, unknown> {
  const large = new Map<number, number>()
  const note = (start: number, end: number) => void (end - start > run_bytes && large.set(start, end))
  const surveyed = yield* surveyInSteps(bounds, json, { text: note, opened: () => {}, closed: note })
  if (surveyed === 'beyond') throw beyond()
  if (surveyed === 'unbalanced') throw new SyntaxError('no JSON: something has no end')
  const building = new Building(json, large, run_bytes)
  return yield* building.all()
}

class Building {
  readonly #json: Buffer
  /** Texts, arrays and objects that are too large for native code, by where they begin: where they have ended. */
  readonly #large: ReadonlyMap<number, number>
  readonly #run_bytes: number
  #at = 0

  constructor(json: Buffer, large: ReadonlyMap<number, number>, run_bytes: number) {
    this.#json = json
    this.#large = large
    this.#run_bytes = run_bytes
  }

  *all(): Generator<void, unknown> {
    this.#at = skipBlanks(this.#json, 0, this.#json.length) // some upstreams send blank lines for as long as one waits
    const value = this.#large.has(this.#at) ? yield* this.#value() : this.#small(this.#endOfSmall(this.#at))
    if (skipBlanks(this.#json, this.#at, this.#json.length) < this.#json.length) throw this.#wrong()
    return value
  }

  /** The large one that begins here. */
  *#value(): Generator<void, unknown> {
    const byte = this.#json[this.#at]
    if (byte === QUOTE) return yield* this.#text()
    if (byte === OPEN_BRACKET) return yield* this.#array()
    return yield* this.#object()
  }

  *#text(): Generator<void, string> {
    const end = (this.#large.get(this.#at) as number) - 1
    const pieces: string[] = []
    for (let from = this.#at + 1; from < end; ) {
      const to = safeCut(this.#json, from, Math.min(from + 4 * this.#run_bytes, end))
      pieces.push(JSON.parse(`"${textOf(this.#json.subarray(from, to))}"`))
      from = to
      yield
    }
    if (this.#json[end] !== QUOTE) throw this.#wrong()
    this.#at = end + 1
    return pieces.join('')
  }

  *#array(): Generator<void, unknown[]> {
    const values: unknown[] = []
    for (let more = this.#opened(CLOSE_BRACKET); more; more = this.#goesOn(CLOSE_BRACKET)) {
      if (this.#large.has(this.#at)) values.push(yield* this.#value())
      else {
        for (const value of jsonIn(this.#run('[', ']', (at) => at))) values.push(value)
        yield
      }
    }
    return values
  }

  *#object(): Generator<void, object> {
    const object: Record<string, unknown> = {}
    for (let more = this.#opened(CLOSE_BRACE); more; more = this.#goesOn(CLOSE_BRACE)) {
      const value_at = this.#valueOfMember(this.#at)
      if (this.#large.has(this.#at) || this.#large.has(value_at)) yield* this.#member(object, value_at)
      else {
        const members = jsonIn(this.#run('{', '}', (at) => this.#valueOfMember(at)))
        for (const name of Object.keys(members)) set(object, name, members[name])
        yield
      }
    }
    return object
  }

  *#member(object: Record<string, unknown>, value_at: number): Generator<void, void> {
    const name = this.#large.has(this.#at) ? yield* this.#text() : this.#small(endOfString(this.#json, this.#at))
    if (typeof name !== 'string') throw this.#wrong()
    this.#at = value_at
    const is_large = this.#large.has(value_at)
    set(object, name, is_large ? yield* this.#value() : this.#small(this.#endOfSmall(value_at)))
  }

  /** What is long and not known as large has no end, or is a number that nobody means. */
  #endOfSmall(from: number): number {
    const end = endOfValue(this.#json, from)
    if (end - from > RUN_BYTES) throw this.#wrong()
    return end
  }

  #small(end: number): unknown {
    const value = jsonIn(this.#json.subarray(this.#at, end))
    this.#at = end
    return value
  }

  /** Where the value of the member begins whose name begins at `at`. */
  #valueOfMember(at: number): number {
    const json = this.#json
    if (json[at] !== QUOTE) throw this.#wrong()
    const colon = skipBlanks(json, this.#large.get(at) ?? endOfString(json, at))
    if (json[colon] !== COLON) throw this.#wrong()
    return skipBlanks(json, colon + 1)
  }

  /** Small ones that follow each other, up to the next large one, as an array or object of their own. */
  #run(open: string, close: string, valueAt: (at: number) => number): Buffer {
    const json = this.#json
    const from = this.#at
    let end = this.#endOfSmall(valueAt(from))
    for (;;) {
      const comma = skipBlanks(json, end)
      if (json[comma] !== COMMA) break
      const next = skipBlanks(json, comma + 1)
      if (this.#large.has(next) || next - from >= this.#run_bytes) break
      const value_at = valueAt(next)
      if (this.#large.has(value_at)) break
      end = this.#endOfSmall(value_at)
      if (end === next) break // nothing stands there
    }
    if (end === from) throw this.#wrong()
    this.#at = end
    return Buffer.concat([Buffer.from(open), json.subarray(from, end), Buffer.from(close)])
  }

  /** Behind the opening bracket: whether anything is in it. */
  #opened(close: number): boolean {
    this.#at = skipBlanks(this.#json, this.#at + 1)
    if (this.#json[this.#at] !== close) return true
    this.#at++
    return false
  }

  /** Behind a value: whether another one follows. */
  #goesOn(close: number): boolean {
    this.#at = skipBlanks(this.#json, this.#at)
    const byte = this.#json[this.#at]
    if (byte !== close && byte !== COMMA) throw this.#wrong()
    this.#at++
    if (byte === close) return false
    this.#at = skipBlanks(this.#json, this.#at)
    return true
  }

  #wrong(): SyntaxError {
    return new SyntaxError(`no JSON at byte ${this.#at}`)
  }
}

/** As JSON.parse does it: what is called __proto__ is a field like any other. */
function set(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Native code knows these four. Nobody means more of them in one place than a run has. */
function skipBlanks(json: Buffer, from: number, most = RUN_BYTES): number {
  for (let at = from; at <= from + most; at++) {
    const byte = json[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
  }
  throw new SyntaxError(`no JSON at byte ${from}`)
}
