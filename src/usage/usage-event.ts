// §8.2: what a generation used and cost, one immutable record each, under its trace id.
import { type Static, Type } from 'typebox'
import { orNull, time } from '../core/shapes.ts'
import type { Units } from '../models/unit-price.ts'

/** How a generation ended. */
export const ENDINGS = ['completed', 'client_left', 'upstream_failed', 'deadline_exceeded', 'failed'] as const
export type Ending = (typeof ENDINGS)[number]

const tokens = () => Type.Integer({ minimum: 0 })
const micros = () => Type.Integer({ minimum: 0 })

/**
 * One try at one target. More than one means that an earlier one failed before its first byte (R47). A `retry` is of a
 * target that failed before.
 */
export interface UsageAttempt {
  n: number
  kind: 'first' | 'provider_failover' | 'retry'
  target: string
  provider: string
  model: string
  status: number | undefined
  failure: string | undefined
  /** What the upstream said of it, where it said anything (R80). */
  message?: string | undefined
  ttft_ms: number | undefined
  times: AttemptTimes
}

const ATTEMPTS_MAX = 32

/** Of very many the first and the last, the one that answered among them; their `n` tells what is left out. */
export const keptAttempts = (attempts: readonly UsageAttempt[]): readonly UsageAttempt[] =>
  attempts.length <= ATTEMPTS_MAX
    ? attempts
    : [...attempts.slice(0, ATTEMPTS_MAX / 2), ...attempts.slice(-ATTEMPTS_MAX / 2)]

/** Milliseconds since the request arrived, and how much of them it waited for a slot. */
export interface AttemptTimes {
  started_ms: number
  queue_ms: number
  /** Slot and hold are taken, and the target is called. */
  dialled_ms: number
  /** The first content was there, or it was given up. */
  ended_ms: number
}

export const UsageAttempt = Type.Object(
  {
    n: Type.Integer(),
    kind: Type.Enum(['first', 'provider_failover', 'retry']),
    target: Type.String(),
    provider: Type.String(),
    model: Type.String(),
    status: Type.Optional(Type.Integer()),
    failure: Type.Optional(Type.String()),
    message: Type.Optional(
      Type.String({ description: "The upstream's own words about the failure: at most 2 KB, secrets removed." }),
    ),
    ttft_ms: Type.Optional(Type.Integer()),
    times: Type.Optional(
      Type.Object(
        {
          started_ms: Type.Integer(),
          queue_ms: Type.Integer({ description: 'How long it waited for a slot.' }),
          dialled_ms: Type.Integer({ description: 'Slot and hold are taken, and the target is called.' }),
          ended_ms: Type.Integer({ description: 'The first content was there, or it was given up.' }),
        },
        { description: 'Milliseconds since the request arrived.' },
      ),
    ),
  },
  { title: 'UsageAttempt' },
)

/** What can be added up, in an event and in a group of them. */
export const amounts = {
  input_tokens: tokens(),
  cached_tokens: tokens(),
  written_tokens: tokens(),
  output_tokens: tokens(),
  reasoning_tokens: tokens(),
  repeated_tokens_est: tokens(),
  missed_reuse_tokens: tokens(),
  charged_micros: micros(),
  direct_cost_micros: micros(),
  savings_micros: micros(),
  written_off_micros: micros(),
  overage_micros: Type.Integer({ minimum: 0, description: 'By how much it took the project above its cap (R72).' }),
  waived_micros: micros(),
}

/** What it took beside tokens of text, where its matter is images, sound or searches. */
const UsageUnits = Type.Object(
  {
    images: Type.Optional(Type.Integer()),
    size: Type.Optional(Type.String()),
    quality: Type.Optional(Type.String()),
    image_input_tokens: Type.Optional(Type.Integer()),
    audio_input_tokens: Type.Optional(Type.Integer()),
    text_output_tokens: Type.Optional(Type.Integer()),
    characters: Type.Optional(Type.Integer()),
    audio_seconds: Type.Optional(Type.Number()),
    searches: Type.Optional(Type.Integer()),
  },
  { title: 'UsageUnits' },
)
export type UsageUnits = Static<typeof UsageUnits>

const LABEL_MAX = 64

/** Sound is told in seconds. */
export function toldUnits({ audio_ms, size, quality, ...units }: Units): UsageUnits {
  return {
    ...units,
    ...(size !== undefined && { size: size.slice(0, LABEL_MAX) }),
    ...(quality !== undefined && { quality: quality.slice(0, LABEL_MAX) }),
    ...(audio_ms !== undefined && { audio_seconds: audio_ms / 1_000 }),
  }
}

export const UsageEvent = Type.Object(
  {
    id: Type.String({ description: 'The trace id.' }),
    object: Type.Literal('usage_event'),
    trace_id: Type.String(),
    project_id: Type.String(),
    key_id: Type.String(),
    created_at: time(),
    endpoint: Type.String(),
    status: Type.String(),
    requested_model: Type.String(),
    resolved_model: Type.String(),
    provider: Type.String(),
    profile: Type.String(),
    mode: Type.String(),
    region: Type.String(),
    alias_release_id: orNull(Type.String()),
    cluster_id: orNull(Type.String()),
    credential_id: orNull(Type.String()),
    subscription_id: orNull(Type.String()),
    session_id: orNull(Type.String()),
    bundle_id: orNull(Type.String()),
    tags: Type.Optional(
      // Absent where there are none; a serializer takes no schema of type undefined.
      Type.Unsafe<Record<string, string> | undefined>(
        Type.Record(Type.String(), Type.String(), {
          description: 'What it is filed under: `Agent-Tags`, `metadata`, `user`, `safety_identifier`.',
        }),
      ),
    ),
    ...amounts,
    tokens_estimated: Type.Boolean({ description: 'Counted here: the upstream told no tokens, or none that can be.' }),
    units: orNull(UsageUnits),
    admission: Type.String(),
    queue_ms: Type.Integer(),
    ttft_ms: orNull(Type.Integer()),
    duration_ms: Type.Integer(),
    attempts: Type.Unsafe<readonly UsageAttempt[]>(
      Type.Array(UsageAttempt, {
        description: `Of more than ${ATTEMPTS_MAX} the first and the last ${ATTEMPTS_MAX / 2}; \`n\` counts all.`,
      }),
    ),
  },
  { title: 'UsageEvent' },
)
export type UsageEvent = Static<typeof UsageEvent>
