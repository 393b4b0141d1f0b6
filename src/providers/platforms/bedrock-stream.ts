// Claude's events out of Bedrock's event stream: each is the JSON that Anthropic would send, in base64, in a message of
// its own; they go on as server-sent events, byte for byte.
import { BUDGETS, jsonWithin, smallJsonOrNone } from '../../core/foreign.ts'
import { type ProviderAnswer, UpstreamError } from '../provider.ts'
import { type EventMessage, EventStreamError, EventStreamReader } from './aws-event-stream.ts'
import { bedrockError, statusOf } from './bedrock-errors.ts'
import { usageOf } from './bedrock-usage.ts'

/** R77: an event in base64, and what is around it. */
const MESSAGE_MAX_BYTES = BUDGETS.event.bytes

export function streamedEvents(answer: ProviderAnswer): ProviderAnswer {
  const events = new BedrockEvents()
  const each: ProviderAnswer['each'] = async (take) => {
    await answer.each((part) => take(events.take(part)))
    if (events.is_amid) throw new UpstreamError('reset', new Error('the event stream ended in the middle of a message'))
  }
  const whole = async () => {
    const parts: Buffer[] = []
    await each((part) => void parts.push(part))
    return Buffer.concat(parts)
  }
  return { ...answer, content_type: 'text/event-stream; charset=utf-8', each, whole }
}

class BedrockEvents {
  readonly #reader = new EventStreamReader(MESSAGE_MAX_BYTES)
  #has_usage = false

  get is_amid(): boolean {
    return this.#reader.is_amid
  }

  take(part: Buffer): Buffer {
    try {
      const events = this.#reader.read(part).map((message) => this.#eventOf(message))
      return events.length === 1 ? (events[0] as Buffer) : Buffer.concat(events)
    } catch (error) {
      if (!(error instanceof EventStreamError)) throw error
      throw new UpstreamError(error.is_too_large ? 'too_large' : 'reset', error)
    }
  }

  #eventOf({ headers, payload }: EventMessage): Buffer {
    const kind = headers.get(':message-type')
    if (kind === 'exception' || kind === 'error') return this.#failure(headers, payload)
    if (headers.get(':event-type') !== 'chunk') return Buffer.alloc(0) // a sign of life, or what will be added
    const json = eventIn(payload)
    const type = typeOf(json)
    this.#has_usage ||= json.includes('"usage"')
    const event = sseEvent(type, json)
    return type === 'message_stop' && !this.#has_usage ? Buffer.concat([metricsIn(json), event]) : event
  }

  #failure(headers: EventMessage['headers'], payload: Buffer): Buffer {
    const exception = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
    const said = smallJsonOrNone(BUDGETS.envelope, payload) ?? { message: headers.get(':error-message') }
    return sseEvent('error', Buffer.from(JSON.stringify(bedrockError(exception, statusOf(exception, 500), said))))
  }
}

/** `{"bytes":"…","p":"…"}`, where the second is there to hide how long the first is. */
function eventIn(payload: Buffer): Buffer {
  const { bytes } = chunkIn(payload) as { bytes?: unknown }
  if (typeof bytes !== 'string') throw new EventStreamError('a chunk without bytes')
  return Buffer.from(bytes, 'base64')
}

function chunkIn(payload: Buffer): object {
  try {
    const chunk = jsonWithin(BUDGETS.event, payload)
    if (typeof chunk === 'object' && chunk !== null && !(chunk instanceof Promise)) return chunk
  } catch {}
  throw new EventStreamError('a chunk that is none')
}

const TYPE = /^\s*\{\s*"type"\s*:\s*"([a-z_]{1,64})"/

function typeOf(json: Buffer): string {
  const [, first] = TYPE.exec(json.toString('latin1', 0, 128)) ?? []
  if (first !== undefined) return first
  const { type } = (smallJsonOrNone(BUDGETS.event, json) ?? {}) as { type?: unknown }
  return typeof type === 'string' && /^[\w.-]{1,64}$/.test(type) ? type : 'message'
}

/** A line break between two tokens of the JSON would end the event's line. */
function sseEvent(type: string, json: Buffer): Buffer {
  const line = json.includes(10) || json.includes(13) ? Buffer.from(json.toString().replace(/[\r\n]/g, ' ')) : json
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), line, Buffer.from('\n\n')])
}

/** Where no event told the usage, Bedrock's own count does, told in the way of this protocol. */
function metricsIn(json: Buffer): Buffer {
  const event = smallJsonOrNone(BUDGETS.event, json) as Record<string, unknown> | undefined
  const metrics = event?.['amazon-bedrock-invocationMetrics'] as Record<string, unknown> | undefined
  const usage = metrics && usageOf((name) => metrics[`${name}TokenCount`])
  if (!usage) return Buffer.alloc(0)
  return sseEvent('message_delta', Buffer.from(JSON.stringify({ type: 'message_delta', delta: {}, usage })))
}
