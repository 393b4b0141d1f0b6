// Server-sent events out of bytes that may be cut anywhere, in the middle of a character too.
const LF = 10
const CR = 13

export interface ServerSentEvent {
  event: string
  data: string
}

const LINE_MAX_BYTES = 16 * 1024 * 1024

export class EventReader {
  #held: Buffer[] = []
  #held_bytes = 0
  #event = ''
  #data: string[] = []
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
    this.#held.push(bytes)
    this.#held_bytes += bytes.length
    if (this.#held_bytes > LINE_MAX_BYTES) throw new Error('a line without end in an event stream')
  }

  #take(bytes: Buffer): string {
    if (this.#held.length === 0) return bytes.toString('utf8')
    const line = Buffer.concat([...this.#held, bytes]).toString('utf8')
    this.#held = []
    this.#held_bytes = 0
    return line
  }

  #line(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join('\n') })
      this.#event = ''
      this.#data = []
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'data') this.#data.push(value)
    if (field === 'event') this.#event = value
  }
}
