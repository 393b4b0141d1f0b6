// A stream on its way through (R26, R41, R47): whole events go on as the bytes they came as, and what we must know of
// them is picked up in passing: the first content, the usage, the end, an error. This runs for every part of every
// stream, so an ordinary chunk is searched, never parsed, and not copied where its part holds whole events.
import { BUDGETS } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { type TextKind, UpstreamError } from '../providers/provider.ts'
import { eventWatch } from './event-watch.ts'
import { COMMENT, PING } from './stream-patience.ts'

export interface FrameOptions {
  kind: TextKind
  /** Takes out the chunk that has usage and no choices: we asked the upstream for it, the client did not. */
  drop_usage: boolean
}

export interface SseFrames {
  /** Takes what arrived and returns what may go on: everything up to the end of the last whole event. */
  push(part: Buffer): Buffer | undefined
  /** After a clean end of the upstream: what came without a blank line behind it. */
  end(): Buffer | undefined
  /** Something other than comments and empty lines has come. */
  hasData(): boolean
  /** Something that a client would see or hear has come. */
  hasContent(): boolean
  /** The upstream has said its last word: `[DONE]`, or the last event of a response. */
  isDone(): boolean
  /** The same, once nothing more comes: some leave out the blank line behind it. */
  isComplete(): boolean
  /** The upstream sent an error event; it goes on to the client like any other. */
  failed(): boolean
  /** What that event said. */
  error(): unknown
  /** As the upstream last reported it; undefined where it did not. */
  usage(): unknown
  /** Generated so far, in quarters of a token, to charge by where the usage never comes. */
  quarterTokens(): number
  /** What was told of the output is the last word. */
  isUsageFinal(): boolean
  /** What a client of this protocol takes for a sign of life. */
  sign: Buffer
  /** It is to come in any silence, and not only before the first content. */
  keeps_signing: boolean
}

const LAST_WORD = /^data: ?\[DONE\]\s*$|^event: ?message_stop\r?\ndata: ?\{.*\}\s*$/

const { bytes: EVENT_MAX_BYTES } = BUDGETS.event
const LF = 0x0a
const CR = 0x0d

export function sseFrames({ kind, drop_usage }: FrameOptions): SseFrames {
  const watch = eventWatch(kind)
  const rest = new GatheredParts() // an event whose end has not come yet
  let tail = '' // its last two characters: a blank line may be cut in two

  function push(part: Buffer): Buffer | undefined {
    const text = part.toString('latin1')
    if (rest.bytes === 0) return watch.isLikeTheLast(text) ? part : forward(part, text)
    if (eventEnd(tail + text, 0) === -1) return keep(part, text)
    rest.add(part)
    const whole = takeRest()
    const all = whole.toString('latin1')
    if (whole.length > EVENT_MAX_BYTES && eventEnd(all, 0) > EVENT_MAX_BYTES) throw new UpstreamError('too_large')
    return forward(whole, all)
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
    rest.add(part)
    tail = (tail + text).slice(-2)
    if (rest.bytes > EVENT_MAX_BYTES) throw new UpstreamError('too_large')
  }

  function takeRest(): Buffer {
    tail = ''
    return Buffer.concat(rest.take())
  }

  return {
    push,
    end() {
      if (rest.bytes === 0) return undefined
      const bytes = takeRest()
      watch.begin(bytes, bytes.toString('latin1'))
      const isUsageAlone = watch.event(0, bytes.length)
      return isUsageAlone && drop_usage ? undefined : bytes
    },
    hasData: () => watch.told.data,
    hasContent: () => watch.generated.content,
    isDone: () => watch.told.done,
    isComplete: () => watch.told.done || LAST_WORD.test(rest.bytes > 64 ? '' : String(Buffer.concat(rest.parts()))),
    failed: () => watch.told.error !== undefined,
    error: () => watch.told.error,
    usage: () => watch.told.usage,
    quarterTokens: () => watch.generated.quarter_tokens,
    isUsageFinal: () => watch.told.usage_final,
    sign: kind === 'messages' ? PING : COMMENT,
    keeps_signing: kind === 'messages',
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
