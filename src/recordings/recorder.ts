// Recordings on their way to the store. No answer waits for them: they are gathered in memory, and written a pack at a
// time, project by project in turn. All of it is bounded, over all projects and for one (R78). What there is no room
// for, or what cannot be written, is dropped as a whole, and counted with its reason.
import { type Clock, HOUR_MS } from '../core/clock.ts'
import { bytesOf, firstPack, packed, plainOf, type Waiting } from './packing.ts'
import {
  type DroppedFor,
  IN_ROW_MAX_BYTES,
  ITEM_BYTES,
  PACK_MAX_BYTES,
  RECORDING_MAX_BYTES,
  type RecordedCall,
  WAITING_BOUNDS,
} from './recording.ts'
import { type RoomBounds, recordingRoom } from './recording-room.ts'
import { Tape } from './tape.ts'

const FAILURES_MAX = 10 // about as many seconds
/** Large packs that are being written, in all and of one project: slow storage holds up nothing that lies elsewhere. */
const LARGE_AT_ONCE = 4
const LARGE_OF_ONE = 2

export interface PackToWrite {
  project_id: string
  waiting: readonly Waiting[]
  plain_bytes: number
  packed: Buffer
}

/** What became of a pack: written, or none of it is there. */
export type Written = 'written' | 'quota' | { purged_until: number }

export interface CountedDrop {
  project_id: string
  hour_ms: number
  reason: DroppedFor
  count: number
}

export interface RecorderNeeds {
  clock: Clock
  write(pack: PackToWrite): Promise<Written>
  writeDrops(drops: readonly CountedDrop[]): Promise<void>
  onDrop(reason: DroppedFor, count: number): void
  onFailure(error: unknown): void
  bounds?: RoomBounds
}

export type Recorder = ReturnType<typeof recorder>

export function recorder({ clock, write, writeDrops, onDrop, onFailure, bounds = WAITING_BOUNDS }: RecorderNeeds) {
  const room = recordingRoom(bounds)
  const queues = new Map<string, Queue>()
  const by_trace = new Map<string, Waiting>()
  const large: PackToWrite[] = []
  const large_of = new Map<string, number>()
  const large_under_way = new Set<Promise<void>>()
  let drops = new Map<string, CountedDrop>()
  let flushing: Promise<void> | undefined
  let is_failing = false // then only the clock's turn tries again

  function noteDrop(project_id: string, reason: DroppedFor, count = 1): void {
    const hour_ms = Math.floor(clock.now() / HOUR_MS) * HOUR_MS
    const name = `${project_id} ${hour_ms} ${reason}`
    const known = drops.get(name)
    if (known) known.count += count
    else if (drops.size < DROPS_MAX) drops.set(name, { project_id, hour_ms, reason, count })
    onDrop(reason, count)
  }

  function letGo(waiting: readonly Waiting[]): void {
    for (const { tape } of waiting) {
      tape.giveBack()
      by_trace.delete(tape.call.trace_id)
    }
  }

  function drop(project_id: string, waiting: readonly Waiting[], reason: DroppedFor): void {
    letGo(waiting)
    if (waiting.length > 0) noteDrop(project_id, reason, waiting.length)
  }

  function enqueue(project_id: string, waiting: readonly Waiting[], at: 'first' | 'last'): void {
    const queue = queues.get(project_id) ?? { waiting: [], bytes: 0 }
    if (at === 'last') queue.waiting.push(...waiting)
    else queue.waiting.unshift(...waiting)
    for (const one of waiting) queue.bytes += bytesOf(one)
    queues.set(project_id, queue)
    if (queue.bytes >= PACK_MAX_BYTES && !is_failing) flushing ??= soon().finally(ended)
  }

  /** Of the project whose turn it is, which is then behind the others. */
  function next(failed: ReadonlySet<string>): { project_id: string; waiting: Waiting[] } | undefined {
    for (const [project_id, queue] of queues) {
      if (failed.has(project_id)) continue
      queues.delete(project_id)
      const waiting = firstPack(queue.waiting)
      for (const one of waiting) queue.bytes -= bytesOf(one)
      if (queue.waiting.length > 0) queues.set(project_id, queue)
      return { project_id, waiting }
    }
    return undefined
  }

  async function outcomeOf(pack: PackToWrite): Promise<boolean> {
    const { project_id, waiting } = pack
    try {
      const written = await write(pack)
      if (written === 'written') letGo(waiting)
      else if (written === 'quota') drop(project_id, waiting, 'quota')
      else {
        const { purged_until } = written
        drop(
          project_id,
          waiting.filter(({ at_ms }) => at_ms < purged_until),
          'purged',
        )
        const left = waiting.filter(({ at_ms }) => at_ms >= purged_until)
        if (left.length > 0) enqueue(project_id, left, 'first')
      }
      return true
    } catch (error) {
      onFailure(error)
      is_failing = true
      for (const one of waiting) one.failures++
      drop(
        project_id,
        waiting.filter(({ failures }) => failures >= FAILURES_MAX),
        'store',
      )
      const left = waiting.filter(({ failures }) => failures < FAILURES_MAX)
      if (left.length > 0) enqueue(project_id, left, 'first')
      return false
    }
  }

  /** Large packs beside the others. What is compressed counts, too, until it is written. */
  function writeLarge(pack: PackToWrite): void {
    const [first] = pack.waiting
    if (first?.tape.take(pack.packed.length)) {
      large.push(pack)
      pump()
    } else drop(pack.project_id, pack.waiting, 'memory')
  }

  function pump(): void {
    const at = large.findIndex(({ project_id }) => (large_of.get(project_id) ?? 0) < LARGE_OF_ONE)
    if (at < 0 || large_under_way.size >= LARGE_AT_ONCE) return
    const [pack] = large.splice(at, 1) as [PackToWrite]
    count(large_of, pack.project_id, 1)
    const writing = outcomeOf(pack).then(() => {
      count(large_of, pack.project_id, -1)
      large_under_way.delete(writing)
      pump()
    })
    large_under_way.add(writing)
    pump()
  }

  async function run(): Promise<void> {
    const failed = new Set<string>()
    for (let found = next(failed); found; found = next(failed)) {
      const { project_id, waiting } = found
      const plain = plainOf(waiting)
      const bytes = await packed(plain).catch(onFailure)
      if (!bytes) {
        drop(project_id, waiting, 'store')
        continue
      }
      const pack = { project_id, waiting, plain_bytes: plain.length, packed: bytes }
      if (bytes.length > IN_ROW_MAX_BYTES) writeLarge(pack)
      else if (!(await outcomeOf(pack))) failed.add(project_id)
    }
    await flushDrops()
  }

  async function flushDrops(): Promise<void> {
    if (drops.size === 0) return
    const counted = drops
    drops = new Map()
    try {
      await writeDrops([...counted.values()])
    } catch (error) {
      for (const { project_id, hour_ms, reason, count: more } of counted.values()) {
        const name = `${project_id} ${hour_ms} ${reason}`
        const known = drops.get(name)
        if (known) known.count += more
        else if (drops.size < DROPS_MAX) drops.set(name, { project_id, hour_ms, reason, count: more })
      }
      throw error
    }
  }

  /** Not in the turn of the call that filled the queue. */
  const soon = () => new Promise<void>((resolve) => setImmediate(resolve)).then(run).catch(onFailure)
  const ended = () => {
    flushing = undefined
  }

  return {
    begin: (call: RecordedCall, request: Buffer) => new Tape(call, request, room),

    /** Of one that nobody answered nothing is kept, and nothing is missed. */
    end(tape: Tape): void {
      const { call, request, status } = tape
      const is_answered = status !== 0
      if (request.length + tape.answer_bytes > RECORDING_MAX_BYTES) tape.drop('too_large')
      if (is_answered && !tape.dropped_for) tape.take(request.length + ITEM_BYTES)
      if (!is_answered) tape.giveBack()
      else if (tape.dropped_for) noteDrop(call.project_id, tape.dropped_for)
      else {
        const one = { tape, at_ms: clock.now(), failures: 0 }
        by_trace.set(call.trace_id, one)
        enqueue(call.project_id, [one], 'last')
      }
    },

    /** One that is not in the store yet. */
    waiting(project_id: string, trace_id: string): Waiting | undefined {
      const one = by_trace.get(trace_id)
      return one?.tape.call.project_id === project_id ? one : undefined
    },

    /** Until all that can be written now is; large packs go on beside. */
    flush(): Promise<void> {
      is_failing = false
      flushing ??= run().finally(ended)
      return flushing
    },

    /** The same, and then what is large; for whoever stops, within a bound of their own. */
    async drained(): Promise<void> {
      await this.flush()
      while (large_under_way.size > 0) await Promise.all(large_under_way)
    },

    /** Bytes in memory, and packs that wait for slow storage. */
    pressure: () => ({ bytes: room.taken(), large: large.length + large_under_way.size, waiting: by_trace.size }),
  }
}

interface Queue {
  waiting: Waiting[]
  bytes: number
}

const DROPS_MAX = 10_000

function count(counts: Map<string, number>, name: string, by: number): void {
  const sum = (counts.get(name) ?? 0) + by
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}
