// How a call in flight learns that it should stop: what an AbortSignal is to those who only listen. A generation makes
// one for every call, and Node's own costs more than all that is done with it here.
export interface StopSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class Stop implements StopSignal {
  aborted = false
  reason: unknown
  #listeners: (() => void)[] = []

  /** Only the first call counts. */
  stop(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (const listener of this.#listeners.splice(0)) listener()
  }

  /** Each listener hears of it once, whatever it asks for: there is nothing to hear twice. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener)
    if (at !== -1) this.#listeners.splice(at, 1)
  }
}
