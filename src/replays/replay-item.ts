// One call of a replay run: a recorded call and an arm. What was planned for it, and what becomes of it once it was
// asked. Pure.
import { type Static, Type } from 'typebox'
import { HOUR_MS, SECOND_MS } from '../core/clock.ts'
import { orNull } from '../core/shapes.ts'
import { ITEM_KEYS } from '../idempotency/idempotency.ts'
import { Sameness } from './said-comparison.ts'

/** The control asks the same again as it was recorded: what differs there differs by itself. */
export const ARMS = ['target', 'control'] as const
export type Arm = (typeof ARMS)[number]

export const ITEM_STATUSES = ['pending', 'running', 'done', 'skipped', 'failed'] as const
export type ItemStatus = (typeof ITEM_STATUSES)[number]

/** Why an item is not asked, or was not answered. */
export const REASONS = [
  ...(['not_found', 'not_recorded', 'not_completed', 'not_compared', 'refused'] as const), // by the plan
  ...(['erased', 'max_cost', 'cancelled', 'interrupted', 'upstream', 'ended'] as const),
] as const
export type Reason = (typeof REASONS)[number]

export const Planned = Type.Object({
  route: orNull(
    Type.Object({
      target: Type.String(),
      provider: Type.String(),
      model: Type.String(),
      profile: Type.String(),
    }),
  ),
  low_micros: Type.Integer({ description: 'What it costs there if it uses the tokens that were recorded.' }),
  high_micros: Type.Integer({ description: 'What is held for it, and so the most that it can cost.' }),
  expected_cached_tokens: Type.Integer({ description: 'What the target is believed to have in its cache.' }),
})
export type Planned = Static<typeof Planned>

export const Figures = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  input_tokens: Type.Integer(),
  cached_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  charged_micros: Type.Integer(),
  ttft_ms: orNull(Type.Integer()),
  duration_ms: Type.Integer(),
})
export type Figures = Static<typeof Figures>

export const Result = Type.Object({
  trace_id: Type.String({ description: 'Of the call that was made: its usage event and its trace.' }),
  ...Figures.properties,
  finish_reason: orNull(Type.String()),
  recorded_finish_reason: orNull(Type.String()),
  same: Sameness,
})
export type Result = Static<typeof Result>

export const ReplayItem = Type.Object(
  {
    object: Type.Literal('replay_item'),
    replay_run_id: Type.String(),
    trace_id: Type.String({ description: 'Of the recorded call.' }),
    arm: Type.Enum([...ARMS]),
    status: Type.Enum([...ITEM_STATUSES]),
    reason: orNull(Type.Enum([...REASONS])),
    message: orNull(Type.String()),
    planned: Planned,
    recorded: orNull(Figures),
    result: orNull(Result),
  },
  { title: 'ReplayItem' },
)
export type ReplayItem = Static<typeof ReplayItem>

export interface StoredItem extends Omit<ReplayItem, 'object'> {
  project_id: string
  position: number
  attempts: number
}

export const NOTHING_PLANNED: Planned = { route: null, low_micros: 0, high_micros: 0, expected_cached_tokens: 0 }

const MESSAGE_MAX = 1_000
export const shortened = (message: string | null) => message?.slice(0, MESSAGE_MAX) ?? null

/** What a call of an item was answered. */
export interface ItemAnswer {
  status: number
  /** The identifier of the envelope, where it is no success. */
  type: string | null
  message: string | null
  /** Its usage event says that it came to its end. */
  is_completed: boolean
}

export type Next =
  | { kind: 'done' }
  | { kind: 'again'; not_before_ms: number; attempts: number }
  | { kind: 'over'; status: 'skipped' | 'failed'; reason: Reason; message: string | null }
  /** The key of the run has ended: nothing more can be asked. */
  | { kind: 'run_over' }

const ATTEMPTS_MAX = 4
const FIRST_PAUSE_MS = 2 * SECOND_MS
const CONFLICT_PAUSE_MS = SECOND_MS

/** `is_alone`: no other call of the run is under way, so what does not fit now will not fit later. */
export function afterCall(answer: ItemAnswer, attempts: number, { is_alone, now }: { is_alone: boolean; now: number }) {
  const { status, type, message } = answer
  const over = (to: 'skipped' | 'failed', reason: Reason): Next => ({ kind: 'over', status: to, reason, message })
  if (status < 300 && answer.is_completed) return { kind: 'done' } satisfies Next
  if (status === 401) return { kind: 'run_over' } satisfies Next
  // Another handler is at work on it, or was when it died: its answer is kept, or the call is free again soon.
  if (status === 409) return { kind: 'again', not_before_ms: now + CONFLICT_PAUSE_MS, attempts } satisfies Next
  if (status === 410) return over('failed', 'erased')
  if (status === 429 && type === 'quota_exceeded')
    return is_alone ? over('skipped', 'max_cost') : ({ kind: 'again', not_before_ms: now, attempts } satisfies Next)
  const may_pass = status < 300 || status === 408 || status === 429 || status >= 500
  if (!may_pass) return over('failed', 'refused')
  if (attempts + 1 >= ATTEMPTS_MAX) return over('failed', 'upstream')
  return {
    kind: 'again',
    not_before_ms: now + FIRST_PAUSE_MS * 2 ** attempts,
    attempts: attempts + 1,
  } satisfies Next
}

/**
 * An answer is kept for a day under the item's own key: so long, whoever comes to it after a crash gets the same one.
 * Afterwards nobody could tell whether it was asked, and it is not asked again.
 */
const KNOWN_FOR_MS = 23 * HOUR_MS

export const mayBeAsked = (begun_ms: number | null, now: number) => begun_ms === null || now - begun_ms < KNOWN_FOR_MS

/** Never twice: over crashes and replicas, a call of a run has one name. */
export const itemKey = (run_id: string, trace_id: string, arm: Arm) => `${ITEM_KEYS}${run_id}/${trace_id}/${arm}`
