// What needs attention, what was refused, and one generation's life, as the pages use them.
import type { AttentionItem } from '../../src/attention/attention.ts'
import type { RecordingView as Recording } from '../../src/recordings/recording.ts'
import type { RefusalKind, RefusalSeries } from '../../src/refusals/refusal-kind.ts'
import type { Trace } from '../../src/usage/trace.ts'
import { get, getBlob } from './api-client.ts'
import { between, type Span } from './timeline-calls.ts'
import { asked } from './usage-calls.ts'

export type { AttentionItem, Recording, RefusalKind, RefusalSeries, Trace }

export const attention = async (signal?: AbortSignal) =>
  (await get<{ data: AttentionItem[] }>('/v2/attention', signal)).data

/** Refusals are counted by the hour at the finest. */
export function refusals(span: Span, signal?: AbortSignal): Promise<RefusalSeries> {
  const step = span.step === 'day' ? 'day' : 'hour'
  return get<RefusalSeries>(`/v2/refusals?${asked({ ...between(span), step })}`, signal)
}

export const findTrace = (id: string, signal?: AbortSignal) =>
  get<Trace>(`/v2/traces/${encodeURIComponent(id)}`, signal)

export const findRecording = (trace_id: string, signal?: AbortSignal) =>
  get<Recording>(`/v2/recordings/${encodeURIComponent(trace_id)}`, signal)

/** An address below a recording's. */
export const recordedBytes = (address: string) => getBlob(address)
