// What happened to one generation and when, step by step, each with a sentence for people (R80). Pure.
import { type Static, Type } from 'typebox'
import { orNull, time } from '../core/shapes.ts'
import { inBounds } from '../core/told-text.ts'
import type { RefusalKind } from '../refusals/refusal-kind.ts'
import type { RefusedCall } from '../refusals/refused-call.ts'
import type { UsageEvent } from './usage-event.ts'

const PHASES = ['arrival', 'admission', 'hold', 'attempt', 'first_token', 'answer', 'settle', 'refusal', 'end'] as const

export const Step = Type.Object({
  phase: Type.Enum(PHASES),
  at: time(),
  started_ms: Type.Integer({ description: 'Since the request arrived.' }),
  duration_ms: Type.Integer({ description: '0 for what is a moment.' }),
  attempt: orNull(Type.Integer({ description: 'Which attempt it belongs to; null where to none.' })),
  target: orNull(Type.String()),
  outcome: orNull(Type.String({ description: 'How an attempt, or the whole, ended; null elsewhere.' })),
  sentence: Type.String({ description: 'The same for people.' }),
})
type Step = Static<typeof Step>

export type Moment = Omit<Step, 'at'>

const moment = (phase: Step['phase'], started_ms: number, sentence: string, more: Partial<Moment> = {}): Moment => ({
  phase,
  started_ms,
  duration_ms: 0,
  attempt: null,
  target: null,
  outcome: null,
  sentence,
  ...more,
})

export function timelineOf(event: UsageEvent): Moment[] {
  const { attempts, ttft_ms, duration_ms, endpoint, requested_model } = event
  return [
    moment('arrival', 0, `${endpoint} asked for ${requested_model}.`),
    ...attempts.flatMap(attemptSteps),
    ...(ttft_ms === null ? [] : answerSteps(ttft_ms, duration_ms)),
    moment('settle', duration_ms, settleSentence(event)),
    moment('end', duration_ms, endSentence(event), { outcome: event.status }),
  ]
}

/** R80: its arrival, what was tried, and the layer that said no. */
export function refusedTimeline(call: RefusedCall): Moment[] {
  const { endpoint, model, attempts, duration_ms, kind, target } = call
  return [
    moment('arrival', 0, model === null ? `A request to ${endpoint}.` : `${endpoint} asked for ${model}.`),
    ...attempts.flatMap(attemptSteps),
    moment('refusal', duration_ms, `It was refused: ${LAYERS[kind]}.`, { target, outcome: kind }),
  ]
}

const LAYERS: Readonly<Record<RefusalKind, string>> = {
  scope: 'the key lacks the scope that this takes',
  key_limit: 'a rate of the key was used up',
  project_limit: 'a rate of the project was used up',
  idempotency: 'a request with the same idempotency key was still running',
  validation: 'the request was not valid',
  not_found: 'there is no such model for this key',
  budget: 'a budget was used up',
  capacity: 'there was no place to wait for the target',
  deadline: 'its deadline had passed',
  upstream: 'the upstream did not take it',
  unavailable: 'nothing that it needs could serve it',
  fault: 'something went wrong on our side',
}

type Attempt = UsageEvent['attempts'][number]

function attemptSteps(told: Attempt): Moment[] {
  const { n: attempt, target, failure, times } = told
  const admitted_ms = times.started_ms + times.queue_ms
  const whose = { attempt, target }
  const waited = times.queue_ms > 0
  return [
    moment(
      'admission',
      times.started_ms,
      waited ? `It waited for a slot of ${target}.` : `${target} had a slot free.`,
      {
        ...whose,
        duration_ms: times.queue_ms,
      },
    ),
    moment('hold', admitted_ms, 'The most it could cost was set aside, where a limit applies.', {
      ...whose,
      duration_ms: Math.max(0, times.dialled_ms - admitted_ms),
    }),
    moment('attempt', times.dialled_ms, attemptSentence(told), {
      ...whose,
      duration_ms: Math.max(0, times.ended_ms - times.dialled_ms),
      outcome: failure ?? 'answered',
    }),
  ]
}

const WORDS_SHOWN_BYTES = 300

function attemptSentence({ kind, target, model, status, failure, message, ttft_ms }: Attempt): string {
  const called = kind === 'first' ? `${target} was called for ${model}` : `${target} was called instead, for ${model}`
  if (failure === undefined) return `${called}, and answered.`
  const told = status === undefined || failure === `status ${status}` ? failure : `${failure}, status ${status}`
  const became = ttft_ms === undefined ? `failed: ${told}` : `broke off in mid-answer: ${failure}`
  const said = message === undefined ? '' : ` It said: ${inBounds(message, WORDS_SHOWN_BYTES)}`
  return `${called}, and ${became}.${said}`
}

const answerSteps = (ttft_ms: number, duration_ms: number): Moment[] => [
  moment('first_token', ttft_ms, 'The first content was there.'),
  moment('answer', ttft_ms, 'The answer went to the client.', { duration_ms: Math.max(0, duration_ms - ttft_ms) }),
]

function settleSentence({ charged_micros, written_off_micros, waived_micros }: UsageEvent): string {
  const off = written_off_micros > 0 ? ` $${written_off_micros / 1e6} more was written off.` : ''
  const waived = waived_micros > 0 ? ` $${waived_micros / 1e6} was waived.` : ''
  return `$${charged_micros / 1e6} was charged.${off}${waived}`
}

const ENDINGS: Readonly<Record<string, string>> = {
  completed: 'It was answered in full.',
  failed: 'No target answered; nothing was charged.',
  client_left: 'The client left before the end; what was produced until then was charged.',
  upstream_failed: 'It broke off in mid-answer',
  deadline_exceeded: 'Its time was over in mid-answer',
}

/** R71: what broke off may be charged all the same. */
function endSentence({ status, charged_micros }: UsageEvent): string {
  const sentence = ENDINGS[status] ?? `It ended: ${status}.`
  if (sentence.endsWith('.')) return sentence
  return `${sentence}; ${charged_micros > 0 ? 'what had come was charged' : 'nothing was charged'}.`
}
