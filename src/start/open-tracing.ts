// Traces, where somebody said where they go: OpenTelemetry's packages are loaded then, and only then.
import type { startTracing } from '../telemetry/otlp-tracing.ts'
import type { Tracing } from '../telemetry/traced-call.ts'
import type { TracingSettings } from '../telemetry/tracing-settings.ts'

type About = Parameters<typeof startTracing>[1]

export async function openTracing(settings: TracingSettings | undefined, about: About): Promise<Tracing | undefined> {
  if (!settings) return undefined
  const tracing = await import('../telemetry/otlp-tracing.ts')
  return tracing.startTracing(settings, about)
}
