// How much an event of a stream generated, counted over its bytes as they are: parsing every chunk would cost more than
// all the rest that is done with it. A text that looks like a key is no danger: inside a JSON string every quote is
// escaped, so a quoted word followed by a colon is a key. All texts here have one character for each byte.
import { isAscii } from 'node:buffer'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACE = 0x20
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const LETTER_U = 0x75
const ZERO = 0x30
const EIGHT = 0x38
/** Quarters of a token in a character that is not ASCII. */
const WIDE = 4

/** The names under which an answer has what clients show. */
export const GENERATED: ReadonlySet<string> = new Set([
  'content',
  'text',
  'arguments',
  'input', // of a custom tool
  'command',
  'diff',
  'refusal',
  'reasoning',
  'reasoning_content',
  'thinking',
])

/** What was found: added up in one object, because a new one for every chunk would be the dearest thing here. */
export interface Generated {
  /** How much content, in quarters of a token: an estimate to charge by where no usage comes. */
  quarter_tokens: number
  /** Something that a client would see or hear: text, a refusal, reasoning, a tool call, sound. */
  content: boolean
  /** How many strings were counted, and where the last of them stands, without its quotes. */
  strings: number
  from: number
  to: number
}

export const nothingGenerated = (): Generated => ({ quarter_tokens: 0, content: false, strings: 0, from: 0, to: 0 })

/**
 * Where the value of a key begins; -1 where none is. `key` stands at `at` and has its closing quote only: a search for
 * something that begins with a quote would stop at every quote there is.
 */
export function valueAfter(text: string, at: number, key: string): number {
  if (text.charCodeAt(at - 1) !== QUOTE) return -1
  const colon = skipSpace(text, at + key.length)
  return text.charCodeAt(colon) === COLON ? skipSpace(text, colon + 1) : -1
}

/**
 * Counts the value that begins at `at`: a string is all content; of an object, only what clients show. Returns how far
 * it looked, so that nobody need look there again.
 */
export function addGenerated(text: string, at: number, end: number, sum: Generated): number {
  const code = text.charCodeAt(at)
  if (code === OPEN_BRACE) return addOfDelta(text, at, end, sum)
  if (code !== QUOTE) return at
  const close = closingQuote(text, at + 1, end)
  add(countString(text, at + 1, close, sum), sum)
  return close
}

/** Counts a text that is the inside of one string and nothing else; false, and nothing counted, where it is not. */
export function addWithin(text: string, from: number, to: number, sum: Generated): boolean {
  if (closingQuote(text, from, to) !== to) return false
  add(quartersIn(text, from, to), sum)
  return true
}

const PLAIN: ReadonlySet<string> = new Set(['content', 'arguments', 'input', 'refusal', 'thinking', 'partial_json'])

function addOfDelta(text: string, at: number, end: number, sum: Generated): number {
  let plain = 0
  let doubled = 0 // some upstreams say the same thing under several of these names, so only the longest counts
  let depth = 0
  // That of the object under `audio`, while it is open. How long it is says nothing of its tokens: none are counted.
  let sound_depth = -1
  let key = ''
  let i = at
  for (; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const close = closingQuote(text, i + 1, end)
      const next = skipSpace(text, close + 1)
      const isKey = text.charCodeAt(next) === COLON
      if (isKey) key = text.slice(i + 1, close)
      else if (PLAIN.has(key)) plain += countString(text, i + 1, close, sum)
      else if (key === 'reasoning' || key === 'reasoning_content' || key === 'text')
        doubled = Math.max(doubled, countString(text, i + 1, close, sum))
      else if (depth === sound_depth && (key === 'data' || key === 'transcript')) sum.content ||= close > i + 1
      i = isKey ? next : close
    } else if (code === OPEN_BRACE) {
      depth++
      if (key === 'audio') sound_depth = depth
    } else if (code === CLOSE_BRACE) {
      if (depth === sound_depth) sound_depth = -1
      if (--depth === 0) break
    } else if (code === OPEN_BRACKET && key === 'tool_calls')
      sum.content ||= text.charCodeAt(skipSpace(text, i + 1)) !== CLOSE_BRACKET
  }
  add(plain + doubled, sum)
  return i
}

function add(quarters: number, sum: Generated): void {
  sum.quarter_tokens += quarters
  if (quarters > 0) sum.content = true
}

function countString(text: string, from: number, to: number, sum: Generated): number {
  sum.strings++
  sum.from = from
  sum.to = to
  return quartersIn(text, from, to)
}

/**
 * Four letters of English are a token, but of most other scripts each character is one: as its bytes, of which the
 * first is counted, or as an escape.
 */
function quartersIn(text: string, from: number, to: number): number {
  let quarters = 0
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code === BACKSLASH) {
      const is_code = text.charCodeAt(i + 1) === LETTER_U
      quarters += is_code && !isAsciiEscape(text, i + 2) ? WIDE : 1
      i += is_code ? 5 : 1
    } else if (code < 0x80) quarters++
    else if (code >= 0xc0) quarters += WIDE // the bytes that follow are within the same character
  }
  return quarters
}

/** The same of the bytes between two quotes. */
export function quarterTokensIn(bytes: Buffer): number {
  if (isAscii(bytes) && !bytes.includes(BACKSLASH)) return bytes.length
  return quartersIn(bytes.toString('latin1'), 0, bytes.length)
}

const isAsciiEscape = (text: string, at: number) =>
  text.charCodeAt(at) === ZERO && text.charCodeAt(at + 1) === ZERO && text.charCodeAt(at + 2) < EIGHT

/** Where the string that began before `from` ends: at its quote, or at what no string may hold, or beyond `end`. */
function closingQuote(text: string, from: number, end: number): number {
  let i = from
  for (; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE || code < SPACE) break
    if (code === BACKSLASH) i++
  }
  return i
}

function skipSpace(text: string, at: number): number {
  let i = at
  while (text.charCodeAt(i) <= SPACE) i++
  return i
}
