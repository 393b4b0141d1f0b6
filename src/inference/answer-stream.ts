// A stream up to its first content, and then on to whoever takes it (R41, R47). Until content is there, another target
// may still answer instead; from then on this one has.
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { SseFrames } from './sse-frames.ts'

type Write = (part: Buffer) => void | Promise<void>

export interface OpenedStream {
  frames: SseFrames
  /** Hands over all that came and comes; resolves at a clean end, rejects where the upstream breaks off. */
  forward(write: Write): Promise<void>
  cancel(): void
}

export async function openStream(answer: ProviderAnswer, frames: SseFrames): Promise<OpenedStream> {
  const early: Buffer[] = []
  let write: Write | undefined
  let goOn: (() => void) | undefined
  let hasContent: () => void = () => {}
  const content = new Promise<void>((resolve) => {
    hasContent = resolve
  })

  const ended = answer
    .each((part) => {
      const whole = frames.push(part)
      if (write) return frames.failed() ? tellAndStop(write, whole) : whole && write(whole)
      if (frames.failed()) throw errorEvent()
      if (whole) early.push(whole)
      if (!frames.hasContent()) return undefined
      hasContent()
      return new Promise<void>((resolve) => {
        goOn = resolve // nothing more is read until somebody takes it
      })
    })
    .then(() => {
      if (!frames.isComplete()) throw new UpstreamError('reset', 'the stream ended in the middle')
    })

  ended.catch(() => {}) // whoever forwards hears of it
  await Promise.race([content, ended])
  return {
    frames,
    async forward(taker) {
      for (const part of early.splice(0)) await taker(part)
      write = taker
      goOn?.()
      await ended
      const rest = frames.end()
      if (rest) await taker(rest)
    },
    cancel: answer.cancel,
  }
}

/** What the upstream says of its own failure goes on like all that came before it. */
async function tellAndStop(write: Write, whole: Buffer | undefined): Promise<never> {
  if (whole) await write(whole)
  throw errorEvent()
}

const errorEvent = () => new UpstreamError('reset', 'an error event')
