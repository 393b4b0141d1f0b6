// Hands an answer's parts to whoever takes them: in order, one at a time, and holding the wire back while the taker is
// busy, so that a slow client costs the memory of one read and no more.
type Take = (part: Buffer) => void | Promise<void>

/** What the handing over may do to the wire. */
export interface Flow {
  pause(): void
  resume(): void
  /** The taker has failed, so nothing more is wanted. */
  stop(): void
  /** Everything is handed over, or never will be. */
  done(): void
}

const EARLY_MAX_BYTES = 64 * 1024 // what may lie here before anybody asks for it

export class Handover {
  readonly #flow: Flow
  #queue: Buffer[] = []
  #queued_bytes = 0
  #take: Take | undefined
  #is_busy = false
  #outcome: { error?: unknown } | undefined
  #settled: { resolve(): void; reject(reason: unknown): void } | undefined

  /** The wire is held back. */
  is_paused = false

  constructor(flow: Flow) {
    this.#flow = flow
  }

  each(take: Take): Promise<void> {
    if (this.#take) throw new Error('the parts of an answer can be taken once')
    return new Promise((resolve, reject) => {
      this.#take = take
      this.#settled = { resolve, reject }
      this.#drain()
    })
  }

  push(part: Buffer): void {
    if (this.#outcome) return
    if (this.#take && !this.#is_busy) this.#hand(part)
    else this.#keep(part)
  }

  #keep(part: Buffer): void {
    this.#queue.push(part)
    this.#queued_bytes += part.length
    if (this.#queued_bytes > EARLY_MAX_BYTES) this.#pause()
  }

  end(): void {
    this.#outcome ??= {}
    this.#drain()
  }

  /** The wire broke. What had arrived before is still handed over. */
  fail(error: unknown): void {
    this.#outcome ??= { error }
    this.#drain()
  }

  /** Nobody wants the rest: it does not even wait for the taker, who may be stuck on a client that is gone. */
  abandon(error: unknown): void {
    this.#queue = []
    this.#is_busy = false
    this.#outcome = { error }
    this.#drain()
  }

  #hand(part: Buffer): void {
    try {
      const waiting = this.#take?.(part)
      if (!waiting) return
      this.#is_busy = true
      this.#pause()
      waiting.then(
        () => {
          this.#is_busy = false
          this.#drain()
        },
        (error) => this.#refuse(error),
      )
    } catch (error) {
      this.#refuse(error)
    }
  }

  #drain(): void {
    if (!this.#take) return
    while (!this.#is_busy && this.#queue.length > 0) {
      const part = this.#queue.shift() as Buffer
      this.#queued_bytes -= part.length
      this.#hand(part)
    }
    if (this.#is_busy) return
    if (this.#outcome) this.#settle()
    else this.#resume()
  }

  #refuse(error: unknown): void {
    this.abandon(error)
    this.#flow.stop()
  }

  #settle(): void {
    const settled = this.#settled
    if (!settled || !this.#outcome) return
    this.#settled = undefined
    if ('error' in this.#outcome) settled.reject(this.#outcome.error)
    else settled.resolve()
    this.#flow.done()
  }

  #pause(): void {
    if (this.is_paused) return
    this.is_paused = true
    this.#flow.pause()
  }

  #resume(): void {
    if (!this.is_paused) return
    this.is_paused = false
    this.#flow.resume()
  }
}
