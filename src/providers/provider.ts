// THE PORT to whoever generates: one call out, one answer back, as bytes in the protocol of the call: OpenAI's, and
// Anthropic's for Messages. An adapter speaks its upstream's own and translates; nothing above it knows the difference.
import type { Taking } from '../core/memory-room.ts'
import type { StopSignal } from '../core/stop-signal.ts'

/** Whose matter is images, sound or searches: they are counted in units, and their bytes are never held whole. */
export const MEDIA_KINDS = ['images', 'image_edits', 'speech', 'transcriptions', 'moderations', 'rerank'] as const
export type MediaKind = (typeof MEDIA_KINDS)[number]

export const CALL_KINDS = ['chat', 'completions', 'embeddings', 'responses', 'messages', ...MEDIA_KINDS] as const
export type CallKind = (typeof CALL_KINDS)[number]
/** Whose matter is text. */
export type TextKind = Exclude<CallKind, MediaKind>

export const isMediaKind = (kind: CallKind): kind is MediaKind => (MEDIA_KINDS as readonly string[]).includes(kind)

/** A body that is too large to hold: read anew for each attempt. */
export interface StreamedBody {
  bytes: number
  content_type: string
  parts(): AsyncIterable<Buffer>
}

export interface ProviderCall {
  kind: CallKind
  /** The body as it goes out, already for this target's model. */
  body: Buffer
  /** In its place, of a form. */
  form?: StreamedBody | undefined
  stream: boolean
  /** Further headers for this target: objectives, session, trace; of the client's own, `anthropic-*` alone (R81). */
  headers: Readonly<Record<string, string>>
  timeouts: Timeouts
  /** Of Messages: what stands behind the path, such as `?beta=true`. */
  query?: string
  /** Of Responses: what stands below them, where it is not a response that is wanted. */
  below?: 'input_tokens' | 'compact' | undefined
  /** Of Messages: only the prompt's tokens are wanted. */
  counts_only?: true
}

/** Sending begins with the wait for a connection. */
export interface Timeouts {
  /** From sending to the first byte of the answer. */
  first_byte_ms: number
  /** Between two parts of the answer. */
  idle_ms: number
  /** From sending to the last byte of the answer. */
  total_ms?: number
}

export interface Provider {
  /** Which of the calls it takes as they are; the rest is translated before it gets here. */
  speaks(kind: CallKind): boolean
  /** Resolves when the answer begins. Rejects with an UpstreamError where none came. */
  call(call: ProviderCall, signal: StopSignal): Promise<ProviderAnswer>
}

type Headers = Readonly<Record<string, string>>

export interface ProviderAnswer {
  status: number
  content_type: string
  /** Seconds that the upstream asks callers to wait, where it does. */
  retry_after_s: number | undefined
  /** R81: what goes on to the client as it came, such as `anthropic-ratelimit-…`. Absent where there is none. */
  told?: Headers | undefined
  /** Headers that an adapter may look at; they go on to nobody. */
  heard?: ReadonlyMap<string, string>
  /** R75: fields of the call that the upstream was not told of, because its protocol has no words for them. */
  left_out?: readonly string[]
  /**
   * Parts as they arrive. `take` may return a promise: nothing more is read until it resolves. An empty part says that
   * the upstream lives, where what it sent has no translation.
   */
  each(take: (part: Buffer) => void | Promise<void>): Promise<void>
  /** The whole body, up to a bound. `taking` is told of each part before it is held. */
  whole(taking?: Taking): Promise<Buffer>
  /** Lets go of the upstream connection; safe to call at any time. */
  cancel(): void
}

/**
 * `connect`: no connection came about, or none was free in time, so nothing was sent. `not_taken`: the time of the call
 * was over while the answer lay there and nobody took it. `too_large`, `too_many_parts`: beyond what is read of an
 * answer or an event (R77).
 */
export type UpstreamFailure =
  | 'connect'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'not_taken'
  | 'reset'
  | 'too_large'
  | 'too_many_parts'
  | 'refused_address'

/** R77: how large an answer is, in choices and probabilities, is for its client to ask. */
export const isOfItsSize = (failure: string) => failure === 'too_large' || failure === 'too_many_parts'

/** The upstream failed us. Private: callers see what the inference path makes of it. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly failure: UpstreamFailure
  /** What the upstream said of it, where it said anything, without the credential that was sent. */
  said: ((secret: string | undefined) => string | undefined) | undefined

  constructor(failure: UpstreamFailure, cause?: unknown) {
    super(`upstream: ${failure}`, { cause })
    this.failure = failure
  }
}
