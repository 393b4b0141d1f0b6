// A stream up to its first content, and then on to whoever takes it (R41, R47). Until content is there, another target
// may still answer instead; from then on this one has. It is over when the upstream has said its last word, `[DONE]` or
// the end of a response: what becomes of the wire after that concerns nobody who waits.
import { GatheredParts } from '../core/gathered-parts.ts'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { SseFrames } from './sse-frames.ts'

/**
 * How much may wait for the first content. A response that repeats long instructions before it begins says more; from
 * then on it counts as begun, as if content had come. One that had nothing but comments in it has failed.
 */
export const EARLY_MAX_BYTES = 1024 * 1024

type Write = (part: Buffer) => void | Promise<void>

/** How long the wire may take to end after the last word: one that has ended serves the next call. */
const LINGER_MS = 1_000

export interface OpenedStream {
  frames: SseFrames
  /**
   * Hands over all that came and comes but the last word, which it resolves with: who hears that believes that all is
   * done, and must not before it is. Rejects where the upstream breaks off.
   */
  forward(write: Write): Promise<Buffer | undefined>
  /** After the last word: whatever is still to come is nobody's. */
  leave(): void
  cancel(): void
}

export async function openStream(answer: ProviderAnswer, frames: SseFrames): Promise<OpenedStream> {
  const early = new GatheredParts()
  const [content, over] = [signal(), signal()]
  let write: Write | undefined
  let goOn: (() => void) | undefined
  let last: Buffer | undefined
  let is_over = false
  let has_wire = true

  const wire = answer
    .each((part) => {
      if (is_over) return undefined
      const whole = frames.push(part)
      if (frames.failed()) return tellAndStop(write, whole)
      if (frames.isDone()) {
        is_over = true
        last = whole
        return over.give()
      }
      if (write) return whole && write(whole)
      if (whole) early.add(whole)
      if (!frames.hasContent() && early.bytes <= EARLY_MAX_BYTES) return undefined
      if (!frames.hasData()) throw new UpstreamError('too_large', 'nothing but comments')
      content.give()
      return new Promise<void>((resolve) => {
        goOn = resolve // nothing more is read until somebody takes it
      })
    })
    .then(() => {
      if (is_over) return
      if (!frames.isComplete()) throw new UpstreamError('reset', 'the stream ended in the middle')
      last = frames.end()
    })
    .finally(() => {
      has_wire = false
    })

  const ended = Promise.race([over.given, wire])
  ended.catch(() => {}) // whoever forwards hears of it
  await Promise.race([content.given, ended])
  return {
    frames,
    async forward(taker) {
      for (const part of early.take()) {
        const taken = taker(part)
        if (taken) await Promise.race([taken, ended]) // a client that never reads does not outlive the call
      }
      write = taker
      goOn?.()
      await ended
      return last
    },
    leave() {
      if (!has_wire) return
      const timer = setTimeout(answer.cancel, LINGER_MS)
      void wire.catch(() => {}).finally(() => clearTimeout(timer))
    },
    cancel: answer.cancel,
  }
}

function signal(): { given: Promise<void>; give(): void } {
  let give: () => void = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

/** What the upstream says of its own failure goes on like all that came before it. */
async function tellAndStop(write: Write | undefined, whole: Buffer | undefined): Promise<never> {
  if (write && whole) await write(whole)
  throw errorEvent()
}

const errorEvent = () => new UpstreamError('reset', 'an error event')
