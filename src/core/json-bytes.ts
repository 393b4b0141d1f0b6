// JSON as it travels: bytes. Prompts grow to megabytes, and every request passes here, so native code does whatever it
// can.
import { isAscii, isUtf8, transcode } from 'node:buffer'

// Only for this file: a loop over bytes is half as fast with constants that it imports.
const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, SPACE] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x20,
]

const OPENED = Buffer.from('{')
const NEAR = 64 // a native search costs as much as looking at so many bytes

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
 * from there on make an object, it is the outermost one that they end.
 */
export function fieldFromEnd(json: Buffer, name: string): unknown {
  const at = json.lastIndexOf(`"${name}"`)
  if (at < 0 || json[at - 1] === BACKSLASH) return undefined
  return jsonOrNone(Buffer.concat([OPENED, json.subarray(at)]))?.[name]
}

/** Where the string has ended that begins with the quote at `from`; the end of all bytes where it does not end. */
export function endOfString(json: Buffer, from: number): number {
  let at = from + 1
  while (at < json.length) {
    for (const far = Math.min(at + NEAR, json.length); at < far; at++) {
      const byte = json[at]
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) at++
    }
    const quote = json.indexOf(QUOTE, at)
    if (quote < 0) break
    if (!isEscaped(json, at, quote)) return quote + 1
    at = quote + 1
  }
  return json.length
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

export interface Nesting {
  levels: number
  /** Of arrays and objects in all. */
  parts: number
}

/** Whether arrays and objects lie deeper within each other, or are more in number. */
export function isBeyond({ levels, parts }: Nesting, json: Buffer): boolean {
  if (json.length <= 2 * Math.min(levels, parts)) return false // too short to open and close that many
  let depth = 0
  let opened = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) at = endOfString(json, at) - 1
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > levels || ++opened > parts) return true
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
  }
  return false
}
