// What it costs a call that it is traced: the functions that the path calls, with OpenTelemetry's own packages behind
// them, for a call that is not sampled and for one that is, until its spans are bytes.
import { ExportResultCode } from '@opentelemetry/core'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { tracerProvider } from '../src/telemetry/otlp-tracing.ts'
import { RequestTrace, type TraceNeeds } from '../src/telemetry/request-trace.ts'
import { traceSampling } from '../src/telemetry/trace-sampling.ts'
import type { TracedCall, TracedOutcome } from '../src/telemetry/traced-call.ts'
import { NOT_SAMPLED } from '../src/telemetry/unsampled-call.ts'
import { median } from './figures.ts'
import { record } from './report.ts'
import { textTable } from './text-table.ts'

const CALLS = 20_000
const ROUNDS = 5
const TARGET = {
  ...{ id: 'provider:openai', provider: 'openai', model: 'gpt-5.4', profile: 'managed_provider' },
  dialling: { base_url: 'https://api.openai.com/v1' },
}
const OUTCOME: TracedOutcome = {
  ...{ trace_id: 'trc_1', project_id: 'prj_1', key_id: 'key_1', requested_model: 'gpt-5.4', provider: 'openai' },
  ...{ model: 'gpt-5.4', profile: 'managed_provider', mode: 'live', region: 'us', admission: 'admitted' },
  ...{ fallback_used: false, session_id: undefined, agent_id: undefined, stream: true, ending: 'completed' },
  ...{ ttft_ms: 300, attempts: [1] },
  tokens: { input: 1_000, cached: 500, written: 0, output: 100, reasoning: 0, estimated: false },
}
const STAGES: Parameters<TracedCall['stage']>[0][] = [
  ...(['auth', 'limits', 'body', 'read', 'allow', 'route', 'reserve', 'slot', 'hold'] as const),
]

/** All but the wire. */
const toBytes: SpanExporter = {
  export(spans, done) {
    ProtobufTraceSerializer.serializeRequest(spans)
    done({ code: ExportResultCode.SUCCESS })
  },
  shutdown: async () => {},
}

export async function tracingCost(): Promise<string> {
  await roundOf(1) // so that no row pays for the compiler
  const rows: [string, number][] = []
  for (const ratio of [0, 0.01, 1]) {
    const rounds: number[] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await roundOf(ratio))
    rows.push([`${ratio * 100} % are sampled`, median(rounds)])
  }
  record('Cost of tracing', { rows })
  return textTable(
    `What tracing a generation costs, ${STAGES.length + 3} spans, median of ${ROUNDS} rounds`,
    ['calls', 'µs of processor time a call'],
    rows.map(([calls, us]) => [calls, us.toFixed(1)]),
  )
}

async function roundOf(sample_ratio: number): Promise<number> {
  const settings = {
    ...{ url: '', headers: {}, timeout_ms: 1_000, sample_ratio, parent_based: true, service_name: 'bench' },
    ...{ attributes: {}, queue: { spans: 100_000, batch: 512, delay_ms: 100 }, propagate_to: [] },
  }
  const { isSampled, ids } = traceSampling(settings)
  const provider = tracerProvider(settings, { version: '0', process_id: 'bench' }, toBytes, ids)
  const tracer = provider.getTracer('switchyard')
  const needs: TraceNeeds = { tracer, now: () => performance.timeOrigin + performance.now(), takesContext: () => false }
  const began = process.cpuUsage()
  for (let n = 0; n < CALLS; n++) {
    traceOne(isSampled(undefined) ? newTrace(needs) : NOT_SAMPLED)
    if (n % 500 === 499) await provider.forceFlush()
  }
  await provider.shutdown()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / CALLS
}

const newTrace = (needs: TraceNeeds) =>
  new RequestTrace(needs, 'POST /v1/chat/completions', undefined, { 'http.request.method': 'POST' })

function traceOne(traced: TracedCall): void {
  traced.begin('chat')
  for (const stage of STAGES) traced.stage(stage)
  traced.dialling(TARGET, 1, 'chat')
  traced.attempted({ status: 200, failure: undefined })
  traced.answered(OUTCOME)
  traced.settled({ charged_micros: 10, direct_cost_micros: 20 })
  traced.finished()
  if (traced instanceof RequestTrace) traced.close({ 'http.response.status_code': 200 }, undefined)
}
