// R53: the deterministic stand-in where no provider is configured. It needs no network and costs nothing, and the same
// request gets the same answer, but for ids and times.
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { chatChunks, chatCompletion, completion, completionChunks, type Identity } from './placeholder-chat.ts'
import { embeddings } from './placeholder-embeddings.ts'
import type { Body } from './placeholder-output.ts'
import { response, responseEvents } from './placeholder-responses.ts'
import { jsonAnswer, preparedAnswer } from './prepared-answer.ts'
import type { CallKind, Provider } from './provider.ts'

export interface PlaceholderOptions {
  clock: Clock
  /** Makes an id with this prefix; random unless a test says otherwise. */
  newId?: (prefix: string) => string
}

const ID_LENGTH = 24

type Spoken = Exclude<CallKind, 'messages'> // which is told by way of chat

const WHOLE: Record<Spoken, (body: Body, identity: Identity) => unknown> = {
  chat: chatCompletion,
  completions: completion,
  embeddings,
  responses: response,
}

const STREAMED: Partial<Record<CallKind, (body: Body, identity: Identity) => Buffer[]>> = {
  chat: chatChunks,
  completions: completionChunks,
  responses: responseEvents,
}

export function placeholder({ clock, newId = randomId }: PlaceholderOptions): Provider {
  return {
    speaks: (kind) => kind !== 'messages',

    async call({ kind, body, stream }, signal) {
      if (kind === 'messages') throw new Error('messages are translated before they get here')
      if (signal.aborted) throw signal.reason
      const asked = jsonIn(body) as Body
      const identity = { created: Math.floor(clock.now() / 1_000), newId }
      const streamed = stream ? STREAMED[kind] : undefined
      if (!streamed) return jsonAnswer(200, WHOLE[kind](asked, identity), signal)
      const content_type = 'text/event-stream; charset=utf-8'
      return preparedAnswer({ status: 200, content_type, parts: streamed(asked, identity) }, signal)
    },
  }
}

const randomId = (prefix: string) => prefix + randomBase62(ID_LENGTH)
