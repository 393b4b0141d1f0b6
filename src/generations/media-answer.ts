// What came back of images, sound and the like: a stream, which goes on as it comes, or a whole answer in a spool. No
// more than 1 MiB of either is in memory.
import { type OpenedStream, openStream } from '../answers/answer-stream.ts'
import { MediaAnswerReading } from '../answers/media-answer-reading.ts'
import { mediaEvents, soundFrames } from '../answers/media-frames.ts'
import { mediaTokens, type TokenCounts } from '../answers/token-counts.ts'
import { wordsIn, wordsOfAnswer } from '../answers/upstream-reason.ts'
import { KEPT_STREAM_MAX_BYTES } from '../core/foreign.ts'
import type { Spool } from '../core/spool.ts'
import { type MediaKind, type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import type { Generation } from './generation.ts'
import type { AskedMedia } from './media-asked.ts'

export type MediaAnswered =
  | { kind: 'stream'; stream: OpenedStream }
  /** Whole, and not in memory. */
  | { kind: 'spooled'; content_type: string; spool: Spool; tokens: TokenCounts }

const EVENTS = /^text\/event-stream\b/i
const NOT_SOUND = /^(application\/json|text\/)/i

export async function mediaAnswer(
  generation: Generation,
  media: AskedMedia,
  upstream: ProviderAnswer,
): Promise<MediaAnswered> {
  const { call } = generation
  const { content_type } = upstream
  const is_events = EVENTS.test(content_type)
  if (call.kind === 'speech' && !is_events && NOT_SOUND.test(content_type))
    throw new UpstreamError('reset', new Error('a 200 that is no sound'))
  // Not every model streams what it was asked to stream.
  if (call.kind === 'speech' || (call.stream && is_events)) return streamed(generation, media, upstream)
  return spooled(generation, media, upstream)
}

async function streamed(generation: Generation, media: AskedMedia, upstream: ProviderAnswer): Promise<MediaAnswered> {
  const { content_type } = upstream
  const frames = EVENTS.test(content_type) ? mediaEvents(media.needs.choices) : soundFrames()
  generation.stream_type = content_type
  try {
    return { kind: 'stream', stream: await openStream(upstream, frames, generation.path.opening) }
  } catch (error) {
    if (error instanceof UpstreamError && frames.failed()) error.said = (secret) => wordsIn(frames.error(), secret)
    throw error
  }
}

async function spooled(generation: Generation, media: AskedMedia, upstream: ProviderAnswer): Promise<MediaAnswered> {
  const { call, path } = generation
  const { content_type } = upstream
  const spool = media.spool(path.media_room.place(call.caller.project_id))
  const reading = new MediaAnswerReading(call.kind as MediaKind, content_type)
  await upstream.each((part) => {
    if (spool.bytes + part.length > KEPT_STREAM_MAX_BYTES) throw new UpstreamError('too_large')
    reading.push(part)
    return spool.add(part)
  })
  try {
    return { kind: 'spooled', content_type, spool, tokens: mediaTokens(media.needs, await reading.told(spool)) }
  } catch (error) {
    if (error instanceof UpstreamError) error.said = (secret) => saidIn(spool, secret)
    throw error
  }
}

const saidIn = (spool: Spool, secret: string | undefined) => {
  const whole = spool.inMemory()
  return whole && wordsOfAnswer(whole, secret)
}
