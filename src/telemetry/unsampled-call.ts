// A request that is not sampled: nothing of it is recorded. Where its client began a trace, that goes on behind us.
import type { SpanContext } from '@opentelemetry/api'
import type { TracedCall, TracedTarget } from './traced-call.ts'

const nothing = () => {}

/** One for all requests that no client began a trace for. */
export const NOT_SAMPLED: TracedCall = {
  begin: nothing,
  stage: nothing,
  dialling: () => undefined,
  attempted: nothing,
  answered: nothing,
  settled: nothing,
  finished: nothing,
}

/** The client's own context goes along as it came. */
export const passingOn = (context: SpanContext, takesContext: (target: TracedTarget) => boolean): TracedCall =>
  Object.assign({}, NOT_SAMPLED, {
    dialling: (target: TracedTarget) => (takesContext(target) ? contextHeaders(context) : undefined),
  })

/** W3C Trace Context. */
export function contextHeaders({ traceId, spanId, traceFlags, traceState }: SpanContext): Record<string, string> {
  const flags = traceFlags.toString(16).padStart(2, '0')
  const headers: Record<string, string> = { traceparent: `00-${traceId}-${spanId}-${flags}` }
  const state = traceState?.serialize()
  if (state) headers.tracestate = state
  return headers
}
