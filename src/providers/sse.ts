// Server-sent events out of bytes that may be cut anywhere, in the middle of a character too.
import { BUDGETS } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { UpstreamError } from './provider.ts'

const LF = 10
const CR = 13

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

  /** The events that are complete with these bytes. */
  read(bytes: Buffer): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    let start = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte !== LF && byte !== CR) {
        this.#skips_line_feed = false
        continue
      }
      if (byte === LF && this.#skips_line_feed) {
        this.#skips_line_feed = false // the second half of a line end whose first half is done with
        start = at + 1
        continue
      }
      this.#line(this.#take(bytes.subarray(start, at)), events)
      this.#skips_line_feed = byte === CR
      start = at + 1
    }
    if (start < bytes.length) this.#hold(bytes.subarray(start))
    return events
  }

  #hold(bytes: Buffer): void {
    this.#held.add(bytes)
    this.#bound(this.#held.bytes)
  }

  /** Without it, an upstream could fill our memory. */
  #bound(more_bytes: number): void {
    if (this.#data_bytes + more_bytes > BUDGETS.event.bytes)
      throw new UpstreamError('too_large', new Error('an event without end'))
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
    if (field === 'data') this.#keep(value)
    if (field === 'event') this.#event = value
  }

  #keep(value: string): void {
    this.#bound(value.length)
    this.#data_bytes += value.length + 1
    this.#data.push(value)
  }
}
