// A trace, worked out of a usage event by numbers alone.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { rfc3339 } from '../core/clock.ts'
import { traceOf } from './trace.ts'
import type { UsageAttempt } from './usage-event.ts'

const FACTS = { stream: true, keyed: true, fallback_used: true, target_met: false, hints_honored: ['qos', 'reuse'] }

const attempt = (n: number, more: Partial<UsageAttempt>): UsageAttempt => ({
  n,
  kind: n === 1 ? 'first' : 'provider_failover',
  target: `provider:p${n}`,
  provider: `p${n}`,
  model: 'gpt-4o',
  status: undefined,
  failure: undefined,
  ttft_ms: undefined,
  times: { started_ms: 0, queue_ms: 0, dialled_ms: 0, ended_ms: 0 },
  ...more,
})

const failedOver = usageEvent('prj_1', {
  mode: 'emergency_fallback',
  ttft_ms: 480,
  duration_ms: 900,
  attempts: [
    attempt(1, {
      status: 503,
      failure: 'status 503',
      times: { started_ms: 2, queue_ms: 30, dialled_ms: 35, ended_ms: 95 },
    }),
    attempt(2, { status: 200, ttft_ms: 480, times: { started_ms: 95, queue_ms: 0, dialled_ms: 100, ended_ms: 480 } }),
  ],
})

test('R47 a failover from arrival to end, each step where it belongs', () => {
  const { timeline, arrived_at, ended_at, duration_ms } = traceOf({ event: failedOver, facts: FACTS })
  expect([arrived_at, ended_at, duration_ms]).toEqual([rfc3339(NOON - 900), rfc3339(NOON), 900])
  expect(timeline.map((step) => [step.phase, step.started_ms, step.duration_ms, step.attempt, step.outcome])).toEqual([
    ['arrival', 0, 0, null, null],
    ['admission', 2, 30, 1, null],
    ['hold', 32, 3, 1, null],
    ['attempt', 35, 60, 1, 'status 503'],
    ['admission', 95, 0, 2, null],
    ['hold', 95, 5, 2, null],
    ['attempt', 100, 380, 2, 'answered'],
    ['first_token', 480, 0, null, null],
    ['answer', 480, 420, null, null],
    ['settle', 900, 0, null, null],
    ['end', 900, 0, null, 'completed'],
  ])
  expect(timeline[3]?.at).toBe(rfc3339(NOON - 900 + 35))
  expect(timeline.every(({ sentence }) => /^[A-Za-z0-9/$].*\.$/.test(sentence))).toBe(true)
})

test('§10.2 every header is told with its value and a sentence; what a stream cost went behind it', () => {
  const { headers } = traceOf({ event: failedOver, facts: FACTS })
  const told = Object.fromEntries(headers.map(({ name, value, sent_as }) => [name, `${sent_as} ${value}`]))
  expect(told).toMatchObject({
    'agent-execution-mode': 'header emergency_fallback',
    'agent-qos-target-met': 'header false',
    'agent-hints-honored': 'header qos,reuse',
    'agent-idempotent-replay': 'header false',
    'agent-charged-micros': 'trailer 300',
    'agent-savings-micros': 'trailer 150',
  })
  expect(headers.find(({ name }) => name === 'agent-hints-honored')?.sentence).toContain('qos, reuse')
})

test.each([
  ['client_left', 300, 'charged'],
  ['upstream_failed', 0, 'nothing was charged'],
  ['upstream_failed', 300, 'what had come was charged'],
  ['deadline_exceeded', 0, 'nothing was charged'],
  ['deadline_exceeded', 300, 'what had come was charged'],
])('R26, R44, R71 %s, %i micros: it says who pays', (status, charged_micros, words) => {
  const { timeline } = traceOf({ event: usageEvent('prj_1', { status, charged_micros }), facts: FACTS })
  expect(timeline.at(-1)).toMatchObject({ phase: 'end', outcome: status, sentence: expect.stringContaining(words) })
})

test('R80 a status that is the failure is said once', () => {
  const sentences = traceOf({ event: failedOver, facts: FACTS }).timeline.map(({ sentence }) => sentence)
  expect(sentences).toContain('provider:p1 was called for gpt-4o, and failed: status 503.')
})

test.each([
  ['completed', null],
  ['client_left', null],
  ['failed', { layer: 'upstream', status: 502, code: 'upstream_error' }],
  ['upstream_failed', { layer: 'upstream', status: 200 }],
  ['deadline_exceeded', { layer: 'deadline', status: 200, code: 'deadline_exceeded' }],
] as const)('R80 what an event alone tells of one that ended as %s', (status, refusal) => {
  const attempts = [attempt(1, { status: 500, failure: 'status 500', message: 'boom' })]
  const told = traceOf({
    event: usageEvent('prj_1', { status, attempts }),
    facts: { stream: false, keyed: false, fallback_used: false },
  }).refusal
  if (refusal === null) expect(told).toBeNull()
  else expect(told).toMatchObject({ ...refusal, upstream_message: 'boom', count: 1 })
})
