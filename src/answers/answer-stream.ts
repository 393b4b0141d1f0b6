// A stream up to the moment at which its headers leave, and then on to whoever takes it (R47, R82). Until then another
// target may still answer; from then on this one has. It is over when the upstream has said its last word, `[DONE]` or
// the end of a response: what becomes of the wire after that concerns nobody who waits.

import { systemTimers, type Timers } from '../capacity/waiting-room.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { SseFrames } from './sse-frames.ts'
import { HeadersWait, LifeSigns, type Patience, USUAL_PATIENCE, type Write } from './stream-patience.ts'

/**
 * How much may wait for the first content. A response that repeats long instructions before it begins says more; from
 * then on it counts as begun, as if content had come. One that had nothing but comments in it has failed.
 */
export const EARLY_MAX_BYTES = 1024 * 1024

/** How long the wire may take to end after the last word: one that has ended serves the next call. */
const LINGER_MS = 1_000

export interface Opening {
  patience: Patience
  timers: Timers
}

/** One of them is called, once. */
export interface ContentWatch {
  /** The first content is here, or the clean end of an answer without any: at once where it was here before. */
  onContent(): void
  /** The stream broke off before any content. */
  onNothing(error: unknown): void
}

export interface OpenedStream {
  frames: SseFrames
  watch(watch: ContentWatch): void
  /**
   * Hands over all that came and comes but the last word, which it resolves with: who hears that believes that all is
   * done, and must not before it is. Rejects where the upstream breaks off.
   */
  forward(write: Write): Promise<Buffer | undefined>
  /** The upstream's own word of its failure was handed over: the client need not be told once more. */
  hasToldFailure(): boolean
  /** After the last word: whatever is still to come is discarded. */
  leave(): void
  cancel(): void
}

export const USUAL_OPENING: Opening = { patience: USUAL_PATIENCE, timers: systemTimers }

/** Resolves when the headers may leave. Rejects where the upstream fails before that. */
export function openStream(answer: ProviderAnswer, frames: SseFrames, opening = USUAL_OPENING): Promise<OpenedStream> {
  return new AnswerStream(answer, frames, opening).opened()
}

class AnswerStream implements OpenedStream {
  readonly frames: SseFrames
  readonly cancel: () => void
  readonly #opening: Opening
  readonly #early = new GatheredParts()
  readonly #open = signal()
  readonly #over = signal()
  readonly #wait: HeadersWait
  readonly #wire: Promise<void>
  readonly #ended: Promise<void>
  #watch: ContentWatch | undefined
  #life: LifeSigns | undefined
  #write: Write | undefined
  #goOn: (() => void) | undefined
  #last: Buffer | undefined
  #has_content = false
  #has_told = false
  #is_over = false
  #has_wire = true

  constructor(answer: ProviderAnswer, frames: SseFrames, opening: Opening) {
    this.frames = frames
    this.cancel = answer.cancel
    this.#opening = opening
    this.#wait = new HeadersWait(opening.patience, opening.timers, this.#open.give)
    this.#wire = answer
      .each((part) => this.#take(part))
      .then(() => this.#wireEnded())
      .finally(() => {
        this.#has_wire = false
      })
    this.#ended = Promise.race([this.#over.given, this.#wire]).then(() => this.#noteContent())
    this.#ended.catch(() => {}) // whoever forwards hears of it
  }

  async opened(): Promise<OpenedStream> {
    try {
      await Promise.race([this.#open.given, this.#ended])
      return this
    } finally {
      this.#wait.end()
    }
  }

  #take(part: Buffer): void | Promise<void> {
    if (this.#is_over) return undefined
    if (part.length === 0) return this.#wait.heard()
    const { frames } = this
    const whole = frames.push(part)
    if (frames.failed()) return this.#tellAndStop(whole)
    if (!this.#has_content && frames.hasContent()) this.#noteContent()
    if (frames.isDone()) {
      this.#is_over = true
      this.#last = whole
      return this.#over.give()
    }
    if (this.#write) return whole && this.#write(whole)
    if (whole) this.#early.add(whole)
    return this.#mayOpen() ? this.#openAndPause() : this.#wait.heard()
  }

  #mayOpen(): boolean {
    return this.#has_content || this.#wait.is_over || this.#early.bytes > EARLY_MAX_BYTES
  }

  #openAndPause(): Promise<void> {
    if (!this.frames.hasData() && this.#early.bytes > EARLY_MAX_BYTES)
      throw new UpstreamError('too_large', 'nothing but comments')
    this.#open.give()
    return new Promise((resolve) => {
      this.#goOn = resolve // nothing more is read until somebody takes it
    })
  }

  /** What the upstream says of its own failure goes on like all that came before it. */
  async #tellAndStop(whole: Buffer | undefined): Promise<never> {
    if (this.#write && whole) {
      this.#has_told = true
      await this.#write(whole)
    }
    throw new UpstreamError('reset', 'an error event')
  }

  #wireEnded(): void {
    if (this.#is_over) return
    if (!this.frames.isComplete()) throw new UpstreamError('reset', 'the stream ended in the middle')
    this.#last = this.frames.end()
  }

  #noteContent(): void {
    if (this.#has_content) return
    this.#has_content = true
    if (this.frames.keeps_signing) this.#life?.easeOff()
    else this.#life?.end()
    this.#watch?.onContent()
  }

  watch(watch: ContentWatch): void {
    this.#watch = watch
    if (this.#has_content) watch.onContent()
    else this.#ended.catch((error) => this.#has_content || watch.onNothing(error))
  }

  async forward(write: Write): Promise<Buffer | undefined> {
    await this.#handOverEarly(write)
    if (this.#has_content && !this.frames.keeps_signing) this.#write = write
    else {
      const { patience, timers } = this.#opening
      const life = new LifeSigns(patience, timers, { to: write, sign: this.frames.sign })
      if (this.#has_content) life.easeOff()
      this.#life = life
      this.#write = (part) => life.write(part)
    }
    this.#goOn?.()
    try {
      await (this.#life ? Promise.race([this.#ended, this.#life.unsent]) : this.#ended)
    } finally {
      this.#life?.end()
    }
    return this.#last
  }

  async #handOverEarly(write: Write): Promise<void> {
    // Headers leave with what follows them.
    if (!this.#has_content && this.#early.bytes === 0) this.#early.add(this.frames.sign)
    for (let parts = this.#early.take(); parts.length > 0; parts = this.#early.take())
      for (const part of parts) {
        const taken = write(part)
        if (taken) await Promise.race([taken, this.#ended]) // a client that never reads does not outlive the call
      }
  }

  hasToldFailure(): boolean {
    return this.#has_told
  }

  leave(): void {
    if (!this.#has_wire) return
    const timer = setTimeout(this.cancel, LINGER_MS)
    void this.#wire.catch(() => {}).finally(() => clearTimeout(timer))
  }
}

function signal(): { given: Promise<void>; give(): void } {
  let give: () => void = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}
