// The chunks of a chat stream, out of bytes that may be cut anywhere.
import { AT_ONCE_BYTES, BUDGETS, jsonWithin } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { isObject, type Json } from './response-request.ts'

export type ChatChunk =
  | { kind: 'chunk'; chunk: Json }
  | { kind: 'done' }
  /** R77: too large to be parsed while everybody waits: see readLarge. */
  | LargeChunk
  /** The upstream's own error, or something that is no chunk at all. */
  | { kind: 'error'; error: { message: string; code?: string } }

const LF = 0x0a

export interface LargeChunk {
  kind: 'large'
  payload: string
  event: string
}

export function chatChunks() {
  const line = new GatheredParts() // one whose end has not come yet
  let data: string[] = []
  let data_length = 0
  let event = ''

  function takeLine(text: string): ChatChunk | undefined {
    if (text === '') return endEvent()
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') {
      data.push(value)
      data_length += text.length + 1
    } else if (field === 'event') event = value
    return undefined
  }

  function endEvent(): ChatChunk | undefined {
    const [payload, name] = [data.join('\n'), event]
    data = []
    data_length = 0
    event = ''
    return payload === '' ? undefined : read(payload, name)
  }

  function cutLine(end: Buffer): string {
    const bytes = line.bytes === 0 ? end : Buffer.concat([...line.take(), end])
    return bytes.toString().replace(/\r$/, '')
  }

  return {
    push(part: Buffer): ChatChunk[] {
      const found: ChatChunk[] = []
      let from = 0
      for (let to = part.indexOf(LF); to !== -1; to = part.indexOf(LF, from)) {
        const chunk = takeLine(cutLine(part.subarray(from, to)))
        if (chunk) found.push(chunk)
        from = to + 1
      }
      if (from < part.length) line.add(part.subarray(from))
      if (line.bytes + data_length > BUDGETS.event.bytes) found.push(notAChunk('an event without end'))
      return found
    },

    /** What came last, where the upstream ended without a blank line. */
    end(): ChatChunk[] {
      const chunk = takeLine(cutLine(Buffer.alloc(0))) ?? endEvent()
      return chunk ? [chunk] : []
    },
  }
}

function read(payload: string, event: string): ChatChunk {
  if (payload.length > AT_ONCE_BYTES) return { kind: 'large', payload, event }
  if (payload.trim() === '[DONE]') return { kind: 'done' }
  return chunkOf(jsonOrNone(payload), event)
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
