// Elements of an array inside JSON bytes, found, replaced and put in front without touching any other byte.
import { endOfValue, skipSpace } from './json-bytes.ts'
import { valuesOf } from './json-splice.ts'

const [OPEN_BRACKET, CLOSE_BRACKET, COMMA] = [0x5b, 0x5d, 0x2c]

export interface ByteSpan {
  start: number
  /** Where it has ended. */
  end: number
}

/** What is to stand in the place of a span; an empty span is a place to put something in. */
export interface Change extends ByteSpan {
  bytes: Buffer
}

/** Of the array that begins at `from`, each element in order. */
export function* elementsOf(json: Buffer, from: number): Generator<ByteSpan> {
  if (json[from] !== OPEN_BRACKET) return
  for (let at = from + 1; ; ) {
    at = skipSpace(json, at)
    if (at >= json.length || json[at] === CLOSE_BRACKET) return
    if (json[at] === COMMA) {
      at++
      continue
    }
    const end = endOfValue(json, at)
    yield { start: at, end }
    at = end
  }
}

/** Where a field of the object lies that `span` is; of one that is there twice, the last, as a parser has it. */
export function fieldIn(json: Buffer, span: ByteSpan, name: string): ByteSpan | undefined {
  const found = [...valuesOf(json.subarray(span.start, span.end), new Set([name]))].at(-1)
  return found && { start: span.start + found.start, end: span.start + found.end }
}

/** `elements` are the bytes of one or more elements, with commas between them. */
export function atFrontOf(json: Buffer, array: ByteSpan, elements: Buffer): Change {
  const at = array.start + 1
  const isEmpty = json[skipSpace(json, at)] === CLOSE_BRACKET
  return { start: at, end: at, bytes: isEmpty ? elements : Buffer.concat([elements, Buffer.from(',')]) }
}

/** All changes at once. They must not overlap. */
export function withChanges(json: Buffer, changes: readonly Change[]): Buffer {
  const parts: Buffer[] = []
  let copied = 0
  for (const { start, end, bytes } of [...changes].sort((a, b) => a.start - b.start)) {
    parts.push(json.subarray(copied, start), bytes)
    copied = end
  }
  return Buffer.concat([...parts, json.subarray(copied)])
}
