// How traces are made and where they go: by the standard OTEL_* variables, or by `tracing` in switchyard.yaml. The
// variables go before the file.
import { Type } from 'typebox'

export interface TracingSettings {
  /** Of the collector's traces: `http://collector:4318/v1/traces`. */
  url: string
  headers: Readonly<Record<string, string>>
  timeout_ms: number
  /** Of the calls that nobody else has decided on. */
  sample_ratio: number
  /** What a client says of its trace decides first. */
  parent_based: boolean
  service_name: string
  attributes: Readonly<Record<string, string>>
  /** Spans that wait to be exported, at most, how many go at once, and how long the first of them waits. */
  queue: { spans: number; batch: number; delay_ms: number }
  /** Providers that are passed the context of a trace, beside clusters. */
  propagate_to: readonly string[]
}

const Ratio = Type.Number({ minimum: 0, maximum: 1 })
const Name = Type.String({ minLength: 1, maxLength: 256 })

export const TracingShape = Type.Object(
  {
    endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 2_048 })),
    headers: Type.Record(Type.String(), Type.String({ maxLength: 8_192 }), { default: {} }),
    sample_ratio: Type.Optional(Ratio),
    parent_based: Type.Optional(Type.Boolean()),
    service_name: Type.Optional(Name),
    propagate_to: Type.Array(Name, { default: [], maxItems: 100 }),
  },
  { additionalProperties: false, default: {} },
)

export interface TracingFile {
  endpoint?: string
  headers: Readonly<Record<string, string>>
  sample_ratio?: number
  parent_based?: boolean
  service_name?: string
  propagate_to: readonly string[]
}

/** The variables, read. */
export interface OtelVariables {
  endpoint: string | undefined
  traces_endpoint: string | undefined
  headers: Readonly<Record<string, string>> | undefined
  timeout_ms: number | undefined
  sampler: Sampler | undefined
  sampler_ratio: number | undefined
  service_name: string | undefined
  attributes: Readonly<Record<string, string>>
  queue: TracingSettings['queue']
  is_disabled: boolean
}

export const SAMPLERS = [
  ...['always_on', 'always_off', 'traceidratio'],
  ...['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'],
] as const
export type Sampler = (typeof SAMPLERS)[number]

const TIMEOUT_MS = 10_000

/** Undefined where nobody said where traces go: then none are made. */
export function tracingSettings(variables: OtelVariables, file: TracingFile): TracingSettings | undefined {
  const base = variables.endpoint ?? file.endpoint
  const url = variables.traces_endpoint ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`)
  if (url === undefined || variables.is_disabled) return undefined
  const { sampler } = variables
  return {
    url,
    headers: variables.headers ?? file.headers,
    timeout_ms: variables.timeout_ms ?? TIMEOUT_MS,
    sample_ratio: sampler ? ratioOf(sampler, variables.sampler_ratio) : (file.sample_ratio ?? 1),
    parent_based: sampler ? sampler.startsWith('parentbased_') : (file.parent_based ?? true),
    service_name: variables.service_name ?? variables.attributes['service.name'] ?? file.service_name ?? 'switchyard',
    attributes: variables.attributes,
    queue: variables.queue,
    propagate_to: file.propagate_to,
  }
}

function ratioOf(sampler: Sampler, ratio = 1): number {
  if (sampler.endsWith('always_on')) return 1
  return sampler.endsWith('always_off') ? 0 : ratio
}
