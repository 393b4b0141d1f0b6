// A stream of images or sound on its way through (R26, R41, R47): bytes, or events that may be megabytes each. All of
// it goes on as it came. Of an event, only its beginning and its end are looked at: they tell what it is and what it
// took.
import { fieldFromEnd, jsonOrNone } from '../core/json-bytes.ts'
import { addedUsage } from '../media/media-usage.ts'
import type { SseFrames } from './sse-frames.ts'
import { COMMENT } from './stream-patience.ts'

const NOTHING = Buffer.alloc(0)

/** Sound as it is. It is over when its connection says so, and one that breaks off says so too. */
export function soundFrames(): SseFrames {
  let has_come = false
  return {
    push(part) {
      has_come ||= part.length > 0
      return part
    },
    end: () => undefined,
    hasData: () => has_come,
    hasContent: () => has_come,
    isDone: () => false,
    isComplete: () => has_come,
    failed: () => false,
    error: () => undefined,
    usage: () => undefined,
    quarterTokens: () => 0,
    isUsageFinal: () => true,
    sign: NOTHING, // whatever is put between its bytes would be heard
    keeps_signing: false,
  }
}

/** The last of each of them; of images, there is one for each. */
const LAST = /^(image_generation\.completed|image_edit\.completed|speech\.audio\.done|transcript\.text\.done)$/

/** Something of an image is there, if only a preview. */
const DRAWN = /^image_(generation|edit)\./

const HEAD_CHARACTERS = 2_048
const TAIL_CHARACTERS = 16 * 1_024

/** `wanted`: how many last events there will be. */
export function mediaEvents(wanted: number): SseFrames {
  const event = new EventEnds()
  let used: unknown
  let ended = 0 // last events
  let has_data = false
  let is_drawn = false
  let is_done = false
  let is_over = false
  let error: unknown

  function look(): void {
    const { data, head, tail, name } = event
    if (data === undefined) return
    has_data = true
    if (data === '[DONE]') {
      is_done = true
      return
    }
    const type = name ?? /"type"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1] ?? ''
    if (type === 'error' || /^\{\s*"error"\s*:/.test(head)) error = jsonOrNone(head) ?? { message: 'an error event' }
    const usage = tail.includes('"usage"') && fieldFromEnd(Buffer.from(tail, 'latin1'), 'usage', TAIL_CHARACTERS)
    if (usage) used = addedUsage(used, usage)
    is_drawn ||= DRAWN.test(type)
    if (LAST.test(type)) ended++
    is_done ||= ended >= wanted
  }

  /** Where a stream is cut, those that were asked for are being drawn side by side, and their previews are there. */
  const images = () => (is_done || is_over || !is_drawn ? ended : wanted)

  return {
    push(part) {
      event.read(part.toString('latin1'), look)
      has_data ||= event.has_begun // it may have megabytes
      return part
    },
    end() {
      is_over = true
      return undefined
    },
    hasData: () => has_data,
    hasContent: () => has_data,
    isDone: () => is_done,
    isComplete: () => is_done || ended > 0,
    failed: () => error !== undefined,
    error: () => error,
    usage: () => ({ usage: used, images: images() }),
    quarterTokens: () => 0,
    isUsageFinal: () => true,
    sign: COMMENT,
    keeps_signing: false,
  }
}

/** The event that is being read, cut to its beginning and its end. */
class EventEnds {
  name: string | undefined = undefined
  head = ''
  tail = ''
  /** All of it where it is short; undefined where there is none. */
  data: string | undefined = undefined
  #line = ''
  #line_tail = ''

  get has_begun(): boolean {
    return this.#line.startsWith('data:')
  }

  read(text: string, look: () => void): void {
    let from = 0
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      this.#add(text.slice(from, at))
      from = at + 1
      this.#endLine(look)
    }
    this.#add(text.slice(from))
  }

  #add(text: string): void {
    if (this.#line.length < HEAD_CHARACTERS) this.#line += text.slice(0, HEAD_CHARACTERS)
    this.#line_tail += text
    if (this.#line_tail.length > 2 * TAIL_CHARACTERS) this.#line_tail = this.#line_tail.slice(-TAIL_CHARACTERS)
  }

  #endLine(look: () => void): void {
    const line = this.#line.replace(/\r$/, '')
    const tail = this.#line_tail.slice(-TAIL_CHARACTERS).replace(/\r$/, '')
    this.#line = ''
    this.#line_tail = ''
    if (line === '') {
      look()
      this.name = undefined
      this.data = undefined
    } else if (line.startsWith('event:')) {
      this.name = line.slice('event:'.length).trim()
    } else if (line.startsWith('data:')) {
      this.head = line.slice('data:'.length).trimStart()
      this.tail = tail
      this.data = this.head
    }
  }
}
