// JSON as it travels: bytes. Prompts grow to megabytes, and every request passes here, so native code does whatever it
// can.
import { isAscii, isUtf8, transcode } from 'node:buffer'

// Only for this file: a loop over bytes is half as fast with constants that it imports.
const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, SPACE] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x20,
]

const OPENED = Buffer.from('{')
const NEAR = 64 // a native search costs as much as looking at so many bytes
const NEAR_MAX = 4_096
const ESCAPE_MAX = 6 // the longest escape: its backslash, a u and four digits
const LETTER_U = 0x75

/** A body as it came, and what it says. */
export interface JsonBody {
  bytes: Buffer
  json: unknown
}

/** What `toString('utf8')` says, which takes up to ten times as long over text that is not ASCII. */
export function textOf(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1')
  return isUtf8(bytes) ? transcode(bytes, 'utf8', 'utf16le').toString('utf16le') : bytes.toString('utf8')
}

/** Throws where it is not JSON. */
export const jsonIn = (bytes: Buffer) => JSON.parse(textOf(bytes))

/** Undefined where it is not. */
export function jsonOrNone(json: Buffer | string) {
  try {
    return typeof json === 'string' ? JSON.parse(json) : jsonIn(json)
  } catch {
    return undefined
  }
}

/**
 * A field of the outermost object, found from the end without reading what lies before it; undefined where that does
 * not tell. Quotes within a string are escaped, so a quoted name with a value behind it is a key; and where the bytes
 * from there on make an object, it is the outermost one that they end. No more than `most_bytes` are looked at.
 */
export function fieldFromEnd(json: Buffer, name: string, most_bytes: number): unknown {
  const end = json.length > most_bytes ? json.subarray(-most_bytes) : json
  const at = end.lastIndexOf(`"${name}"`)
  if (at < 0 || end[at - 1] === BACKSLASH) return undefined
  return jsonOrNone(Buffer.concat([OPENED, end.subarray(at)]))?.[name]
}

/** Where the string has ended that begins with the quote at `from`; the end of all bytes where it does not end. */
export const endOfString = (json: Buffer, from: number) =>
  Math.min(endInText(json, from + 1, json.length) + 1, json.length)

/**
 * Where the quote stands that ends a text; `from` is within it, and not within an escape. Where there is none before
 * `to`, a place from there on that may be gone on from, at which no such quote stands.
 */
export function endInText(json: Buffer, from: number, to: number): number {
  let at = from
  let near = NEAR
  while (at < to) {
    for (const far = Math.min(at + near, to); at < far; at++) {
      const byte = json[at]
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
    }
    if (at >= to) break
    const quote = json.indexOf(QUOTE, at)
    if (quote < 0) return json.length
    if (!isEscaped(json, at, quote)) return quote
    at = quote + 1
    if (near < NEAR_MAX) near *= 2 // where many are escaped, a search leads nowhere
  }
  return at
}

/** Nothing before `from` escapes what comes after. */
function isEscaped(json: Buffer, from: number, quote: number): boolean {
  let first = quote
  while (first > from && json[first - 1] === BACKSLASH) first--
  return (quote - first) % 2 === 1
}

/** Where the value has ended that begins at `from`. */
export function endOfValue(json: Buffer, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) {
      at = endOfString(json, at) - 1
      if (depth === 0) return at + 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || (byte as number) <= SPACE)) return at
  }
  return json.length
}

export function skipSpace(json: Buffer, from: number): number {
  let at = from
  while (at < json.length && (json[at] as number) <= SPACE) at++
  return at
}

/** Where a text may be cut in two that begins at `from` and goes on behind `to`: not within an escape or character. */
export function safeCut(json: Buffer, from: number, to: number): number {
  let cut = to
  for (let at = to - 1; at > from && at >= to - ESCAPE_MAX; at--) {
    if (json[at] !== BACKSLASH) continue
    if (isEscaped(json, from, at + 1) && at + (json[at + 1] === LETTER_U ? ESCAPE_MAX : 2) > to) cut = at
    break
  }
  while (cut > from && ((json[cut] as number) & 0xc0) === 0x80) cut--
  return cut > from ? cut : to
}
