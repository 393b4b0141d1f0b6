// R82: how long a stream may be silent towards its client. Whoever stands between the two takes silence for death: so
// headers leave before the first token where that takes long, and comments follow until it is there.

import type { Timers } from '../capacity/waiting-room.ts'
import { SECOND_MS } from '../core/clock.ts'

export interface Patience {
  /** From the upstream's first byte of any kind to the headers, where no content comes. */
  headers_after_ms: number
  /** From the upstream's 200 to the headers, where nothing comes at all. */
  headers_latest_ms: number
  /** Then a comment whenever nothing was sent for so long, until content comes. */
  comment_every_ms: number
}

export const USUAL_PATIENCE: Patience = {
  headers_after_ms: SECOND_MS, // R82
  headers_latest_ms: 15 * SECOND_MS, // R82
  comment_every_ms: 10 * SECOND_MS, // R82
}

/** Clients skip it, as the rules of event streams have it. */
export const COMMENT = Buffer.from(': waiting for the first token\n\n')
/** R81: clients of Messages give up after five minutes without an event. */
export const PING = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

export type Write = (part: Buffer) => void | Promise<void>

/** Calls `open` when the headers must leave without content; whoever has opened for another reason ends it. */
export class HeadersWait {
  readonly #patience: Patience
  readonly #timers: Timers
  readonly #open: () => void
  #callOff: (() => void)[]
  #has_heard = false
  is_over = false

  constructor(patience: Patience, timers: Timers, open: () => void) {
    this.#patience = patience
    this.#timers = timers
    this.#open = open
    this.#callOff = [timers.after(patience.headers_latest_ms, () => this.#ring())]
  }

  /** The upstream has sent something. */
  heard(): void {
    if (this.#has_heard || this.is_over) return
    this.#has_heard = true
    this.#callOff.push(this.#timers.after(this.#patience.headers_after_ms, () => this.#ring()))
  }

  end(): void {
    this.is_over = true
    for (const callOff of this.#callOff.splice(0)) callOff()
  }

  #ring(): void {
    this.end()
    this.#open()
  }
}

export interface Signing {
  to: Write
  /** What is sent in silence. */
  sign: Buffer
}

/** Hands on what the upstream says, and a comment in its place whenever it was silent for too long. */
export class LifeSigns {
  #fail: (error: unknown) => void = () => {}
  /** Rejects where one could not be sent: no more are, and nobody else hears of it. */
  readonly unsent = new Promise<never>((_resolve, reject) => {
    this.#fail = reject
  })
  readonly #patience: Patience
  readonly #timers: Timers
  readonly #to: Write
  readonly #sign: Buffer
  #callOff: (() => void) | undefined
  /** The client has not taken the last part yet. */
  #is_busy = false
  /** Content has come, and silence is still ours to fill. Then parts come by the hundred, and set no alarm each. */
  #is_easy = false
  #has_spoken = false

  constructor(patience: Patience, timers: Timers, { to, sign }: Signing) {
    this.#patience = patience
    this.#timers = timers
    this.#to = to
    this.#sign = sign
    this.#setAlarm()
  }

  write(part: Buffer): void | Promise<void> {
    if (!this.#callOff) return this.#to(part)
    this.#has_spoken = true
    if (!this.#is_easy) {
      this.#callOff()
      this.#setAlarm()
    }
    return this.#hand(part)
  }

  /** Signs go on, and may come up to twice as late. */
  easeOff(): void {
    this.#is_easy = true
  }

  /** There is content, or nothing more comes: silence is no longer ours to fill. */
  end(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #setAlarm(): void {
    this.#callOff = this.#timers.after(this.#patience.comment_every_ms, () => {
      this.#setAlarm()
      const is_silent = !(this.#is_easy && this.#has_spoken)
      this.#has_spoken = false
      if (is_silent && !this.#is_busy) void this.#giveSign()
    })
  }

  /** Nobody waits for it: what goes wrong here would end the process. */
  async #giveSign(): Promise<void> {
    try {
      await this.#hand(this.#sign)
    } catch (error) {
      this.end()
      this.#fail(error)
    }
  }

  #hand(part: Buffer): void | Promise<void> {
    const taken = this.#to(part)
    if (!taken) return undefined
    this.#is_busy = true
    return taken.finally(() => {
      this.#is_busy = false
    })
  }
}
