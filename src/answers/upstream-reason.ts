// Why an upstream refused a request or failed it, in its own words: agents go by them, such as to shorten a prompt that
// is too long, and whoever asks afterwards what went wrong (R80). Servers of models have many forms for it; only
// OpenAI's own is what clients of this service know. Whatever is looked at here was read in bounds.
import { BUDGETS, smallJsonOrNone } from '../core/foreign.ts'
import { endOfString, endOfValue, skipSpace } from '../core/json-bytes.ts'
import type { Envelope } from '../core/refusal.ts'
import { inBounds, withoutSecrets } from '../core/told-text.ts'

export interface Refused {
  /** Where it is in the form that clients know, and can go on to them as it is. */
  envelope: Envelope['error'] | undefined
  reason: string | undefined
}

const REASON_MAX = 2_000
export const WORDS_MAX_BYTES = 2_048 // R80

type Fields = Record<string, unknown> | null | undefined

export function whatWasRefused(body: Buffer): Refused {
  const said: Fields = smallJsonOrNone(BUDGETS.envelope, body)
  const reason = reasonIn(said)?.slice(0, REASON_MAX)
  const { message, type, code } = (said?.error as Fields) ?? {}
  if (typeof message !== 'string' || typeof type !== 'string') return { envelope: undefined, reason }
  return { envelope: { message, type, ...(typeof code === 'string' && { code }) }, reason }
}

const reasonIn = (said: Fields) =>
  [(said?.error as Fields)?.message, said?.error, said?.message, said?.detail]
    .map(textOf)
    .find((text) => text !== undefined)

/** A text, or a list of what is wrong where: FastAPI tells of each field. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  if (!Array.isArray(value)) return undefined
  const told = value.flatMap((one: Fields) => (typeof one?.msg === 'string' ? placed(one.loc, one.msg) : []))
  return told.length > 0 ? told.join('; ') : undefined
}

const placed = (place: unknown, message: string) => (Array.isArray(place) ? `${place.join('.')}: ${message}` : message)

/** R80: what the body of a failure says, for people: in bounds, and without the credential that was sent. */
export function wordsOf(body: Buffer, sent?: string): string | undefined {
  return tellable(reasonOf(body) ?? textWithin(beginningOf(body)), sent)
}

/** The same of a 200 that is no answer. What is neither an error nor a page may be half of one, which is not for us. */
export function wordsOfAnswer(body: Buffer, sent?: string): string | undefined {
  const text = beginningOf(body)
  const said = reasonOf(body) ?? (isPage(text) ? textWithin(text) : undefined)
  return said === undefined ? undefined : tellable(said, sent)
}

const beginningOf = (body: Buffer) => body.toString('utf8', 0, BUDGETS.said.bytes)

const reasonOf = (body: Buffer) =>
  body.length > BUDGETS.said.bytes ? undefined : reasonIn(smallJsonOrNone(BUDGETS.said, body) as Fields)

/** The same of an error that stood in an event of a stream. */
export function wordsIn(error: unknown, sent?: string): string | undefined {
  const said = typeof error === 'string' ? error : reasonIn({ error } as Fields)
  return said === undefined ? undefined : tellable(said, sent)
}

const isPage = (text: string) => /^\s{0,64}</.test(text)

/** Pages are made of far more than what they say. */
const textWithin = (text: string) => (isPage(text) ? text.replace(/<[^<>]{0,512}>/g, ' ') : text)

function tellable(text: string, sent: string | undefined): string | undefined {
  // Secrets first: one that was cut through would not be known for one.
  const clean = withoutSecrets(inBounds(text, BUDGETS.said.bytes), sent)
  const words = inBounds(clean.replace(/ {2,}/g, ' ').trim(), WORDS_MAX_BYTES).trim()
  return words === '' ? undefined : words
}

const [OPEN_BRACE, CLOSE_BRACE, COMMA, COLON, QUOTE] = [0x7b, 0x7d, 0x2c, 0x3a, 0x22]

/** §7: `code` is a string where it is there. Any other is taken out of the envelope; no other byte of it changes. */
export function withoutOtherCode(envelope: Buffer): Buffer {
  const error = membersOf(envelope, envelope.indexOf(OPEN_BRACE)).findLast(({ name }) => name === 'error')
  if (!error || envelope[error.value] !== OPEN_BRACE) return envelope
  const members = membersOf(envelope, error.value)
  const kept = members.filter(({ name, value }) => name !== 'code' || envelope[value] === QUOTE)
  if (kept.length === members.length) return envelope
  // Each of the others with what stands between it and the one before it.
  const [first, last] = [members[0] as Member, members.at(-1) as Member]
  const parts = kept.map(({ start, end, behind }, at) => envelope.subarray(at === 0 ? start : behind, end))
  return Buffer.concat([envelope.subarray(0, first.start), ...parts, envelope.subarray(last.end)])
}

interface Member {
  name: string
  /** Where the one before it has ended, where its name begins, where its value does, and where that has ended. */
  behind: number
  start: number
  value: number
  end: number
}

/** Of the object that begins at `from`. */
function membersOf(json: Buffer, from: number): Member[] {
  const members: Member[] = []
  let at = skipSpace(json, from + 1)
  while (at < json.length && json[at] !== CLOSE_BRACE) {
    if (json[at] !== COMMA) {
      const name_end = endOfString(json, at)
      const value = skipSpace(json, json.indexOf(COLON, name_end) + 1)
      const end = endOfValue(json, value)
      const behind = members.at(-1)?.end ?? at
      members.push({ name: JSON.parse(json.toString('utf8', at, name_end)), behind, start: at, value, end })
      at = end
    } else at++
    at = skipSpace(json, at)
  }
  return members
}
