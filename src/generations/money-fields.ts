// R76: the fields that decide what a call costs, and who is asked for it. Each is of its type and range, given once,
// and spelled as the protocol spells it, or nobody is called: where two programs read one body differently, what we
// hold and what the upstream does would differ.

import { type Fields, type ParsedObject, valuesOf } from '../core/json-splice.ts'
import { Refusal } from '../core/refusal.ts'
import type { CallKind } from '../providers/provider.ts'

const CHOICES_MAX = 128 // R76; each costs what an answer costs
const WHOLE = { least: 1, most: Number.MAX_SAFE_INTEGER }
const CHOICES = { least: 1, most: CHOICES_MAX }

const COUNTS: Readonly<Record<string, { least: number; most: number }>> = {
  n: CHOICES,
  best_of: CHOICES,
  max_tokens: WHOLE,
  max_completion_tokens: WHOLE,
  max_output_tokens: WHOLE,
}
/** A message of no tokens only fills the cache. */
const FROM_NOTHING: typeof COUNTS = { ...COUNTS, max_tokens: { ...WHOLE, least: 0 } }
const COUNT_NAMES = Object.keys(COUNTS)
const ONCE: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', ...COUNT_NAMES])

/** Throws the 400 that names the field. Null says the same as leaving it out. */
export function checkMoneyFields({ bytes, json }: { bytes: Buffer; json: unknown }, kind?: CallKind): void {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return // which is told elsewhere
  const fields = json as Fields
  checkTypes(fields, kind === 'messages' ? FROM_NOTHING : COUNTS)
  for (const name in fields) if (!ONCE.has(name) && ONCE.has(folded(name))) throw misspelled(name)
  if (mayRepeat({ bytes, json: fields })) refuseRepeated(bytes)
}

function checkTypes(json: Fields, counts: typeof COUNTS): void {
  const { stream, stream_options } = json
  if (!isSwitch(stream)) throw wrong('stream', 'be true or false')
  if (stream_options !== undefined && stream_options !== null) {
    if (typeof stream_options !== 'object' || Array.isArray(stream_options))
      throw wrong('stream_options', 'be an object')
    if (!isSwitch((stream_options as Fields).include_usage))
      throw wrong('stream_options.include_usage', 'be true or false')
  }
  for (const name of COUNT_NAMES) {
    const value = json[name]
    if (value === undefined || value === null) continue
    const { least, most } = counts[name] as { least: number; most: number }
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
      throw wrong(name, `be a whole number from ${least} ${most === WHOLE.most ? 'up' : `to ${most}`}`)
  }
}

const isSwitch = (value: unknown) => value === undefined || value === null || typeof value === 'boolean'

const PLAIN = /^[a-z0-9_.-]*$/
const LONGEST = Math.max(...[...ONCE].map((name) => name.length))

/** Some parsers find a field whatever its case. Both ways: of ſ and the Kelvin sign only one leads to a letter. */
const folded = (name: string) => (name.length > LONGEST || PLAIN.test(name) ? '' : name.toUpperCase().toLowerCase())

const CLOSE_FROM_BYTES = 32 * 1024 // such a body is mostly long texts, over which a close look leaps

/**
 * Whether a close look is worth its while. Quotes within a text are escaped, so a quoted name is a key or a whole text:
 * where there are more of them than there are such fields, one may be there twice. One pass over all costs less than a
 * search for each.
 */
function mayRepeat({ bytes, json }: ParsedObject): boolean {
  if (bytes.length > CLOSE_FROM_BYTES || hidesLetters(bytes)) return true
  let once = (json.stream_options as Fields | null | undefined)?.include_usage === undefined ? 0 : 1
  for (const name of ONCE) if (json[name] !== undefined) once++
  const text = bytes.toString('latin1')
  for (QUOTED.lastIndex = 0; QUOTED.test(text); ) if (--once < 0) return true
  return false
}

const QUOTED = new RegExp(`"(?:${[...ONCE, 'include_usage'].join('|')})"`, 'g')

const ESCAPE = Buffer.from('\\u00')
const ESCAPES_MAX = 16 // then the close look costs no more
const [FIVE, SEVEN] = [0x35, 0x37]

/** Whether a letter of a name may be written as its code: \u005f is the underscore, \u0061 to \u007a are a to z. */
function hidesLetters(bytes: Buffer): boolean {
  let at = bytes.indexOf(ESCAPE)
  for (let seen = 0; at >= 0; at = bytes.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digit = bytes[at + ESCAPE.length] as number
    if ((digit >= FIVE && digit <= SEVEN) || ++seen > ESCAPES_MAX) return true
  }
  return false
}

function refuseRepeated(bytes: Buffer): void {
  const seen = new Set<string>()
  for (const { name, start, end } of valuesOf(bytes, ONCE)) {
    if (seen.has(name)) throw repeated(name)
    seen.add(name)
    if (name === 'stream_options') refuseRepeatedUsage(bytes.subarray(start, end))
  }
}

function refuseRepeatedUsage(stream_options: Buffer): void {
  const values = valuesOf(stream_options, USAGE_ONLY)
  if (!values.next().done && !values.next().done) throw repeated('stream_options.include_usage')
}

const USAGE_ONLY: ReadonlySet<string> = new Set(['include_usage'])

const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
const repeated = (field: string) => new Refusal('invalid_request', `'${field}' is given more than once.`)
const misspelled = (name: string) => new Refusal('invalid_request', `'${name}' must be spelled '${folded(name)}'.`)
