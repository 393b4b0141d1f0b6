// What a recording is: the exact bytes of one generation, as its client sent and got them, by trace id. Kept where the
// operator (`retention.full_fidelity`) and the project both say so, for `retention.days`, and never by halves.
import { type Static, Type } from 'typebox'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import type { Room } from '../core/memory-room.ts'
import { orNull, time } from '../core/shapes.ts'

export interface Recording {
  trace_id: string
  project_id: string
  /** The key that made the call, or the session of whoever was signed in. */
  key_id: string
  /** As the route is called: '/v1/chat/completions'. */
  endpoint: string
  /** When the answer had ended. */
  at: number
  /** The body as it came, unpacked where it came packed. */
  request: Uint8Array
  /** What was sent to the client; of a keyed call whose client left, what a retry is sent. */
  answer: Uint8Array
  status: number
  is_stream: boolean
}

/** What is known of one without its bytes, as the store and the queue have it. */
export interface RecordedCall extends Pick<Recording, 'trace_id' | 'project_id' | 'key_id' | 'endpoint'> {
  /** R74 */
  made_by: string | null
  made_under: string | null
}

/** Why a call was not recorded, though it was to be. */
export const DROPPED_FOR = {
  memory: 'Too many recordings were waiting to be written.',
  too_large: 'Request and answer together have more bytes than a recording may.',
  quota: 'The project has as many recordings as it may have.',
  store: 'The store could not take them.',
  purged: 'A purge job was made before they were written.',
} as const
export type DroppedFor = keyof typeof DROPPED_FOR
export const DROP_REASONS = Object.keys(DROPPED_FOR) as DroppedFor[]

const MIB = 2 ** 20
/** What one recording may have: the largest request and the largest whole answer there are. */
export const RECORDING_MAX_BYTES = 32 * MIB
/** What may wait in memory, of all projects and of one that is alone (R78): the largest, and what is packed of it. */
export const WAITING_BOUNDS = { bytes: 80 * MIB, bytes_of_one: 40 * MIB }
/** R78: what is being read back, compressed and plain, for whoever asks and for replays. */
export const READ_BACK: Room = { bytes: 256 * MIB, bytes_of_one: 128 * MIB, is_shared_out: true }
/** What one that waits takes beside its bytes. */
export const ITEM_BYTES = 1_024

/** What is written together, before it is compressed. */
export const PACK_MAX_BYTES = 256 * 1024
/** One that has more is a pack by itself: what is small does not wait for storage of what is large. */
export const ALONE_BYTES = 64 * 1024
/** What is sealed into a row; what is larger goes where large contents lie. */
export const IN_ROW_MAX_BYTES = 128 * 1024

export const DAYS = { minimum: 1, maximum: 3_650, default: 30 }

/** From when on recordings are kept: what is older is gone, whether it was swept yet or not. */
export const keptSince = (now: number, days: number) => now - days * DAY_MS

export const RecordingEntry = Type.Object(
  {
    object: Type.Literal('recording'),
    trace_id: Type.String(),
    project_id: Type.String(),
    key_id: Type.String(),
    endpoint: Type.String(),
    status: Type.Integer({ description: 'Of the answer.' }),
    stream: Type.Boolean(),
    request_bytes: Type.Integer(),
    answer_bytes: Type.Integer(),
    created_at: time(),
    expires_at: time(),
  },
  { title: 'RecordingEntry' },
)
export type RecordingEntry = Static<typeof RecordingEntry>

const RecordedText = Type.Object({
  bytes: Type.Integer(),
  encoding: Type.Enum(['utf-8', 'base64'], { description: 'What `text` is: base64 where the bytes are no UTF-8.' }),
  text: orNull(Type.String({ description: 'Null where it has more than 1 MiB: read it as bytes.' })),
})
export type RecordedText = Static<typeof RecordedText>

export const RecordingView = Type.Object(
  { ...RecordingEntry.properties, request: RecordedText, answer: RecordedText },
  { title: 'Recording' },
)
export type RecordingView = Static<typeof RecordingView>

export const DroppedRecordings = Type.Object(
  {
    reason: Type.Enum([...DROP_REASONS]),
    meaning: Type.String(),
    count: Type.Integer(),
    last_at: time(),
  },
  { title: 'DroppedRecordings' },
)
export type DroppedRecordings = Static<typeof DroppedRecordings>

export const PAGE_MAX = 1_000

export const RecordingsQuery = Type.Object({
  limit: Type.Optional(Type.String({ description: `How many at most, 1 to ${PAGE_MAX}. Without it, all.` })),
  after: Type.Optional(Type.String({ description: 'Only those behind this one in the list, by its trace id.' })),
})

/** What is stored of one, but for its bytes. */
export interface StoredEntry extends RecordedCall {
  status: number
  is_stream: boolean
  at_ms: number
  request_bytes: number
  answer_bytes: number
}

export function entryOf(stored: StoredEntry, days: number): RecordingEntry {
  const { trace_id, project_id, key_id, endpoint, status, is_stream, request_bytes, answer_bytes, at_ms } = stored
  return {
    object: 'recording',
    trace_id,
    project_id,
    key_id,
    endpoint,
    status,
    stream: is_stream,
    request_bytes,
    answer_bytes,
    created_at: rfc3339(at_ms),
    expires_at: rfc3339(at_ms + days * DAY_MS),
  }
}
