// A collector as far as a test needs one: takes traces over OTLP as HTTP and protobuf, and reads them by OpenTelemetry's
// own definitions. It can be away, slow, or refuse.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import definitions from 'otlp-definitions/build/src/generated/root.js'

const { ExportTraceServiceRequest, ExportTraceServiceResponse } = (definitions as unknown as Definitions).opentelemetry
  .proto.collector.trace.v1

interface Definitions {
  opentelemetry: {
    proto: { collector: { trace: { v1: Record<`ExportTraceService${'Request' | 'Response'}`, Message> } } }
  }
}

interface Message {
  decode(bytes: Uint8Array): unknown
  encode(message: object): { finish(): Uint8Array }
}

type Value = { stringValue?: string; boolValue?: boolean; intValue?: unknown; doubleValue?: number }

interface RawSpan {
  traceId: Uint8Array
  spanId: Uint8Array
  parentSpanId?: Uint8Array
  traceState?: string
  name: string
  kind: number
  startTimeUnixNano: unknown
  endTimeUnixNano: unknown
  attributes: { key: string; value: Value }[]
  status?: { code?: number; message?: string }
}

export interface ReceivedSpan {
  trace_id: string
  span_id: string
  parent_id: string | undefined
  trace_state: string
  name: string
  kind: 'internal' | 'server' | 'client'
  /** In milliseconds. */
  start: number
  end: number
  attributes: Record<string, unknown>
  /** 2 is an error. */
  status: number
  resource: Record<string, unknown>
  scope: string
}

const KINDS = [undefined, 'internal', 'server', 'client'] as const

export async function startReceiver() {
  const spans: ReceivedSpan[] = []
  const requests: { headers: IncomingMessage['headers']; url: string; bytes: number }[] = []
  let manner: { status?: number; wait?: Promise<unknown> } = {}
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const bytes = Buffer.concat(parts)
    requests.push({ headers: request.headers, url: request.url ?? '', bytes: bytes.length })
    await manner.wait
    if (manner.status === undefined) spans.push(...read(bytes))
    response.writeHead(manner.status ?? 200, { 'content-type': 'application/x-protobuf' })
    response.end(ExportTraceServiceResponse.encode({}).finish())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    spans,
    requests,
    url: `http://127.0.0.1:${port}/v1/traces`,
    origin: `http://127.0.0.1:${port}`,
    behave(next: typeof manner): void {
      manner = next
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function read(bytes: Buffer): ReceivedSpan[] {
  const { resourceSpans } = ExportTraceServiceRequest.decode(bytes) as {
    resourceSpans: {
      resource: { attributes: RawSpan['attributes'] }
      scopeSpans: { scope: { name: string }; spans: RawSpan[] }[]
    }[]
  }
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        trace_id: Buffer.from(span.traceId).toString('hex'),
        span_id: Buffer.from(span.spanId).toString('hex'),
        parent_id: span.parentSpanId?.length ? Buffer.from(span.parentSpanId).toString('hex') : undefined,
        trace_state: span.traceState ?? '',
        name: span.name,
        kind: KINDS[span.kind] ?? 'internal',
        start: Number(String(span.startTimeUnixNano)) / 1e6,
        end: Number(String(span.endTimeUnixNano)) / 1e6,
        attributes: valuesOf(span.attributes),
        status: span.status?.code ?? 0,
        resource: valuesOf(resource.attributes),
        scope: scope.name,
      })),
    ),
  )
}

const valuesOf = (attributes: RawSpan['attributes']) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.intValue === undefined || value.intValue === null
        ? (value.stringValue ?? value.boolValue ?? value.doubleValue)
        : Number(String(value.intValue)),
    ]),
  )
