// A stream on its way through (R26, R41, R47): whole events go on as the bytes they came as, and what we must know of
// them is picked up in passing: the first content, the usage, the end, an error. This runs for every part of every
// stream, so an ordinary chunk is searched, never parsed, and not copied where its part holds whole events.
import { type CallKind, UpstreamError } from '../providers/provider.ts'
import { addGenerated, addWithin, nothingGenerated, valueAfter } from './generated-text.ts'

export interface FrameOptions {
  kind: CallKind
  /** Takes out the chunk that has usage and no choices: we asked the upstream for it, the client did not. */
  drop_usage: boolean
}

export interface SseFrames {
  /** Takes what arrived and returns what may go on: everything up to the end of the last whole event. */
  push(part: Buffer): Buffer | undefined
  /** After a clean end of the upstream: what came without a blank line behind it. */
  end(): Buffer | undefined
  /** Something that a client would see has come. */
  hasContent(): boolean
  /** The upstream said that it was finished: `[DONE]`, or the last event of a response. */
  isComplete(): boolean
  /** The upstream sent an error event; it goes on to the client like any other. */
  failed(): boolean
  /** What that event said. */
  error(): unknown
  /** As the upstream last reported it; undefined where it did not. */
  usage(): unknown
  /** Characters generated so far, to charge by where the usage never comes. */
  characters(): number
}

/** The longest event: an image in a chunk has megabytes; without a bound, an upstream could fill our memory. */
export const EVENT_MAX_BYTES = 16 * 1024 * 1024

const [LF, CR, SPACE, OPEN_BRACKET, LETTER_N] = [0x0a, 0x0d, 0x20, 0x5b, 0x6e]
const [DONE, USAGE, ERROR] = ['[DONE]', 'usage"', 'rror"']

export function sseFrames({ kind, drop_usage }: FrameOptions): SseFrames {
  const watch = watcher(kind)
  let rest: Buffer[] = [] // an event whose end has not come yet, in the parts in which it came
  let rest_bytes = 0
  let tail = '' // its last two characters: a blank line may be cut in two

  function push(part: Buffer): Buffer | undefined {
    const text = part.toString('latin1')
    if (rest_bytes === 0) return watch.isLikeTheLast(text) ? part : forward(part, text)
    if (eventEnd(tail + text, 0) === -1) return keep(part, text)
    const whole = Buffer.concat([...rest, part], rest_bytes + part.length)
    forget()
    return forward(whole, whole.toString('latin1'))
  }

  /** `text` is `bytes` with one character a byte, so that a place in one is a place in the other. */
  function forward(bytes: Buffer, text: string): Buffer | undefined {
    let start = 0
    let kept: Buffer[] | undefined // where something is taken out
    let kept_to = 0
    watch.begin(bytes, text)
    for (let end = eventEnd(text, 0); end !== -1; end = eventEnd(text, start)) {
      const isUsageAlone = watch.event(start, end)
      if (isUsageAlone && drop_usage) {
        kept ??= []
        if (kept_to < start) kept.push(bytes.subarray(kept_to, start))
        kept_to = end
      }
      start = end
    }
    if (start < bytes.length) keep(bytes.subarray(start), text.slice(start))
    if (kept) return join(kept, bytes.subarray(kept_to, start))
    if (start === 0) return undefined
    return start === bytes.length ? bytes : bytes.subarray(0, start)
  }

  function keep(part: Buffer, text: string): undefined {
    rest.push(part)
    rest_bytes += part.length
    tail = (tail + text).slice(-2)
    if (rest_bytes > EVENT_MAX_BYTES) throw new UpstreamError('too_large')
  }

  function forget(): void {
    rest = []
    rest_bytes = 0
    tail = ''
  }

  return {
    push,
    end() {
      if (rest_bytes === 0) return undefined
      const bytes = Buffer.concat(rest, rest_bytes)
      forget()
      watch.begin(bytes, bytes.toString('latin1'))
      const isUsageAlone = watch.event(0, bytes.length)
      return isUsageAlone && drop_usage ? undefined : bytes
    },
    hasContent: () => watch.sum.content,
    // Some upstreams leave out the blank line behind their last word.
    isComplete: () =>
      watch.seen.done || /^data: ?\[DONE\]\s*$/.test(rest_bytes > 32 ? '' : String(Buffer.concat(rest))),
    failed: () => watch.seen.error !== undefined,
    error: () => watch.seen.error,
    usage: () => watch.seen.usage,
    characters: () => watch.sum.characters,
  }
}

/** Where the event that begins at `from` ends, its blank line included; -1 where it has not ended. */
function eventEnd(text: string, from: number): number {
  for (let lf = text.indexOf('\n', from); lf !== -1; lf = text.indexOf('\n', lf + 1)) {
    const next = text.charCodeAt(lf + 1)
    if (next === LF) return lf + 2
    if (next === CR && text.charCodeAt(lf + 2) === LF) return lf + 3
  }
  return -1
}

function join(kept: Buffer[], last: Buffer): Buffer | undefined {
  if (last.length > 0) kept.push(last)
  return kept.length > 1 ? Buffer.concat(kept) : kept[0]
}

const NOWHERE = 2 ** 30 - 1 // beyond every event, and still what V8 keeps as a small integer
const NEEDLES = { chat: 'delta"', responses: 'delta"', completions: 'text"', embeddings: 'delta"' } as const

/** Looks at events in order and remembers what they tell. */
function watcher(kind: CallKind) {
  const needle = NEEDLES[kind]
  const sum = nothingGenerated()
  const seen = { done: false, usage: undefined as unknown, error: undefined as unknown }
  let bytes: Buffer = Buffer.alloc(0)
  let text = ''
  // Where each of these stands next. Searched for once over a whole part, not once an event.
  let generated = NOWHERE
  let usage = NOWHERE
  let error = NOWHERE
  // What stands around the content of a chunk that had nothing else to tell.
  let head = ''
  let foot = ''

  const search = (what: string, from: number) => {
    const at = text.indexOf(what, from)
    return at === -1 ? NOWHERE : at
  }

  function begin(all: Buffer, same: string): void {
    bytes = all
    text = same
    generated = search(needle, 0)
    usage = search(USAGE, 0)
    error = search(ERROR, 0)
  }

  /** Most chunks differ from the last in their content only. Then there is nothing to search for. */
  function isLikeTheLast(part: string): boolean {
    const to = part.length - foot.length
    if (foot === '' || to < head.length || part.slice(0, head.length) !== head || part.slice(to) !== foot) return false
    return addWithin(part, head.length, to, sum)
  }

  /** True for a chunk that is there only to tell the usage. */
  function event(start: number, end: number): boolean {
    const data = dataIn(text, start, end)
    if (data === -1) return false
    if (text.charCodeAt(data) === OPEN_BRACKET) {
      if (text.startsWith(DONE, data)) seen.done = true
      return false
    }
    const counted = count(end)
    const tells = saysMore(end) || text.startsWith('event: error', start)
    if (tells || (kind === 'responses' && counted === 0)) return learn(parsed(bytes, start, end))
    if (sum.strings === 1 && start === 0 && end === text.length) {
      head = text.slice(0, sum.from)
      foot = text.slice(sum.to)
    }
    return false
  }

  /** How many deltas the event has: one for each choice. */
  function count(end: number): number {
    let counted = 0
    sum.strings = 0
    for (; generated < end; generated = search(needle, generated + needle.length)) {
      const value = valueAfter(text, generated, needle)
      if (value === -1) continue
      addGenerated(text, value, end, sum)
      counted++
    }
    return counted
  }

  /** Whether this event has usage, or an error, that is not just null. */
  function saysMore(end: number): boolean {
    let found = false
    for (; usage < end; usage = search(USAGE, usage + USAGE.length)) found ||= !isNull(valueAfter(text, usage, USAGE))
    for (; error < end; error = search(ERROR, error + ERROR.length)) found ||= !isNull(valueAfter(text, error, ERROR))
    return found
  }

  const isNull = (at: number) => at !== -1 && text.charCodeAt(at) === LETTER_N

  function learn(chunk: Record<string, unknown> | undefined): boolean {
    if (!chunk) return false
    if (kind === 'responses') return learnOfResponse(chunk)
    if (chunk.error) seen.error = chunk.error
    else if (chunk.object === 'error') seen.error = chunk
    if (typeof chunk.usage !== 'object' || chunk.usage === null) return false
    seen.usage = chunk.usage
    return Array.isArray(chunk.choices) && chunk.choices.length === 0
  }

  function learnOfResponse({ type, response, item, ...chunk }: Record<string, unknown>): boolean {
    const { usage: reported, error: reason } = (response ?? {}) as Record<string, unknown>
    if (reported) seen.usage = reported
    if (type === 'response.completed' || type === 'response.incomplete') seen.done = true
    else if (type === 'response.failed') seen.error = reason ?? chunk
    else if (type === 'error' || chunk.error) seen.error = chunk.error ?? chunk
    else if (type === 'response.output_item.added')
      sum.content ||= String((item as { type?: unknown } | undefined)?.type).endsWith('_call')
    return false
  }

  return { sum, seen, begin, isLikeTheLast, event }
}

/** Where the event's data begins; -1 where it has none, as a comment has not. */
function dataIn(text: string, start: number, end: number): number {
  let at = start
  if (!text.startsWith('data:', start)) {
    at = text.indexOf('\ndata:', start) + 1
    if (at === 0 || at >= end) return -1
  }
  at += 'data:'.length
  return text.charCodeAt(at) === SPACE ? at + 1 : at
}

/** The slow way, for the few events that tell more than content. */
function parsed(bytes: Buffer, start: number, end: number): Record<string, unknown> | undefined {
  const lines = bytes.toString('utf8', start, end).split(/\r?\n/)
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length))
  try {
    const value: unknown = JSON.parse(data.join('\n'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // what is no JSON is the client's to judge, as it came
  }
}
