// Traces over OTLP, as a collector receives them: every span and number of a call that fails over; whose context is taken
// and passed on; what is sampled; and that a collector which is away disturbs nobody.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { startTracing } from '../../src/telemetry/otlp-tracing.ts'
import type { Tracing } from '../../src/telemetry/traced-call.ts'
import type { TracingSettings } from '../../src/telemetry/tracing-settings.ts'
import { ENGINE } from '../support/databases.ts'
import { comesTrue, KEY, TEXT } from '../support/inference-cases.ts'
import { type Stage, startScene } from '../support/inference-scene.ts'
import { type ReceivedSpan, startReceiver } from '../support/otlp-receiver.ts'
import { deferred } from '../support/tampered-db.ts'

const LIMIT = 1_000_000
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = (flags = '01', trace = TRACE) => `00-${trace}-${PARENT}-${flags}`

const settingsFor = (url: string, more: Partial<TracingSettings> = {}): TracingSettings => ({
  ...{ url, headers: { 'x-team': 'search' }, timeout_ms: 2_000, sample_ratio: 1, parent_based: true },
  ...{ service_name: 'gateway', attributes: { 'deployment.environment.name': 'test' }, propagate_to: [] },
  queue: { spans: 200, batch: 50, delay_ms: 20 },
  ...more,
})

/** A service that is traced, and what its collector receives. */
async function startTraced(more: Partial<TracingSettings> = {}) {
  const receiver = await startReceiver()
  const log: { level: string; fields: Record<string, unknown>; message: string }[] = []
  const at = (level: string) => (fields: Record<string, unknown>, message: string) =>
    log.push({ level, fields, message })
  const logger = { warn: at('warn'), info: at('info') }
  const about = { version: '1.2.3', process_id: 'replica-1', clock: systemClock, logger: logger as never }
  const tracing = startTracing(settingsFor(receiver.url, more), about)
  const scene = await startScene({ parts: { tracing } })
  /** Once all of a trace is there: its own span ends last. */
  const traceOf = async (wanted: (span: ReceivedSpan) => boolean) => {
    await comesTrue(async () => receiver.spans.some((span) => span.kind === 'server' && wanted(span)))
    const root = receiver.spans.find((span) => span.kind === 'server' && wanted(span)) as ReceivedSpan
    const spans = receiver.spans.filter(({ trace_id }) => trace_id === root.trace_id)
    return { root, spans: spans.sort((a, b) => a.start - b.start), named: (name: string) => byName(spans, name) }
  }
  const stop = async () => {
    await scene.stop()
    await tracing.stop()
    await receiver.close()
  }
  return { ...scene, scene, receiver, tracing, traceOf, traces_log: log, stop }
}

const byName = (spans: readonly ReceivedSpan[], name: string) => spans.find((span) => span.name === name)
const requestOf = (heard: { headers: Record<string, string> }) => (span: ReceivedSpan) =>
  span.attributes['switchyard.request_id'] === heard.headers['x-request-id']

describe(ENGINE, () => {
  let traced: Awaited<ReturnType<typeof startTraced>>
  beforeAll(async () => {
    traced = await startTraced()
  })
  afterAll(() => traced?.stop())

  test('§operations a call that fails over: every span and every number of it', async () => {
    const stage = await traced.stage({ key: LIMIT })
    const { first, second, both: model } = stage
    stage.one.behave({ status: 500, body: 'the words of an upstream' })
    stage.two.behave({ usage: { input: 100, cached: 60, cache_written: 10, output: 5, reasoning: 2 } })
    const asked = { model, stream: true, max_tokens: 50 }
    const heard = await stage.chat(asked, { keyed: KEY, headers: { traceparent: traceparent(), tracestate: 'a=b' } })
    const { root, spans, named } = await traced.traceOf(requestOf(heard))

    expect(spans.map(({ name }) => name).sort()).toEqual(
      [
        ...['POST /v1/chat/completions', 'auth', 'limits', 'body', 'read', 'allow', 'route', 'reserve'],
        ...['slot', 'hold', `chat ${model}`, 'slot', 'hold', `chat ${model}`, 'settle'],
      ].sort(),
    )
    expect([root.trace_id, root.parent_id, root.trace_state, root.scope]).toEqual([TRACE, PARENT, 'a=b', 'switchyard'])
    for (const span of spans) {
      if (span !== root) expect([span.name, span.parent_id]).toEqual([span.name, root.span_id])
      expect(span.end).toBeGreaterThanOrEqual(span.start)
      expect([span.start >= root.start, span.end <= root.end]).toEqual([true, true])
    }
    const charged = 30 + 30 + 20 + 10
    const used = {
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.cache_creation.input_tokens': 10,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    }
    const money = { 'switchyard.charged_micros': charged, 'switchyard.direct_cost_micros': 110 }
    expect(root.attributes).toEqual({
      ...{ 'http.request.method': 'POST', 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 },
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': second, 'gen_ai.request.model': model },
      ...{ 'gen_ai.response.model': model, 'gen_ai.request.stream': true },
      ...{ 'switchyard.request_id': heard.headers['x-request-id'] },
      ...{ 'switchyard.trace_id': heard.headers['agent-trace-id'], 'switchyard.project_id': stage.project.id },
      ...{ 'switchyard.key_id': stage.key_id, 'switchyard.outcome': 'completed' },
      ...{ 'switchyard.profile': 'managed_provider', 'switchyard.mode': 'emergency_fallback' },
      ...{ 'switchyard.region': 'eu', 'switchyard.admission': 'admitted', 'switchyard.fallback_used': true },
      ...{ 'switchyard.attempts': 2, 'switchyard.tokens_estimated': false },
      ...used,
      ...money,
    })
    expect(root.status).toBe(0)
    const [failed, answered] = spans.filter(({ kind }) => kind === 'client')
    const dialled = (provider: string, port: number) => ({
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': provider, 'gen_ai.request.model': model },
      ...{ 'server.address': '127.0.0.1', 'server.port': port, 'switchyard.profile': 'managed_provider' },
    })
    expect([failed?.status, failed?.attributes]).toEqual([
      2,
      {
        ...dialled(first, stage.one.port),
        ...{ 'switchyard.target': `provider:${first}`, 'switchyard.attempt': 1 },
        ...{ 'http.response.status_code': 500, 'error.type': '500' },
      },
    ])
    expect([answered?.status, answered?.attributes]).toEqual([
      0,
      {
        ...dialled(second, stage.two.port),
        ...{ 'switchyard.target': `provider:${second}`, 'switchyard.attempt': 2, 'http.response.status_code': 200 },
        ...used,
      },
    ])
    expect(named('settle')?.attributes).toEqual(money)
    expect(root.resource).toMatchObject({
      ...{ 'service.name': 'gateway', 'service.version': '1.2.3', 'service.instance.id': 'replica-1' },
      ...{ 'deployment.environment.name': 'test', 'telemetry.sdk.name': 'opentelemetry' },
    })
    const [sent] = traced.receiver.requests
    expect([sent?.url, sent?.headers['content-type'], sent?.headers['x-team']]).toEqual([
      ...['/v1/traces', 'application/x-protobuf', 'search'],
    ])
    for (const upstream of [stage.one, stage.two])
      for (const { headers } of upstream.requests)
        expect([headers.traceparent, headers.tracestate]).toEqual([undefined, undefined])
  })

  test('§operations no span has a word of a prompt, an answer, a key, or what an upstream said', async () => {
    const stage = await traced.stage({ key: LIMIT })
    const secret = 'the-prompt-nobody-may-read'
    stage.one.behave({ status: 400, body: { error: { message: `you said ${secret}`, type: 'invalid_request_error' } } })
    const refused = await stage.chat({ messages: [{ role: 'user', content: secret }] })
    stage.one.behave({ status: 500, body: `I will not do ${secret}` })
    const failed = await stage.chat({ messages: [{ role: 'user', content: secret }] })
    stage.one.behave({})
    const answered = await stage.chat({ messages: [{ role: 'user', content: secret }] })
    expect(answered.text).toContain(TEXT)
    for (const heard of [refused, failed, answered]) await traced.traceOf(requestOf(heard))
    const told = JSON.stringify(traced.receiver.spans)
    for (const word of [secret, TEXT, stage.key, 'the words of an upstream', 'Bearer']) expect(told).not.toContain(word)
  })

  test('§operations a refusal and a failure are told as what they are', async () => {
    const stage = await traced.stage({ key: LIMIT })
    stage.one.behave({ status: 503, body: 'later' })
    const failed = await traced.traceOf(requestOf(await stage.chat()))
    expect([failed.root.status, failed.root.attributes]).toMatchObject([
      2,
      { 'error.type': 'failed', 'http.response.status_code': 502, 'switchyard.refusal': 'upstream_failed' },
    ])
    const poor = await traced.stage({ key: 1 })
    const broke = await traced.traceOf(requestOf(await poor.chat()))
    expect([broke.root.status, broke.root.attributes]).toMatchObject([
      0, // a client's own mistake is none of the server's
      { 'http.response.status_code': 429, 'switchyard.refusal': 'quota_exceeded' },
    ])
    expect(broke.spans.filter(({ kind }) => kind === 'client')).toEqual([])
    const unknown = await traced.traceOf(requestOf(await stage.ask('/v1/chat/completions', { body: '{"model":' })))
    expect(unknown.root.attributes).toMatchObject({ 'http.response.status_code': 400 })
  })

  test('§operations own clusters are passed the context of the attempt; providers are not', async () => {
    const stage = await traced.stage()
    const cluster = { name: 'atlas', region: 'eu-1', endpoint: stage.two.base_url, orchestrator: 'none' }
    const { body } = await stage.post('/v2/byoc/clusters', cluster)
    await stage.post(`/v2/byoc/clusters/${body.id}/heartbeat`, { status: 'active', models: [{ id: 'own-model' }] })
    const sampled = await stage.chat(
      { model: 'own-model' },
      { headers: { tracestate: 'x=1', traceparent: traceparent() } },
    )
    const { spans } = await traced.traceOf(requestOf(sampled))
    const attempt = spans.find(({ name, kind }) => kind === 'client' && name === 'chat own-model')
    const [first] = stage.two.requests
    expect(first?.headers).toMatchObject({ traceparent: `00-${TRACE}-${attempt?.span_id}-01`, tracestate: 'x=1' })

    // Not sampled: nothing is recorded, and the trace goes on all the same.
    const other = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    await stage.chat({ model: 'own-model' }, { headers: { traceparent: traceparent('00', other) } })
    expect(stage.two.requests[1]?.headers.traceparent).toBe(traceparent('00', other))
    const next = await stage.chat({ model: 'own-model' })
    await traced.traceOf(requestOf(next))
    expect(traced.receiver.spans.filter(({ trace_id }) => trace_id === other)).toEqual([])
  })

  test.each(['', '00-xyz', `00-${'0'.repeat(32)}-${PARENT}-01`, `ff-${TRACE}-${PARENT}-01`, 'x'.repeat(9_000)])(
    '§operations a traceparent that is none (%#) begins a new trace',
    async (header) => {
      const stage = await traced.stage()
      const heard = await stage.chat({}, { headers: { traceparent: header } })
      const { root } = await traced.traceOf(requestOf(heard))
      expect([heard.status, root.parent_id]).toEqual([200, undefined])
      expect(root.trace_id).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
      expect(root.trace_id).not.toBe(TRACE)
    },
  )

  test('§operations lines of the log name the trace', async () => {
    const stage = await traced.stage()
    stage.one.behave({ status: 500, body: 'oops' })
    const heard = await stage.chat()
    const { root } = await traced.traceOf(requestOf(heard))
    const lines = traced.log
      .map((line) => JSON.parse(line))
      .filter(({ reqId }) => reqId === heard.headers['x-request-id'])
    expect(lines).toMatchObject([{ otel_trace_id: root.trace_id, otel_span_id: root.span_id }])
  })

  test('R26 a keyed call whose client left is traced to its end', async () => {
    const stage = await traced.stage({ key: LIMIT })
    const aborted = async () => (await traced.metrics.aborted.get()).values[0]?.value ?? 0
    const before = await aborted()
    const held = deferred()
    stage.one.behave({ pace: (event) => (event > 2 ? held.promise : undefined) })
    const leaving = stage.openChat({ stream: true }, { keyed: KEY })
    const { headers } = await leaving.head
    await leaving.says('data:')
    leaving.leave()
    await comesTrue(async () => (await aborted()) > before)
    held.resolve()
    const { root, named } = await traced.traceOf(requestOf({ headers: headers as Record<string, string> }))
    expect(root.attributes).toMatchObject({ 'switchyard.outcome': 'completed', 'switchyard.charged_micros': 25 })
    expect(named('settle')).toBeDefined()
  })
})

describe('what is sampled', () => {
  const sampledOf = async (more: Partial<TracingSettings>, calls: (stage: Stage) => Promise<unknown>) => {
    const traced = await startTraced(more)
    try {
      await calls(await traced.stage())
      await traced.scene.app.close()
      await traced.scene.inference.close()
      await traced.tracing.stop()
      return traced.receiver.spans.filter(({ kind }) => kind === 'server').map(({ trace_id }) => trace_id)
    } finally {
      await traced.stop()
    }
  }

  test('§operations of those that nobody decided on, the ratio; of the others, what their client said', async () => {
    const traces = await sampledOf({ sample_ratio: 0 }, async (stage) => {
      await stage.chat()
      await stage.chat({}, { headers: { traceparent: traceparent('01') } })
    })
    expect(traces).toEqual([TRACE])
  })

  test('§operations without parent_based the ratio alone', async () => {
    const traces = await sampledOf({ sample_ratio: 0, parent_based: false }, async (stage) => {
      await stage.chat({}, { headers: { traceparent: traceparent('01') } })
    })
    expect(traces).toEqual([])
  })
})

describe('a collector that is away', () => {
  let traced: Awaited<ReturnType<typeof startTraced>> & { tracing: Tracing }
  beforeAll(async () => {
    traced = await startTraced({ timeout_ms: 300 })
  })
  afterAll(() => traced?.stop())

  test('§operations calls go on, what waits is bounded, and it is told once that spans are lost, once that none are', async () => {
    const stage = await traced.stage({ key: LIMIT })
    traced.receiver.behave({ status: 400 })
    for (let n = 0; n < 40; n++) expect((await stage.chat()).status).toBe(200) // more spans than have room
    const told = (text: string) => traced.traces_log.filter(({ message }) => message.includes(text))
    await comesTrue(async () => traced.receiver.requests.length > 2)
    expect(told('cannot be exported')).toHaveLength(1)
    const hung = deferred()
    traced.receiver.behave({ wait: hung.promise })
    for (let n = 0; n < 40; n++) expect((await stage.chat()).status).toBe(200)
    expect(told('cannot be exported')).toHaveLength(1)
    traced.receiver.behave({})
    hung.resolve()
    await comesTrue(async () => {
      await stage.chat()
      return told('exported again').length === 1
    })
    expect(told('exported again')[0]?.fields.lost_spans).toBeGreaterThan(0)
  })
})
