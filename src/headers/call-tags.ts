// What a call is filed under: `Agent-Tags: team=search, run=42`, and the fields of the body in which clients name whom
// they ask for. Names and values are bounded here; who sends none pays for none.
import { Refusal } from '../core/refusal.ts'

export const TAGS_MAX = 8
const NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/
const VALUE_MAX = 128
const HEADER_MAX = 2_048

export interface Tag {
  name: string
  value: string
}

export const isTagName = (name: string) => NAME.test(name)

/** As it is stored and asked for. */
export const tagText = ({ name, value }: Tag) => `${name}=${value}`

/** `team=search`, as a parameter or the tag of a budget. */
export function tagIn(field: string, text: string): Tag {
  const at = text.indexOf('=')
  const tag = { name: text.slice(0, Math.max(0, at)).trim().toLowerCase(), value: text.slice(at + 1).trim() }
  if (at < 1 || !isTag(tag))
    throw wrong(field, `be tags such as team=search: a name of a-z, 0-9, _, . and -, and up to ${VALUE_MAX} characters`)
  return tag
}

/** A budget hangs on what the header says, so what cannot be read is refused, and not left out. */
function headerTags(header: string | readonly string[]): Tag[] {
  const text = textOf(typeof header === 'string' ? header : header.join(','))
  if (text.length > HEADER_MAX) throw wrong('Agent-Tags', `have at most ${HEADER_MAX} characters`)
  const tags = text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => tagIn('Agent-Tags', part.trim()))
  if (tags.length > TAGS_MAX) throw wrong('Agent-Tags', `have at most ${TAGS_MAX} tags`)
  const names = tags.map(({ name }) => name)
  if (new Set(names).size < names.length) throw wrong('Agent-Tags', 'name each tag once')
  return tags
}

/**
 * Some clients write a header as UTF-8, as curl does, and some as Latin-1, as fetch does; Node gives us each byte as a
 * character. A budget's tag is text in a body, and must be the same tag however the header was written.
 */
function textOf(header: string): string {
  if (!BEYOND_ASCII.test(header)) return header
  const text = Buffer.from(header, 'latin1').toString('utf8')
  return text.includes('\uFFFD') ? header : text // which stands for bytes that are no UTF-8
}

const BEYOND_ASCII = /[\u0080-\uffff]/

type Body = Readonly<Record<string, unknown>>

/**
 * Undefined where there are none. The header goes before the body. What of the body is no tag, or one too many, is left
 * out: these fields are for the upstream first.
 */
export function tagsOf(header: string | string[] | undefined, body: Body): readonly Tag[] | undefined {
  const { user, safety_identifier, metadata } = body
  if (header === undefined && user === undefined && safety_identifier === undefined && metadata === undefined)
    return undefined
  const tags = header === undefined ? [] : headerTags(header)
  addFrom(tags, 'user', user)
  addFrom(tags, 'safety_identifier', safety_identifier)
  if (isRecord(metadata))
    for (const name of Object.keys(metadata).slice(0, TAGS_MAX)) addFrom(tags, name.toLowerCase(), metadata[name])
  return tags.length === 0 ? undefined : tags
}

function addFrom(tags: Tag[], name: string, value: unknown): void {
  if (typeof value !== 'string' || tags.length >= TAGS_MAX || tags.some((tag) => tag.name === name)) return
  const tag = { name, value: value.trim() }
  if (isTag(tag)) tags.push(tag)
}

const isTag = ({ name, value }: Tag) =>
  NAME.test(name) && value !== '' && value.length <= VALUE_MAX && isPrintable(value)

/** A comma parts tags, and nothing that cannot be seen is one. */
const isPrintable = (value: string) => !/[\p{Cc},]/u.test(value) && value.isWellFormed()

const isRecord = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value)

const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
