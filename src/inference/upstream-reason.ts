// Why an upstream refused a request, in its own words: agents go by them, such as to shorten a prompt that is too long.
// Servers of models have many forms for it; only OpenAI's own is what clients of this service know.
import { jsonOrNone } from '../core/json-bytes.ts'

export interface Refused {
  /** It is in the form that clients know, and can go on to them as it is. */
  is_envelope: boolean
  reason: string | undefined
}

const REASON_MAX = 2_000

type Fields = Record<string, unknown> | null | undefined

export function whatWasRefused(body: Buffer): Refused {
  const said: Fields = jsonOrNone(body)
  const inside = (said?.error as Fields)?.message
  const reason = [inside, said?.error, said?.message, said?.detail].map(textOf).find((text) => text !== undefined)
  return { is_envelope: typeof inside === 'string', reason: reason?.slice(0, REASON_MAX) }
}

/** A text, or a list of what is wrong where: FastAPI tells of each field. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  if (!Array.isArray(value)) return undefined
  const told = value.flatMap((one: Fields) => (typeof one?.msg === 'string' ? placed(one.loc, one.msg) : []))
  return told.length > 0 ? told.join('; ') : undefined
}

const placed = (place: unknown, message: string) => (Array.isArray(place) ? `${place.join('.')}: ${message}` : message)
