// Bytes that are on their way and may be many: up to 1 MiB of them, or less, lie in memory, and all that comes after in
// a file that has no name any more, so that nothing is left of it when the process ends, however it ends.
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatheredParts } from './gathered-parts.ts'
import { Refusal } from './refusal.ts'

export const SPOOL_MEMORY_BYTES = 1024 * 1024
const READ_BYTES = 64 * 1024

/** Where it is counted; `take` throws where there is no more room. */
export interface SpoolRoom {
  take(bytes: number): void
}

export class Spool {
  bytes = 0
  readonly #room: SpoolRoom | undefined
  readonly #memory_bytes: number
  readonly #memory = new GatheredParts()
  #file: Promise<FileHandle> | undefined = undefined
  /** Of writes, which follow one another. */
  #written: Promise<void> = Promise.resolve()
  #is_closed = false

  constructor(room?: SpoolRoom, memory_bytes = SPOOL_MEMORY_BYTES) {
    this.#room = room
    this.#memory_bytes = memory_bytes
  }

  /** A promise where the disk has to be waited for. */
  add(part: Buffer): void | Promise<void> {
    if (part.length === 0) return undefined
    this.#room?.take(part.length)
    this.bytes += part.length
    if (this.bytes <= this.#memory_bytes) return this.#memory.add(part)
    this.#file ??= nameless()
    const [file, before] = [this.#file, this.#written]
    this.#written = before.then(async () => write(await file, part)).catch(noDisk)
    return this.#written
  }

  /** All of it; undefined where it is more than is held. */
  inMemory(): Buffer | undefined {
    if (this.#file) return undefined
    const parts = this.#memory.parts()
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  }

  /** From a place on, in parts of bounded size; as often as it is wanted. */
  async *parts(from = 0, to = this.bytes): AsyncGenerator<Buffer> {
    let at = 0
    for (const part of this.#memory.parts()) {
      const wanted = part.subarray(Math.max(0, from - at), Math.max(0, to - at))
      if (wanted.length > 0) yield wanted
      at += part.length
    }
    if (!this.#file || to <= at) return
    await this.#written
    const file = await this.#file
    const start = at // of the file
    for (let place = Math.max(from, start); place < to; ) {
      const room = Buffer.allocUnsafe(Math.min(READ_BYTES, to - place))
      const { bytesRead } = await file.read(room, 0, room.length, place - start)
      if (bytesRead === 0) throw new Error('a spool is shorter than what was written to it')
      yield room.subarray(0, bytesRead)
      place += bytesRead
    }
  }

  /** A second time changes nothing. */
  close(): void {
    if (this.#is_closed) return
    this.#is_closed = true
    this.#memory.take()
    const file = this.#file
    if (file)
      void this.#written
        .catch(() => {})
        .then(() => file)
        .then((handle) => handle.close())
        .catch(() => {}) // it has no name: the system lets go of it with the process at the latest
  }
}

/** Rejects where there is no folder for what does not fit into memory. */
export async function assertSpoolable(): Promise<void> {
  const file = await nameless()
  await file.close()
}

/** Nobody else can open it, and it is gone with its last descriptor. */
async function nameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `switchyard-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** A disk that is full, or gone, is nobody's fault who asks: the next call may find room. */
function noDisk(cause: unknown): never {
  if (cause instanceof Refusal) throw cause
  throw new Refusal('unavailable', 'There is no room on disk for what this call sends or gets. Retry shortly.', {
    headers: { 'retry-after': '5' },
    cause,
  })
}

async function write(file: FileHandle, part: Buffer): Promise<void> {
  for (let at = 0; at < part.length; ) {
    const { bytesWritten } = await file.write(part, at)
    at += bytesWritten
  }
}
