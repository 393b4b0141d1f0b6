// Recordings that are read back: out of this process's memory while they wait to be written, or out of their packs.
import { memoryRoom, type Taking } from '../core/memory-room.ts'
import type { Db } from '../storage/db.ts'
import type { Waiting } from './packing.ts'
import type { Recorder } from './recorder.ts'
import { READ_BACK, type Recording, type StoredEntry } from './recording.ts'
import { type Pack, recordingStore } from './recording-store.ts'
import { unpackedPacks } from './unpacked-packs.ts'

interface Needs {
  db: Db
  tapes: Pick<Recorder, 'waiting'>
  /** From when on they are kept. */
  since(): number
  /** All that is in a pack. */
  plainIn(pack: Pack): Promise<Buffer>
}

export function readRecordings({ db, tapes, since, plainIn }: Needs) {
  const unpacks = unpackedPacks()

  /** One that is in memory alone. After a purge job was made, here or elsewhere, there is none of before. */
  async function stillWaiting(project_id: string, trace_id: string) {
    const found = tapes.waiting(project_id, trace_id)
    return found && (await purgedAfter(db, project_id, [found.one])) === undefined ? found : undefined
  }

  return {
    /** Which of these are recorded. */
    async recorded(project_id: string, trace_ids: readonly string[]): Promise<Set<string>> {
      const there = await recordingStore(db).recorded(project_id, trace_ids, since())
      const waiting = trace_ids.flatMap((id) => tapes.waiting(project_id, id)?.one ?? [])
      const purged_until = waiting.length > 0 ? await recordingStore(db).purgedUntil(project_id) : 0
      return new Set([...there, ...waiting.filter((one) => one.at_ms >= purged_until).map(({ trace_id }) => trace_id)])
    },

    /** R78: has a place for whatever is read. */
    room: memoryRoom(READ_BACK, 'recordings'),

    /** Undefined where there is none, or none any more. `place` is taken before anything is read. */
    async read(project_id: string, trace_id: string, place: Taking): Promise<Recording | undefined> {
      const waiting = (await stillWaiting(project_id, trace_id)) && tapes.waiting(project_id, trace_id)
      if (waiting) {
        place.take(2 * lengthOf(waiting.one)) // at once: what is written meanwhile has let go of its bytes
        return recordingIn(waiting.plain(), { ...waiting.one, starts_at: 0 })
      }
      const found = await recordingStore(db).find(project_id, trace_id, since())
      if (!found) return undefined
      place.take(2 * lengthOf(found))
      const plain = await unpacks.plainOf(found.pack_id, async () => {
        const pack = await recordingStore(db).findPack(project_id, found.pack_id)
        return pack && plainIn(pack)
      })
      return plain && recordingIn(plain, found)
    },

    /** What is known of one that is not in the store yet. */
    async entryInMemory(project_id: string, trace_id: string): Promise<StoredEntry | undefined> {
      return (await stillWaiting(project_id, trace_id))?.one
    },
  }
}

/** Whether a purge job was made after one of these had ended: when the last one was. */
export async function purgedAfter(
  on: Db,
  project_id: string,
  recordings: readonly Waiting[],
): Promise<number | undefined> {
  const purged_until = await recordingStore(on).purgedUntil(project_id)
  return recordings.some(({ at_ms }) => at_ms < purged_until) ? purged_until : undefined
}

export const lengthOf = ({ request_bytes, answer_bytes }: StoredEntry) => request_bytes + answer_bytes

function recordingIn(plain: Buffer, found: Waiting): Recording {
  const { trace_id, project_id, key_id, endpoint, at_ms, status, is_stream, starts_at, request_bytes } = found
  const ends_at = starts_at + lengthOf(found)
  if (plain.length < ends_at) throw new Error(`the pack of ${trace_id} ends too soon`)
  const answer_at = starts_at + request_bytes
  return {
    ...{ trace_id, project_id, key_id, endpoint, at: at_ms, status, is_stream },
    request: plain.subarray(starts_at, answer_at),
    answer: plain.subarray(answer_at, ends_at),
  }
}
