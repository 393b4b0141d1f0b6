// A conversation of an agent, and its event line: what went in and what came out, turn by turn. The line only grows,
// and the output of one logical response stands on it once, however many attempts ran (§11).
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import { Label, label, orNull, storable, time } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'

export const Session = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `ses_`.' }),
    object: Type.Literal('session'),
    project_id: Type.String(),
    status: Type.Enum(['open', 'closed']),
    agent: Type.Optional(Type.String()),
    parent_session_id: Type.Optional(Type.String()),
    turns: Type.Integer(),
    input_tokens: Type.Integer(),
    cached_tokens: Type.Integer(),
    created_at: time(),
    last_activity_at: time(),
  },
  { title: 'Session' },
)
export type Session = Static<typeof Session>

export const DeletedSession = Type.Object(
  { id: Type.String(), object: Type.Literal('session.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedSession' },
)

export const SessionEvent = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `sev_`.' }),
    object: Type.Literal('session_event'),
    session_id: Type.String(),
    sequence: Type.Integer({ description: 'Counts up from 1 within a session.' }),
    type: Type.Enum(['input', 'assistant_output']),
    response_id: Type.String(),
    trace_id: Type.String(),
    created_at: time(),
    content: Type.Optional(
      Type.Unknown({ description: 'Absent where contents were not to be kept, or are not for this key to see.' }),
    ),
    content_withheld: Type.Optional(
      Type.Literal(true, { description: 'The contents were made with another key: seeing them needs `admin`.' }),
    ),
    content_dropped: Type.Optional(
      Type.Literal('quota', {
        description: 'The contents were to be kept, and the project had no room for them (`session_contents_mib`).',
      }),
    ),
  },
  { title: 'SessionEvent' },
)
export type SessionEvent = Static<typeof SessionEvent>

export const NewSession = Type.Object(
  {
    agent: Type.Optional(Label('Whose conversation it is.')),
    parent_session_id: Type.Optional(
      Type.String({ maxLength: 64, description: 'The session that this one began in.' }),
    ),
  },
  { title: 'NewSession' },
)
export type NewSession = Static<typeof NewSession>

/** Opening a session needs no body at all. */
export const MaybeNewSession = orNull(NewSession)

export function openSession(project_id: string, asked: NewSession | null, now: number): Session {
  const { agent, parent_session_id } = asked ?? {}
  return {
    id: newId('ses'),
    object: 'session',
    project_id,
    status: 'open',
    ...(agent !== undefined && { agent: label('agent', agent) }),
    ...(parent_session_id !== undefined && { parent_session_id: storable('parent_session_id', parent_session_id) }),
    turns: 0,
    input_tokens: 0,
    cached_tokens: 0,
    created_at: rfc3339(now),
    last_activity_at: rfc3339(now),
  }
}

/** One logical response in a session. Contents are any JSON; undefined where they are not to be kept. */
export interface Turn {
  session_id: string
  response_id: string
  trace_id: string
  input: unknown
  output: unknown
  /** Why both are undefined, where they were to be kept. */
  content_dropped?: 'quota' | undefined
  input_tokens: number
  cached_tokens: number
  maker: Maker
}

const EVENTS_MAX = 1_000

export const EventsQuery = Type.Object({
  limit: Type.Optional(Type.String({ description: `How many at most, 1 to ${EVENTS_MAX}. Without it, all.` })),
  before: Type.Optional(Type.String({ description: 'Only events whose `sequence` is below this.' })),
})

export interface EventRange {
  /** Undefined: all of them (R70). */
  limit: number | undefined
  before: number
}

export function eventRange({ limit, before }: Static<typeof EventsQuery>): EventRange {
  const anything = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
  return {
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: EVENTS_MAX }),
    before: before === undefined ? anything.maximum : wholeNumber('before', before, anything),
  }
}
