// An answer that needs no upstream: its parts are at hand.
import type { StopSignal } from '../core/stop-signal.ts'
import { Handover } from './handover.ts'
import type { ProviderAnswer } from './provider.ts'

interface Prepared {
  status: number
  content_type: string
  parts: readonly Buffer[]
}

export function preparedAnswer({ status, content_type, parts }: Prepared, signal: StopSignal): ProviderAnswer {
  const abandon = () => handover.abandon(signal.reason)
  const handover = new Handover({
    pause() {},
    resume() {},
    stop() {},
    done: () => signal.removeEventListener('abort', abandon),
  })
  for (const part of parts) handover.push(part)
  handover.end()
  return {
    status,
    content_type,
    retry_after_s: undefined,
    each(take) {
      signal.addEventListener('abort', abandon, { once: true })
      if (signal.aborted) abandon()
      return handover.each(take)
    },
    whole: async () => Buffer.concat(parts),
    cancel: () => handover.abandon(new Error('cancelled')),
  }
}

export function jsonAnswer(status: number, body: unknown, signal: StopSignal): ProviderAnswer {
  const parts = [Buffer.from(JSON.stringify(body))]
  return preparedAnswer({ status, content_type: 'application/json', parts }, signal)
}

/** The OpenAI error envelope, which clients of /v1 understand. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null }
}

export function errorBody(message: string, type: string, code: string | null = null): ErrorBody {
  return { error: { message, type, param: null, code } }
}
