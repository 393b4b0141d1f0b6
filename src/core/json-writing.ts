// JSON.stringify in steps, for values that take too long to be written in one go (R77): plain data, as JSON.parse makes
// it or as it is put together here.
import type { MaybePromise } from './maybe-promise.ts'
import { inTurns } from './turns.ts'

/** Up to here native code does it at once. */
const AT_ONCE_BYTES = 256 * 1024
const PIECE_LENGTH = 64 * 1024

/** `about_bytes` is how long it will be, roughly: a promise where that is much. */
export function jsonBytes(value: unknown, about_bytes: number): MaybePromise<Buffer> {
  return about_bytes <= AT_ONCE_BYTES ? Buffer.from(JSON.stringify(value)) : inTurns(writtenInSteps(value))
}

export function* writtenInSteps(value: unknown): Generator<void, Buffer> {
  const out = new Pieces()
  yield* write(value, out)
  return out.taken()
}

class Pieces {
  readonly #pieces: Buffer[] = []
  #text = ''

  /** True where a step is done. */
  add(text: string): boolean {
    this.#text += text
    if (this.#text.length < PIECE_LENGTH) return false
    this.#pieces.push(Buffer.from(this.#text))
    this.#text = ''
    return true
  }

  taken(): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(this.#text)])
  }
}

function* write(value: unknown, out: Pieces): Generator<void, void> {
  if (typeof value === 'string' && value.length > PIECE_LENGTH) yield* writeText(value, out)
  else if (typeof value !== 'object' || value === null) {
    if (out.add(JSON.stringify(value) ?? 'null')) yield
  } else if (Array.isArray(value)) yield* writeArray(value, out)
  else yield* writeObject(value as Readonly<Record<string, unknown>>, out)
}

function* writeArray(values: readonly unknown[], out: Pieces): Generator<void, void> {
  let before = '['
  for (const value of values) {
    out.add(before)
    yield* write(value, out)
    before = ','
  }
  out.add(before === '[' ? '[]' : ']')
}

function* writeObject(object: Readonly<Record<string, unknown>>, out: Pieces): Generator<void, void> {
  let before = '{'
  for (const name of Object.keys(object)) {
    const value = object[name]
    if (value === undefined) continue
    out.add(`${before}${JSON.stringify(name)}:`)
    yield* write(value, out)
    before = ','
  }
  out.add(before === '{' ? '{}' : '}')
}

/** Not cut within a pair: each half of one would be written as a code. */
function* writeText(text: string, out: Pieces): Generator<void, void> {
  out.add('"')
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE_LENGTH, text.length)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--
    if (out.add(JSON.stringify(text.slice(from, to)).slice(1, -1))) yield
    from = to
  }
  out.add('"')
}
