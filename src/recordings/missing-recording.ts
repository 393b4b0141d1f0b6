// Why there is no recording of a call: what is known of the project, of the settings, and of the hour in which the call
// was made. It tells nothing of other projects: an id of theirs is one that this project never had.
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import { timeOfTrace } from '../core/ids.ts'
import { DROPPED_FOR, type DroppedFor } from './recording.ts'

export interface Circumstances {
  now: number
  /** The operator lets projects record. */
  is_allowed: boolean
  days: number
  /** Null where the project does not record now. */
  records_since_ms: number | null
  /** Of the hour in which the call was made. */
  drops: readonly { reason: DroppedFor; count: number }[]
}

export function whyNone(trace_id: string, { now, is_allowed, days, records_since_ms, drops }: Circumstances): string {
  const at = timeOfTrace(trace_id)
  if (at !== undefined && at <= now - days * DAY_MS) return `Recordings are kept for ${days} days.`
  if (drops.length > 0) return `Of the calls of that hour some were not recorded: ${drops.map(told).join('; ')}.`
  if (!is_allowed) return 'The operator of this server lets nobody record calls (retention.full_fidelity).'
  if (records_since_ms === null) return 'This project does not record its calls (POST /v2/project/recordings).'
  if (at !== undefined && at < records_since_ms)
    return `This project records its calls since ${rfc3339(records_since_ms)}.`
  return NEVER
}

const NEVER =
  'Calls for images, sound, judgements and rankings are not recorded, nor are those that were refused before a model ' +
  'answered, nor replays of kept answers. What was purged is gone.'

const told = ({ reason, count }: { reason: DroppedFor; count: number }) =>
  `${count}, ${DROPPED_FOR[reason].charAt(0).toLowerCase()}${DROPPED_FOR[reason].slice(1, -1)}`

/** The hour that drops are counted by; an id that is none of ours has none. */
export function hourOf(trace_id: string): number | undefined {
  const at = timeOfTrace(trace_id)
  return at === undefined ? undefined : Math.floor(at / HOUR_MS) * HOUR_MS
}
