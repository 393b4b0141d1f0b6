// Recordings on their way to the store. No answer waits for them: they are gathered in memory, and written a pack at a
// time, project by project in turn. All of it is bounded, over all projects and for one (R78). What there is no room
// for, or what cannot be written, is dropped as a whole, and counted with its reason.
import { type Clock, HOUR_MS } from '../core/clock.ts'
import { OpenPack, packed, type Waiting } from './packing.ts'
import {
  ALONE_BYTES,
  type DroppedFor,
  IN_ROW_MAX_BYTES,
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
const DROPS_MAX = 10_000

export interface PackToWrite {
  /** The same however often it is tried: a try of which nobody heard may have been the one that wrote it. */
  id: string
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

interface Large {
  open: OpenPack
  bytes: Buffer
}

export type Recorder = ReturnType<typeof recorder>

export function recorder({ clock, write, writeDrops, onDrop, onFailure, bounds = WAITING_BOUNDS }: RecorderNeeds) {
  const room = recordingRoom(bounds)
  /** The packs of each project: the last is the one that takes more. */
  const queues = new Map<string, OpenPack[]>()
  const by_trace = new Map<string, { open: OpenPack; one: Waiting }>()
  const large: Large[] = []
  const large_of = new Map<string, number>()
  const large_under_way = new Set<Promise<void>>()
  let drops = new Map<string, CountedDrop>()
  let flushing: Promise<void> | undefined
  let is_failing = false // then only the clock's turn tries again

  function noteDrops(project_id: string, reason: DroppedFor, count: number): void {
    if (count === 0) return
    addDrop(drops, { project_id, hour_ms: Math.floor(clock.now() / HOUR_MS) * HOUR_MS, reason, count })
    onDrop(reason, count)
  }

  /** A pack that is through. What is not written is dropped for this reason. */
  function letGo(open: OpenPack, reason?: DroppedFor): void {
    for (const { trace_id } of open.waiting) by_trace.delete(trace_id)
    if (reason) noteDrops(open.project_id, reason, open.waiting.length)
    open.letGo()
  }

  function queueOf(project_id: string): OpenPack[] {
    const queue = queues.get(project_id) ?? []
    queues.set(project_id, queue)
    return queue
  }

  function enqueue(tape: Tape, at_ms: number): void {
    const { project_id, trace_id } = tape.call
    const queue = queueOf(project_id)
    const bytes = tape.request.length + tape.answer_bytes
    let open = bytes > ALONE_BYTES ? undefined : queue.at(-1)
    if (!open?.takes(bytes)) {
      open = new OpenPack(room, project_id)
      if (bytes > ALONE_BYTES) queue.unshift(open)
      else queue.push(open)
    }
    const one = open.add(tape, at_ms)
    if (one) by_trace.set(trace_id, { open, one })
    else noteDrops(project_id, 'memory', 1)
    if ((open.is_full || queue.length > 1) && !is_failing) flushing ??= soon().finally(ended)
  }

  /** Of the project whose turn it is, which is then behind the others. */
  function next(failed: ReadonlySet<string>): OpenPack | undefined {
    for (const [project_id, queue] of queues) {
      if (failed.has(project_id)) continue
      queues.delete(project_id)
      const open = queue.shift()
      if (queue.length > 0) queues.set(project_id, queue)
      if (open && open.waiting.length > 0) return open
      open?.letGo()
    }
    return undefined
  }

  /** What a purge job was made after is dropped; the rest is packed anew. */
  function withoutPurged(open: OpenPack, purged_until: number): void {
    const rest = new OpenPack(room, open.project_id)
    for (const one of open.waiting) {
      by_trace.delete(one.trace_id)
      const moved = one.at_ms < purged_until ? undefined : rest.addFrom(open, one)
      if (moved) by_trace.set(one.trace_id, { open: rest, one: moved })
      else noteDrops(open.project_id, one.at_ms < purged_until ? 'purged' : 'memory', 1)
    }
    open.letGo()
    queueOf(open.project_id).unshift(rest)
  }

  /** False where it failed, and is tried again later. */
  async function isThrough(open: OpenPack, bytes: Buffer): Promise<boolean> {
    const { id, project_id, waiting, plain_bytes } = open
    try {
      const written = await write({ id, project_id, waiting, plain_bytes, packed: bytes })
      if (written === 'written') letGo(open)
      else if (written === 'quota') letGo(open, 'quota')
      else withoutPurged(open, written.purged_until)
      return true
    } catch (error) {
      onFailure(error)
      is_failing = true
      if (++open.failures < FAILURES_MAX) queueOf(project_id).unshift(open)
      else letGo(open, 'store')
      return false
    }
  }

  /** Large packs beside the others. What is compressed counts, too, until it is written. */
  function writeLarge(one: Large): void {
    if (one.open.take(one.bytes.length)) {
      large.push(one)
      pump()
    } else letGo(one.open, 'memory')
  }

  function pump(): void {
    const at = large.findIndex(({ open }) => (large_of.get(open.project_id) ?? 0) < LARGE_OF_ONE)
    if (at < 0 || large_under_way.size >= LARGE_AT_ONCE) return
    const [{ open, bytes }] = large.splice(at, 1) as [Large]
    count(large_of, open.project_id, 1)
    const writing = isThrough(open, bytes).then(() => {
      count(large_of, open.project_id, -1)
      large_under_way.delete(writing)
      pump()
    })
    large_under_way.add(writing)
    pump()
  }

  async function run(): Promise<void> {
    const failed = new Set<string>()
    for (let open = next(failed); open; open = next(failed)) {
      const bytes = await packed(open.plain()).catch(onFailure)
      if (!bytes) letGo(open, 'store')
      else if (bytes.length > IN_ROW_MAX_BYTES) writeLarge({ open, bytes })
      else if (!(await isThrough(open, bytes))) failed.add(open.project_id)
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
      for (const drop of counted.values()) addDrop(drops, drop)
      throw error
    }
  }

  /** Not in the turn of the call that filled the pack. */
  const soon = () => new Promise<void>((resolve) => setImmediate(resolve)).then(run).catch(onFailure)
  const ended = () => {
    flushing = undefined
  }

  return {
    begin: (call: RecordedCall, request: Buffer) => new Tape(call, request, room),

    /** Of one that nobody answered nothing is kept, and nothing is missed. */
    end(tape: Tape): void {
      if (tape.request.length > RECORDING_MAX_BYTES) tape.drop('too_large')
      if (tape.status > 0) {
        if (tape.dropped_for) noteDrops(tape.call.project_id, tape.dropped_for, 1)
        else enqueue(tape, clock.now())
      }
      tape.letGo()
    },

    /** One that is not in the store yet, and a copy of its bytes for whoever asks. */
    waiting(project_id: string, trace_id: string): { one: Waiting; plain(): Buffer } | undefined {
      const found = by_trace.get(trace_id)
      if (found?.open.project_id !== project_id) return undefined
      return { one: found.one, plain: () => Buffer.from(found.open.bytesOf(found.one)) }
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

function addDrop(drops: Map<string, CountedDrop>, drop: CountedDrop): void {
  const name = `${drop.project_id} ${drop.hour_ms} ${drop.reason}`
  const known = drops.get(name)
  if (known) known.count += drop.count
  else if (drops.size < DROPS_MAX) drops.set(name, { ...drop })
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const sum = (counts.get(name) ?? 0) + by
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}
