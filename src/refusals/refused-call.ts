// R80: a generation that was refused before it left a usage event, as it is kept: which layer said no, what the client
// was told, and whom it had met until then.
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import type { About, Refusal } from '../core/refusal.ts'
import { inBounds } from '../core/told-text.ts'
import type { UsageAttempt } from '../usage/usage-event.ts'
import type { RefusalKind } from './refusal-kind.ts'

export const KEPT_CALL_MS = 30 * DAY_MS // R80
/** Of one project; the newest stay. */
export const KEPT_CALLS_MAX = 10_000
/** Of one project in a minute, so that nobody can fill the store with refusals that are never quite the same. */
export const CALLS_PER_MINUTE = 60
/** R80 asks for the first of a minute. A stock client repeats a call twice, and tells the id of its last try. */
export const ALIKE_KEPT = 4

const MESSAGE_MAX_BYTES = 4_096
const NAME_MAX_BYTES = 1_024
const ATTEMPTS_MAX = 10

/** What the client was told. */
export interface ToldRefusal {
  status: number
  type: string
  code?: string
  message: string
  headers: Readonly<Record<string, unknown>>
}

export interface RefusedCall {
  trace_id: string
  project_id: string
  key_id: string
  kind: RefusalKind
  at_ms: number
  /** From its arrival to the refusal. */
  duration_ms: number
  endpoint: string
  /** As it was asked for; null where the request was refused before it was read. */
  model: string | null
  target: string | null
  provider: string | null
  status: number
  type: string
  code: string | null
  message: string
  /** What the upstream said, where one was asked. */
  said: string | null
  attempts: readonly UsageAttempt[]
  /** The Agent-* headers of the answer. */
  headers: Readonly<Record<string, string>>
  /** How many equal ones came in its minute, where it was the first of them; else 1. */
  count: number
}

/** Both ends are in it. */
export interface Between {
  from_ms: number
  to_ms: number
}

/** What columns can tell apart; null is anything. */
export interface Narrowed {
  key_id: string | null
  layer: RefusalKind | null
  model: string | null
}

/** What its request alone tells. */
interface Asked {
  trace_id: string
  project_id: string
  key_id: string
  received_at: number
  endpoint: string
  model: string | undefined
}

export interface Refused {
  asked: Asked
  kind: RefusalKind
  about: About | undefined
  told: ToldRefusal
}

/** Equal are refusals of one key, by one layer, for one model, in the same words but for numbers and names in them. */
export function alikeName({ asked, kind, told }: Refused): string {
  const template = told.message.slice(0, 300).replace(/\d+|'[^']*'/g, '#')
  return `${asked.project_id} ${asked.key_id} ${kind} ${asked.model?.slice(0, 256) ?? ''} ${template}`
}

export const minuteOf = (time_ms: number) => Math.floor(time_ms / MINUTE_MS)

export function refusedCall({ asked, kind, about = {}, told }: Refused, now: number): RefusedCall {
  const { trace_id, project_id, key_id, received_at, endpoint, model } = asked
  const named = (text: string | undefined) => (text === undefined ? null : inBounds(text, NAME_MAX_BYTES))
  return {
    trace_id,
    project_id,
    key_id,
    kind,
    at_ms: now,
    duration_ms: Math.max(0, now - received_at),
    endpoint,
    model: named(model),
    target: named(about.target),
    provider: named(about.provider),
    status: told.status,
    type: inBounds(told.type, NAME_MAX_BYTES),
    code: named(told.code),
    message: inBounds(told.message, MESSAGE_MAX_BYTES),
    said: about.said ?? null,
    attempts: (about.attempts?.slice(0, ATTEMPTS_MAX) ?? []) as readonly UsageAttempt[],
    headers: agentHeaders(told.headers),
    count: 1,
  }
}

const agentHeaders = (headers: ToldRefusal['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.startsWith('agent-'))
      .map(([name, value]) => [name, String(value)]),
  )

/** What an answer says of a refusal. */
export const toldBy = ({ status, body, headers: own }: Refusal, headers: ToldRefusal['headers']): ToldRefusal => ({
  status,
  headers: { ...headers, ...own },
  ...body.error,
})
