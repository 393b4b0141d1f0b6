// What the events of a stream tell, found by searching their bytes: only those that tell more than content are parsed.
// Every text here has one character for each byte, so that a place in one is a place in the other.
import { AT_ONCE_BYTES } from '../core/foreign.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { type MessageUsage, mergeUsage } from '../messages/message-usage.ts'
import type { TextKind } from '../providers/provider.ts'
import { addGenerated, addWithin, nothingGenerated, valueAfter } from './generated-text.ts'
import { readLargeEvent } from './large-event.ts'

const SPACE = 0x20
const OPEN_BRACKET = 0x5b
const LETTER_N = 0x6e

/** Keys by what they end in: see valueAfter. */
const USAGE = 'usage"'
const ERROR = 'rror"'
const CONTENT = {
  chat: 'delta"',
  responses: 'delta"',
  completions: 'text"',
  embeddings: 'delta"',
  messages: 'delta"',
} as const
const DONE = '[DONE]'
const NOWHERE = 2 ** 30 - 2 // beyond every event; V8 keeps it as a small integer, and the one behind it too

type Fields = Record<string, unknown>

interface Told {
  /** Some event had data: comments and empty lines have none. */
  data: boolean
  done: boolean
  usage: unknown
  /** What was told of the output is the last word. */
  usage_final: boolean
  error: unknown
}

/** Looks at the events of one stream, in order, and remembers what they tell. */
export function eventWatch(kind: TextKind) {
  const key = CONTENT[kind]
  const generated = nothingGenerated()
  const told: Told = { data: false, done: false, usage: undefined, usage_final: false, error: undefined }
  let bytes: Buffer = Buffer.alloc(0)
  let text = ''
  // Where each of these stands next. Searched for once over a whole part, not once an event.
  let content = NOWHERE
  let usage = NOWHERE
  let error = NOWHERE
  let data_line = NOWHERE // asked for only where an event begins with something else
  // What stands around the content of a chunk that had nothing else to tell.
  let head = ''
  let foot = ''

  const search = (what: string, from: number) => {
    const at = text.indexOf(what, from)
    return at === -1 ? NOWHERE : at
  }

  /** How many deltas the event has: one for each choice. One within another is part of it, and not looked at again. */
  function count(start: number, end: number): number {
    let counted = 0
    generated.strings = 0
    if (content < start) content = search(key, start) // what a comment said is no content
    while (content < end) {
      const value = valueAfter(text, content, key)
      if (value !== -1) counted++
      const after = value === -1 ? content + key.length : addGenerated(text, value, end, generated)
      content = search(key, after)
    }
    return counted
  }

  /** Whether the event has usage, or an error, that is not just null. */
  function saysMore(end: number): boolean {
    let found = false
    for (; usage < end; usage = search(USAGE, usage + USAGE.length)) found ||= !isNull(valueAfter(text, usage, USAGE))
    for (; error < end; error = search(ERROR, error + ERROR.length)) found ||= !isNull(valueAfter(text, error, ERROR))
    return found
  }

  /** Where the event's data begins; -1 where it has none, as a comment has not. */
  function dataIn(start: number, end: number): number {
    let at = start
    if (!text.startsWith('data:', start)) {
      if (data_line <= start) data_line = search('\ndata:', start) + 1
      if (data_line >= end) return -1
      at = data_line
    }
    at += 'data:'.length
    return text.charCodeAt(at) === SPACE ? at + 1 : at
  }

  const isNull = (at: number) => at !== -1 && text.charCodeAt(at) === LETTER_N

  return {
    generated,
    told,

    /** Most chunks differ from the last in their content only. Then that is counted, and nothing need be searched. */
    isLikeTheLast(part: string): boolean {
      const to = part.length - foot.length
      if (foot === '' || to < head.length || part.slice(0, head.length) !== head || part.slice(to) !== foot)
        return false
      return addWithin(part, head.length, to, generated)
    },

    /** What the next events are in. */
    begin(all: Buffer, same: string): void {
      bytes = all
      text = same
      content = search(key, 0)
      usage = search(USAGE, 0)
      error = search(ERROR, 0)
      data_line = -1
    },

    /** Takes one event; true for a chunk that is there only to tell the usage. */
    event(start: number, end: number): boolean {
      const data = dataIn(start, end)
      if (data === -1) return false
      told.data = true
      if (text.charCodeAt(data) === OPEN_BRACKET) {
        told.done ||= text.startsWith(DONE, data)
        return false
      }
      const counted = count(start, end)
      const tells = saysMore(end) || text.startsWith('event: error', start)
      if (kind === 'responses') {
        if (tells || counted === 0)
          generated.content = learnOfResponse(parsed(bytes, start, end), told) || generated.content
        return false
      }
      if (kind === 'messages' && (tells || counted === 0)) {
        generated.content = learnOfMessage(parsed(bytes, start, end), told) || generated.content
        return false
      }
      if (tells) return learn(parsed(bytes, start, end), told)
      if (generated.strings === 1 && start === 0 && end === text.length) {
        head = text.slice(0, generated.from)
        foot = text.slice(generated.to)
      }
      return false
    },
  }
}

/** True for a chunk that has usage and nothing else. */
function learn({ error, object, usage, choices, ...more }: Fields, told: Told): boolean {
  if (error) told.error = error
  else if (object === 'error') told.error = { object, ...more }
  if (typeof usage !== 'object' || usage === null) return false
  told.usage = usage
  return Array.isArray(choices) && choices.length === 0
}

/** True where a call to a tool begins, which is content before it has arguments. */
function learnOfResponse({ type, response, item, ...more }: Fields, told: Told): boolean {
  const { usage, error } = (response ?? {}) as Fields
  if (usage) told.usage = usage
  if (type === 'response.completed' || type === 'response.incomplete') told.done = true
  else if (type === 'response.failed') told.error = error ?? more
  else if (type === 'error' || more.error) told.error = more.error ?? more
  const kind = (item as Fields | undefined)?.type
  return type === 'response.output_item.added' && typeof kind === 'string' && kind.endsWith('_call')
}

/** R81: true where a block begins: thinking may show no text for minutes, and is an answer all the same. */
function learnOfMessage({ type, message, usage, error, ...more }: Fields, told: Told): boolean {
  const begun = (message as Fields | undefined)?.usage
  if (begun) told.usage = mergeUsage((told.usage ?? {}) as MessageUsage, begun)
  if (usage) {
    told.usage = mergeUsage((told.usage ?? {}) as MessageUsage, usage)
    told.usage_final ||= type === 'message_delta'
  }
  if (type === 'message_stop') told.done = true
  else if (type === 'error' || error) told.error = error ?? more
  return type === 'content_block_start'
}

/** The slow way. What is no JSON tells nothing: it is the client's to judge, as it came. */
function parsed(bytes: Buffer, start: number, end: number): Fields {
  const lines = bytes.toString('utf8', start, end).split(/\r?\n/)
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length))
  if (end - start > AT_ONCE_BYTES) return readLargeEvent(Buffer.from(data.join('\n')))
  const value: unknown = jsonOrNone(data.join('\n'))
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
