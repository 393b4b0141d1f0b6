// Traces over OTLP (HTTP, protobuf) by OpenTelemetry's own packages. Loaded only where somebody said where traces go.
import { type Attributes, diag, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import { parseTraceParent, TraceState } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { traceIdOf } from '../core/ids.ts'
import { asRefusal } from '../http/answers.ts'
import { RequestLog } from '../http/request-log.ts'
import { RequestTrace, type TraceNeeds } from './request-trace.ts'
import { OWN, SPAN } from './span-names.ts'
import { ToldOnceExporter } from './told-once-exporter.ts'
import { traceSampling } from './trace-sampling.ts'
import type { TracedTarget, Tracing } from './traced-call.ts'
import type { TracingSettings } from './tracing-settings.ts'
import { NOT_SAMPLED, passingOn } from './unsampled-call.ts'

interface About {
  version: string
  process_id: string
  clock: Clock
  logger: FastifyBaseLogger
}

const UNTRACED = ['/healthz', '/readyz', '/metrics']
const STOP_WITHIN_MS = 3 * SECOND_MS
/** A trace state longer than this is not passed on. */
const STATE_MAX = 512

export function startTracing(settings: TracingSettings, about: About, exporter = otlp(settings)): Tracing {
  const { version, clock, logger } = about
  const { isSampled, ids } = traceSampling(settings)
  const provider = tracerProvider(settings, about, new ToldOnceExporter(exporter, logger), ids)
  diag.setLogger(droppedTo(logger), { suppressOverrideMessage: true })
  const tracer = provider.getTracer('switchyard', version)
  const takesContext = ({ profile, provider: id }: TracedTarget) =>
    profile === 'byoc_native' || profile === 'byoc_epp' || settings.propagate_to.includes(id)

  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const { url: route } = request.routeOptions
    if (route !== undefined && UNTRACED.includes(route)) return
    const { method, headers } = request
    const parent = parentIn(headers)
    if (!isSampled(parent)) return void leaveOut(request, parent)
    const needs: TraceNeeds = { tracer, now: nowFrom(clock), takesContext }
    const name = route === undefined ? method : `${method} ${route}`
    const attributes: Attributes = { [SPAN.method]: method, [OWN.request_id]: request.id }
    if (route !== undefined) attributes[SPAN.route] = route
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const traced = new RequestTrace(needs, name, context, attributes)
    request.traced = traced
    const { traceId: otel_trace_id, spanId: otel_span_id } = traced.span.spanContext()
    tellLog(request, { otel_trace_id, otel_span_id })
    reply.raw.once('close', () => close(traced, request, reply))
  }

  /** Nothing is recorded. Whoever began the trace finds it again in the log, and behind us. */
  function leaveOut(request: FastifyRequest, parent: SpanContext | undefined): void {
    request.traced = parent ? passingOn(parent, takesContext) : NOT_SAMPLED
    if (parent) tellLog(request, { otel_trace_id: parent.traceId })
  }

  return {
    watch(app) {
      app.decorateRequest('traced', undefined)
      app.addHook('onRequest', (request, reply, done) => {
        begin(request, reply)
        done()
      })
      app.addHook('onError', (request, _reply, error, done) => {
        const { traced } = request
        if (traced instanceof RequestTrace) traced.span.setAttribute(OWN.refusal, asRefusal(error).kind)
        done()
      })
    },
    stageEnds(app: FastifyInstance, name) {
      app.addHook('onRequest', (request, _reply, done) => {
        request.traced?.stage(name)
        done()
      })
    },
    async stop() {
      const late = new Promise<void>((resolve) => void setTimeout(resolve, STOP_WITHIN_MS).unref())
      await Promise.race([provider.shutdown().catch(() => {}), late])
    },
  }
}

export const tracerProvider = (
  settings: TracingSettings,
  about: Pick<About, 'version' | 'process_id'>,
  exporter: SpanExporter,
  ids: IdGenerator,
) =>
  new TracerProvider({
    resource: resourceOf(settings, about),
    sampler: new AlwaysOnSampler(), // who is not sampled has no span
    idGenerator: ids,
    spanProcessors: [processorOf(settings, exporter)],
  })

const otlp = ({ url, headers, timeout_ms }: TracingSettings): SpanExporter =>
  new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: timeout_ms })

const processorOf = ({ queue, timeout_ms }: TracingSettings, exporter: SpanExporter) =>
  new BatchSpanProcessor({
    exporter,
    maxQueueSize: queue.spans,
    maxExportBatchSize: queue.batch,
    scheduledDelayMillis: queue.delay_ms,
    exportTimeoutMillis: timeout_ms,
  })

const resourceOf = (
  { service_name, attributes }: TracingSettings,
  { version, process_id }: Pick<About, 'version' | 'process_id'>,
) =>
  defaultResource().merge(
    resourceFromAttributes({
      'service.version': version,
      'service.instance.id': process_id,
      ...attributes,
      'service.name': service_name,
    }),
  )

/** The clock's time at the start of a request, and from there on by a clock that runs evenly. */
function nowFrom(clock: Clock): () => number {
  const [began_ms, at_ms] = [clock.now(), performance.now()]
  return () => began_ms + performance.now() - at_ms
}

/** What cannot be read counts as not sent. */
function parentIn({ traceparent, tracestate }: FastifyRequest['headers']): SpanContext | undefined {
  const context = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  if (!context) return undefined
  if (typeof tracestate === 'string' && tracestate.length <= STATE_MAX) context.traceState = new TraceState(tracestate)
  context.isRemote = true
  return context
}

/** Each line of the request's log names its trace. */
function tellLog({ log }: FastifyRequest, names: { otel_trace_id: string; otel_span_id?: string }): void {
  if (log instanceof RequestLog) log.bind(names)
}

function close(traced: RequestTrace, { caller, id, route }: FastifyRequest, { statusCode }: FastifyReply): void {
  const attributes: Attributes = { [SPAN.status]: statusCode }
  if (caller) Object.assign(attributes, { [OWN.project_id]: caller.project_id, [OWN.key_id]: caller.key_id })
  if (route?.config?.class === 'inference') attributes[OWN.trace_id] = traceIdOf(id)
  traced.close(attributes, statusCode >= 500 ? String(statusCode) : undefined)
}

/** The one thing that its packages say and nobody else does: that spans were dropped. */
function droppedTo(logger: FastifyBaseLogger) {
  const nothing = () => {}
  const warn = (message: string) => message.startsWith('Dropped') && logger.warn({ by: 'opentelemetry' }, message)
  return { warn, error: nothing, info: nothing, debug: nothing, verbose: nothing }
}
