// R53: the deterministic stand-in where no provider is configured. It needs no network and costs nothing, and the same
// request gets the same answer, but for ids and times.
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { chatChunks, chatCompletion, completion, completionChunks, type Identity } from './placeholder-chat.ts'
import { embeddings } from './placeholder-embeddings.ts'
import { images, moderation, ranking, silence } from './placeholder-media.ts'
import type { Body } from './placeholder-output.ts'
import { compaction, inputTokens, response, responseEvents } from './placeholder-responses.ts'
import { jsonAnswer, preparedAnswer } from './prepared-answer.ts'
import type { CallKind, Provider, TextKind } from './provider.ts'

export interface PlaceholderOptions {
  clock: Clock
  /** Makes an id with this prefix; random unless a test says otherwise. */
  newId?: (prefix: string) => string
}

const ID_LENGTH = 24

type Spoken = Exclude<TextKind, 'messages'> // which is told by way of chat

const WHOLE: Partial<Record<CallKind, Answering>> & Record<Spoken, Answering> = {
  images,
  moderations: moderation,
  rerank: ranking,
  chat: chatCompletion,
  completions: completion,
  embeddings,
  responses: response,
}

type Answering = (body: Body, identity: Identity) => unknown

const STREAMED: Partial<Record<CallKind, (body: Body, identity: Identity) => Buffer[]>> = {
  chat: chatChunks,
  completions: completionChunks,
  responses: responseEvents,
}

/** Known without making one. */
export const placeholderSpeaks = (kind: CallKind): boolean => kind in WHOLE || kind === 'speech'

export function placeholder({ clock, newId = randomId }: PlaceholderOptions): Provider {
  return {
    speaks: placeholderSpeaks,

    async call({ kind, body, stream, below }, signal) {
      if (signal.aborted) throw signal.reason
      if (kind === 'speech')
        return preparedAnswer({ status: 200, content_type: 'audio/wav', parts: [silence()] }, signal)
      const whole = WHOLE[kind]
      if (!whole) throw new Error(`${kind} does not get here`)
      const asked = jsonIn(body) as Body
      const identity = { created: Math.floor(clock.now() / 1_000), newId }
      if (below === 'input_tokens') return jsonAnswer(200, inputTokens(asked, identity), signal)
      if (below === 'compact') return jsonAnswer(200, compaction(asked, identity), signal)
      const streamed = stream ? STREAMED[kind] : undefined
      if (!streamed) return jsonAnswer(200, whole(asked, identity), signal)
      const content_type = 'text/event-stream; charset=utf-8'
      return preparedAnswer({ status: 200, content_type, parts: streamed(asked, identity) }, signal)
    },
  }
}

const randomId = (prefix: string) => prefix + randomBase62(ID_LENGTH)
