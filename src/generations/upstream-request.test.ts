// What goes out to a target. That no other byte changes is proven over the wire, in test/spec/v1-bytes.test.ts.
import { expect, test } from 'vitest'
import type { CallKind } from '../providers/provider.ts'
import type { Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import { bodyFor, chatLimitName, headersFor } from './upstream-request.ts'

function call(more: Partial<Call> & { json?: Record<string, unknown> } = {}): Call {
  const json = { model: 'fast', ...more.json }
  return {
    kind: 'chat',
    stream: false,
    wants_usage: false,
    model: 'fast',
    trace_id: 'trc_1',
    caller: { project_id: 'prj_1' },
    body: Buffer.from(JSON.stringify(json)),
    ...more,
    json,
  } as Call
}
const target = (profile: Target['profile'] = 'managed_provider', model = 'fast', responses_native = false) =>
  ({ profile, model, dialling: { responses_native } }) as Target
const sent = (asked: Call, to = target(), clamped_to?: number) => JSON.parse(bodyFor(asked, to, clamped_to).toString())

test('§9.4 an alias becomes the model’s own name', () => {
  expect(sent(call(), target('managed_provider', 'gpt-4o'))).toEqual({ model: 'gpt-4o' })
})

test.each([
  ['chat', { max_tokens: 5 }],
  ['completions', { max_tokens: 5 }],
  ['responses', { max_output_tokens: 5 }],
] as [CallKind, object][])('R43 %s: a shortened answer', (kind, more) => {
  expect(sent(call({ kind }), target(), 5)).toEqual({ model: 'fast', ...more })
})

// OpenAI's own newer models refuse max_tokens; others know nothing else.
test('R43 chat where the upstream has the newer protocol: under its newer name', () => {
  const held = 5
  const newer = target('managed_provider', 'fast', true)
  expect(sent(call(), newer, held)).toEqual({ model: 'fast', max_completion_tokens: 5 })
  expect(sent(call({ kind: 'completions' }), newer, held)).toEqual({ model: 'fast', max_tokens: 5 })
})

test.each([['x'], [7], [[1]], [true]])(
  'R41 stream options that are none (%j) are the upstream’s to refuse',
  (stream_options) => {
    expect(sent(call({ stream: true, json: { stream_options } })).stream_options).toEqual(stream_options)
  },
)

test('R41 a stream is asked for its usage, where that is the protocol’s way', () => {
  const stream_options = { include_usage: true }
  expect(sent(call({ stream: true }))).toEqual({ model: 'fast', stream_options })
  expect(sent(call({ stream: true, wants_usage: true }))).toEqual({ model: 'fast' })
  expect(sent(call({ stream: true, kind: 'responses' }))).toEqual({ model: 'fast' })
})

test.each(['managed_provider', 'byok', 'subscription'] as const)(
  'T-85 to %s only the trace id goes along',
  (profile) => {
    const asked = call({ session_id: 'ses_1', hints: { qos: { class: 'interactive', target_ttft_ms: 300 } } })
    expect(headersFor(asked, target(profile))).toEqual({ 'x-request-id': 'trc_1' })
  },
)

test('§1 byoc_native: the session too', () => {
  const asked = call({ session_id: 'ses_1', hints: { qos: { class: 'interactive', target_ttft_ms: 300 } } })
  expect(headersFor(asked, target('byoc_native'))).toEqual({ 'x-request-id': 'trc_1', 'x-session-id': 'ses_1' })
})

test('§1 byoc_epp: objective, fairness and target, in both spellings', () => {
  const asked = call({ session_id: 'ses_1', hints: { qos: { class: 'interactive', target_ttft_ms: 300 } } })
  const fairness = expect.stringMatching(/^[0-9a-f]{16}$/)
  const headers = headersFor(asked, target('byoc_epp'))
  expect(headers).toEqual({
    'x-request-id': 'trc_1',
    'x-session-id': 'ses_1',
    'x-llm-d-inference-objective': 'interactive',
    'x-gateway-inference-objective': 'interactive',
    'x-llm-d-inference-fairness-id': fairness,
    'x-gateway-inference-fairness-id': fairness,
    'x-llm-d-slo-ttft-ms': '300',
    'x-slo-ttft-ms': '300',
  })
  expect(JSON.stringify(headers)).not.toContain('prj_1')
  expect(headersFor(call(), target('byoc_epp'))).toMatchObject({ 'x-llm-d-inference-objective': 'standard' })
})

// A client names its session as it likes, and a header that cannot be sent would fail the call (T-87).
test.each(['Sitzung 東京', 'a\r\nx: y', '\0', 'é'])(
  'T-87 the session %j goes along in a form that a header can hold',
  (session_id) => {
    const headers = headersFor(call({ session_id }), target('byoc_native'))
    expect(headers['x-session-id']).toMatch(/^[!-~]+$/)
    expect(headersFor(call({ session_id }), target('byoc_native'))).toEqual(headers)
    expect(headersFor(call({ session_id: `${session_id}!` }), target('byoc_native'))).not.toEqual(headers)
  },
)

test.each([
  ['llama-4', false, undefined, 'max_tokens'],
  ['gpt-4o', false, undefined, 'max_tokens'],
  ['gpt-oss-120b', false, undefined, 'max_tokens'],
  ['olmo-3', false, undefined, 'max_tokens'],
  ['o1', false, undefined, 'max_completion_tokens'],
  ['o4-mini', false, undefined, 'max_completion_tokens'],
  ['openai/o3-pro', false, undefined, 'max_completion_tokens'],
  ['ft:o4-mini:acme', false, undefined, 'max_completion_tokens'],
  ['gpt-5', false, undefined, 'max_completion_tokens'],
  ['gpt-5.4-mini', false, undefined, 'max_completion_tokens'],
  ['gpt-4o', true, undefined, 'max_completion_tokens'],
  ['gpt-5', false, 'max_tokens', 'max_tokens'],
  ['deployed', false, 'max_completion_tokens', 'max_completion_tokens'],
] as const)(
  'R76 %s (Responses API: %s, setting: %s) takes a limit as %s',
  (model, responses_native, setting, field) => {
    const to = { model, dialling: { responses_native, output_limit_field: setting } } as Target
    expect(chatLimitName(to)).toBe(field)
  },
)
