// Which requests are traced: what the client's own trace says, or a share of the others by the ids of their traces.
import { ROOT_CONTEXT, type SpanContext, TraceFlags } from '@opentelemetry/api'
import { RandomIdGenerator, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { TracingSettings } from './tracing-settings.ts'

/**
 * It is decided before anything is made for a request; the id that was drawn for that is the one of its trace. Settings
 * may be changed while it runs.
 */
export function traceSampling(settings: Readonly<Pick<TracingSettings, 'sample_ratio' | 'parent_based'>>) {
  let { sample_ratio } = settings
  let ratio = new TraceIdRatioBasedSampler(sample_ratio)
  const random = new RandomIdGenerator()
  let drawn: string | undefined

  return {
    isSampled(parent: SpanContext | undefined): boolean {
      if (parent && settings.parent_based) return (parent.traceFlags & TraceFlags.SAMPLED) !== 0
      if (sample_ratio !== settings.sample_ratio) {
        sample_ratio = settings.sample_ratio
        ratio = new TraceIdRatioBasedSampler(sample_ratio)
      }
      drawn = parent ? undefined : random.generateTraceId()
      const { decision } = ratio.shouldSample(ROOT_CONTEXT, parent?.traceId ?? (drawn as string))
      return decision === SamplingDecision.RECORD_AND_SAMPLED
    },
    ids: {
      generateTraceId(): string {
        const id = drawn ?? random.generateTraceId()
        drawn = undefined
        return id
      },
      generateSpanId: (): string => random.generateSpanId(),
    },
  }
}
