// The room of recordings: what the path hands over is written in packs; what is asked for is read out of them. A pack
// is a row with its bytes in it, or, where it is large, contents and then the row (decision 0290). The quota is taken
// and given back in the transactions of what is added and goes (R70).
import type { KeptContents } from '../contents/content.ts'
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { CommitUnknown, type Db, unavailable } from '../storage/db.ts'
import { hourOf, whyNone } from './missing-recording.ts'
import { newPackId, packed, unpacked } from './packing.ts'
import { lengthOf, purgedAfter, readRecordings } from './read-recording-store.ts'
import { type PackToWrite, recorder, type Written } from './recorder.ts'
import { type DroppedFor, IN_ROW_MAX_BYTES, keptSince } from './recording.ts'
import type { RoomBounds } from './recording-room.ts'
import { type Pack, type Packed, recordingStore } from './recording-store.ts'

export interface Amount {
  items: number
  bytes: number
}

export interface RecordingQuota {
  /** False where there is no room; then nothing was taken. */
  take(tx: Db, project_id: string, amount: Amount): Promise<boolean>
  giveBack(tx: Db, project_id: string, amount: Amount): Promise<void>
  /** Whoever adds or takes away of this project's waits until the transaction ends. */
  lock(tx: Db, project_id: string): Promise<void>
}

export interface RecordingNeeds {
  db: Db
  clock: Clock
  seals: Sealing
  contents: KeptContents<Db>
  quota: RecordingQuota
  /** `retention.days`, as it is now. */
  days(): number
  /** Whether the operator lets projects record. */
  isAllowed(): boolean
  onDrop(reason: DroppedFor, count: number): void
  onFailure(error: unknown): void
  bounds?: RoomBounds | undefined
}

const CUT_TRIES = 1_000 // of some packs each

export type KeptRecordings = ReturnType<typeof keptRecordings>

export function keptRecordings(needs: RecordingNeeds) {
  const { db, clock, seals, contents, quota, days, isAllowed, onDrop, onFailure, bounds } = needs
  const writeDrops = recordingStore(db).addDrops
  const tapes = recorder({ clock, write, writeDrops, onDrop, onFailure, ...(bounds && { bounds }) })
  const since = () => keptSince(clock.now(), days())
  const placeOf = (pack_id: string) => `recording pack ${pack_id}`
  const reading = readRecordings({ db, tapes, since, plainIn })

  /** Its bytes first, where they lie outside; nobody's until the row is there. */
  async function laidDown(project_id: string, id: string, bytes: Buffer): Promise<Pick<Pack, 'sealed' | 'content'>> {
    if (bytes.length <= IN_ROW_MAX_BYTES) return { sealed: seals.seal(bytes, project_id, placeOf(id)), content: null }
    return { sealed: null, content: await contents.write(project_id, [bytes]) }
  }

  /** In the transaction of `work`; contents that it does not keep are let go. */
  async function withContent<T>(pack: Pack, work: (tx: Db) => Promise<T>, isKept: (result: T) => boolean): Promise<T> {
    const { project_id, content } = pack
    const letGo = async () => {
      if (content) await contents.letGo(db, project_id, content).then(() => contents.erase(content))
    }
    try {
      const result = await db.transaction(work, { lasting: 'committed' })
      if (!isKept(result)) await letGo()
      return result
    } catch (error) {
      // Where nobody knows whether it was committed, a row may have them. Else nobody does, and the sweep comes.
      if (!(error instanceof CommitUnknown)) await letGo().catch(() => {})
      throw error
    }
  }

  async function settled(tx: Db, { content }: Pack): Promise<void> {
    if (content && !(await contents.settle(tx, content)))
      throw unavailable(new Error('the sweep took what was being written'))
  }

  async function write({ id, project_id, waiting, plain_bytes, packed: bytes }: PackToWrite): Promise<Written> {
    const recordings = waiting.map((one) => ({ pack_id: id, ...one }))
    const before = bytes.length > IN_ROW_MAX_BYTES && (await purgedAfter(db, project_id, recordings))
    // Nothing of it is laid down. A try of which nobody heard may have written it before the job was made.
    if (before && !(await recordingStore(db).findPack(project_id, id))) return { purged_until: before }
    const pack: Pack = {
      ...{ id, project_id, plain_bytes, packed_bytes: bytes.length, ...spanOf(recordings) },
      ...(await laidDown(project_id, id, bytes)),
    }
    const written = await withContent<Written | 'before'>(
      pack,
      async (tx) => {
        const rows = recordingStore(tx)
        if (await rows.lockPack(project_id, id)) return 'before'
        const amount = { items: recordings.length, bytes: bytes.length }
        if (!(await quota.take(tx, project_id, amount))) return 'quota'
        const purged_until = await purgedAfter(tx, project_id, recordings)
        if (purged_until !== undefined) {
          await quota.giveBack(tx, project_id, amount)
          return { purged_until }
        }
        await settled(tx, pack)
        await rows.insert(pack, recordings)
        return 'written'
      },
      (result) => result === 'written',
    )
    return written === 'before' ? 'written' : written
  }

  /** All that is in a pack. */
  async function plainIn({ id, project_id, sealed, content, packed_bytes, plain_bytes }: Pack): Promise<Buffer> {
    if (sealed) return unpacked(seals.open(sealed, project_id, placeOf(id)), plain_bytes)
    const parts: Buffer[] = []
    if (content) for await (const part of contents.read(project_id, content, packed_bytes)) parts.push(part)
    return unpacked(Buffer.concat(parts), plain_bytes)
  }

  /** In the transaction in which a pack goes. */
  async function removePack(tx: Db, { id, project_id, content, packed_bytes }: Pack, items: number): Promise<void> {
    await recordingStore(tx).removePack(project_id, id)
    if (content) await contents.letGo(tx, project_id, content)
    await quota.giveBack(tx, project_id, { items, bytes: packed_bytes })
  }

  /** What belongs to nobody any more is cut out of a pack: the rest is written anew, and the old bytes go. */
  async function cut(old: Pack): Promise<void> {
    const left = await recordingStore(db).inPack(old)
    const plain = left.length > 0 ? await plainIn(old) : Buffer.alloc(0)
    const pieces = left.map((one) => plain.subarray(one.starts_at, one.starts_at + lengthOf(one)))
    const kept = Buffer.concat(pieces)
    const bytes = await packed(kept)
    const id = newPackId()
    const moved = followingOn(left, id)
    const lies = left.length > 0 ? await laidDown(old.project_id, id, bytes) : { sealed: null, content: null }
    const pack: Pack = { ...old, ...{ id, plain_bytes: kept.length, packed_bytes: bytes.length }, ...lies }
    await withContent(pack, (tx) => exchange(tx, old, pack, moved), Boolean)
  }

  /** False where something of it has gone meanwhile: then it is cut again. */
  async function exchange(tx: Db, old: Pack, pack: Pack, moved: readonly Packed[]): Promise<boolean> {
    const { project_id } = old
    const rows = recordingStore(tx)
    await quota.lock(tx, project_id)
    if (!(await rows.lockPack(project_id, old.id))) return false
    if ((await rows.inPack(old)).length !== moved.length) return false
    await removePack(tx, old, 0)
    if (moved.length === 0) return true
    await settled(tx, pack)
    await rows.insert(pack, [])
    for (const one of moved) await rows.moveTo(one)
    await quota.giveBack(tx, project_id, { items: 0, bytes: -pack.packed_bytes }) // what is there already always fits
    return true
  }

  /** Of one that is not there: why. */
  async function reasonOf(on: Db, project_id: string, trace_id: string): Promise<string> {
    const hour_ms = hourOf(trace_id)
    const drops = hour_ms === undefined ? [] : await recordingStore(on).drops(project_id, hour_ms + 1, hour_ms)
    const records_since_ms = await recordingStore(on).recordsSince(project_id)
    return whyNone(trace_id, { now: clock.now(), is_allowed: isAllowed(), days: days(), drops, records_since_ms })
  }

  /** Whether there is one; where not, why. */
  async function traced(on: Db, project_id: string, trace_id: string) {
    const is_there = (await reading.recorded(project_id, [trace_id])).size === 1
    return { recorded: is_there, why_not: is_there ? null : await reasonOf(on, project_id, trace_id) }
  }

  return {
    tapes,
    ...reading,
    traced,
    whyNone: reasonOf,

    /** R70: how long each is kept is the operator's to say, at any time. */
    async sweep(on: Db): Promise<void> {
      const until_ms = since()
      for (const project_id of await recordingStore(on).projectsWithPacks()) {
        let swept: Pack[]
        do {
          swept = await recordingStore(on).packsBefore(project_id, until_ms)
          for (const pack of swept)
            await on.transaction(async (tx) => {
              await quota.lock(tx, project_id)
              if (!(await recordingStore(tx).lockPack(project_id, pack.id))) return // a purge has cut it meanwhile
              await removePack(tx, pack, await recordingStore(tx).removeOf(pack))
            })
        } while (swept.length > 0)
      }
      await recordingStore(on).forgetDrops(until_ms)
    },

    /**
     * For purge jobs: packs that something was taken out of, and contents that are due. Whoever is writing now has the
     * lock, and is waited for: the job counts what they wrote. Whoever writes later finds the job.
     */
    async eraseCut(project_id: string): Promise<void> {
      await db.transaction((tx) => quota.lock(tx, project_id), { lasting: 'committed' })
      for (let tries = 0; tries < CUT_TRIES; tries++) {
        const packs = await recordingStore(db).cutPacks(project_id)
        for (const pack of packs) await cut(pack)
        if (packs.length === 0) break
      }
      await contents.eraseDue(project_id)
    },

    due: contents.due,
    quota,
  }
}

/** The same, one behind the other, in another pack. */
function followingOn(left: readonly Packed[], pack_id: string): Packed[] {
  let starts_at = 0
  return left.map((one) => {
    const moved = { ...one, ...{ pack_id, starts_at } }
    starts_at += lengthOf(one)
    return moved
  })
}

function spanOf(recordings: readonly Packed[]) {
  const times = recordings.map(({ at_ms }) => at_ms)
  return { from_ms: Math.min(...times), until_ms: Math.max(...times) }
}
