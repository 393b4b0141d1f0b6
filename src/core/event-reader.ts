// Server-sent events out of bytes that may be cut anywhere, in the middle of a character too. Whoever reads what an
// upstream streams reads it here; what only passes through goes on as bytes (answers/sse-frames.ts).
import { BeyondBudget, BUDGETS } from './foreign.ts'
import { GatheredParts } from './gathered-parts.ts'

const LF = 10
const CR = 13

export class EndlessEvent extends BeyondBudget {}

export interface ServerSentEvent {
  event: string
  data: string
}

export class EventReader {
  readonly #held = new GatheredParts() // a line whose end has not come yet
  #event = ''
  #data: string[] = []
  #data_bytes = 0
  #skips_line_feed = false
  readonly #event_bytes: number

  /** Of an upstream's, unless told otherwise. */
  constructor(event_bytes: number = BUDGETS.event.bytes) {
    this.#event_bytes = event_bytes
  }

  /** The events that are complete with these bytes. Throws EndlessEvent where one has no end. */
  read(bytes: Buffer): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    let start = this.#skips_line_feed && bytes[0] === LF ? 1 : 0 // the second half of a line end
    if (bytes.length > 0) this.#skips_line_feed = false
    let lf = bytes.indexOf(LF, start)
    let cr = bytes.indexOf(CR, start)
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr
      this.#line(this.#take(bytes.subarray(start, end)), events)
      start = end + 1
      if (end === cr) {
        if (bytes[start] === LF) start++
        else this.#skips_line_feed = start === bytes.length
        cr = bytes.indexOf(CR, start)
      }
      if (lf < start) lf = bytes.indexOf(LF, start)
    }
    if (start < bytes.length) this.#hold(bytes.subarray(start))
    return events
  }

  /** What came last, where the stream ended without a blank line behind it. */
  end(): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    if (this.#held.bytes > 0) this.#line(this.#take(Buffer.alloc(0)), events)
    this.#line('', events)
    return events
  }

  #hold(bytes: Buffer): void {
    this.#held.add(bytes)
    this.#bound(this.#held.bytes)
  }

  /** Without it, an upstream could fill our memory. */
  #bound(more_bytes: number): void {
    if (this.#data_bytes + more_bytes > this.#event_bytes) throw new EndlessEvent('an event without end')
  }

  #take(bytes: Buffer): string {
    if (this.#held.bytes === 0) return bytes.toString('utf8')
    return Buffer.concat([...this.#held.take(), bytes]).toString('utf8')
  }

  #line(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join('\n') })
      this.#event = ''
      this.#data = []
      this.#data_bytes = 0
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'event') this.#event = value
    if (field !== 'data') return
    this.#bound(line.length)
    this.#data_bytes += line.length + 1 // with its name: many short lines are no less
    this.#data.push(value)
  }
}
