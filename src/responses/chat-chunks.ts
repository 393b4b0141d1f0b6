// The chunks of a chat stream, out of bytes that may be cut anywhere.
import { EndlessEvent, EventReader, type ServerSentEvent } from '../core/event-reader.ts'
import { AT_ONCE_BYTES, BUDGETS, jsonWithin } from '../core/foreign.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { isObject, type Json } from './response-request.ts'

export type ChatChunk =
  | { kind: 'chunk'; chunk: Json }
  | { kind: 'done' }
  /** R77: too large to be parsed while everybody waits: see readLarge. */
  | LargeChunk
  /** The upstream's own error, or something that is no chunk at all. */
  | { kind: 'error'; error: { message: string; code?: string } }

export interface LargeChunk {
  kind: 'large'
  payload: string
  event: string
}

export function chatChunks() {
  const reader = new EventReader()
  return {
    push(part: Buffer): ChatChunk[] {
      try {
        return reader.read(part).flatMap(read)
      } catch (error) {
        if (!(error instanceof EndlessEvent)) throw error
        return [notAChunk(error.message)]
      }
    },

    /** What came last, where the upstream ended without a blank line. */
    end: (): ChatChunk[] => reader.end().flatMap(read),
  }
}

function read({ data: payload, event }: ServerSentEvent): ChatChunk[] {
  if (payload === '') return []
  if (payload.length > AT_ONCE_BYTES) return [{ kind: 'large', payload, event }]
  if (payload.trim() === '[DONE]') return [{ kind: 'done' }]
  return [chunkOf(jsonOrNone(payload), event)]
}

export async function readLarge({ payload, event }: LargeChunk): Promise<Exclude<ChatChunk, LargeChunk>> {
  try {
    return chunkOf(await jsonWithin(BUDGETS.event, Buffer.from(payload)), event)
  } catch {
    return notAChunk('an event that cannot be read')
  }
}

function chunkOf(chunk: unknown, event: string): Exclude<ChatChunk, LargeChunk> {
  if (!isObject(chunk)) return notAChunk('something that is no JSON object')
  const { error } = chunk
  if (error !== undefined && error !== null) return { kind: 'error', error: reason(error) }
  if (event === 'error' || chunk.object === 'error') return { kind: 'error', error: reason(chunk) }
  return { kind: 'chunk', chunk }
}

function reason(error: unknown): { message: string; code?: string } {
  const { message, code, type } = isObject(error) ? error : { message: error }
  const known = [code, type].find((word) => typeof word === 'string')
  return {
    message: typeof message === 'string' ? message : 'The upstream reported an error.',
    ...(typeof known === 'string' && { code: known }),
  }
}

const notAChunk = (what: string): Exclude<ChatChunk, LargeChunk> => ({
  kind: 'error',
  error: { message: `The upstream sent ${what}.`, code: 'upstream_error' },
})
