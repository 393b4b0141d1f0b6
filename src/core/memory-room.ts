// How many bytes of uploads, of what references lead to, or of calls under way may be in memory at once: over all
// projects, and of one. Whoever comes beyond waits outside: 503, and the bytes of others are served.
import { Refusal } from './refusal.ts'

export interface Room {
  bytes: number
  /** What one project may have of it: a slow or greedy one leaves the rest to others (R78). */
  bytes_of_one: number
  /** However many others have a part of it: one project has no more than half of what they leave. */
  is_shared_out?: true
}

const MIB = 2 ** 20
export const UPLOADS: Room = { bytes: 64 * MIB, bytes_of_one: 48 * MIB }

/**
 * Bodies with what they refer to in them: a call of a few bytes may become one of megabytes. An eighth of the memory
 * that a server has; two of the largest fit, whatever there is.
 */
export const expansionsRoom = (memory_bytes: number, least = 128 * MIB) => shareOf(memory_bytes / 8, least, 512 * MIB)

/** Forms and answers of images and sound, which lie in files. */
export const MEDIA: Room = { bytes: 1_024 * MIB, bytes_of_one: 384 * MIB }

/** Bodies that come or wait, and answers that are held until they are whole: a quarter of that memory. */
export const callsRoom = (memory_bytes: number, least = 64 * MIB) => shareOf(memory_bytes / 4, least, 2_048 * MIB)

/** Half of it for one project. */
function shareOf(share: number, least: number, most: number): Room {
  const bytes = Math.min(Math.max(Math.floor(share), least), most)
  return { bytes, bytes_of_one: bytes / 2, is_shared_out: true }
}

export type MemoryRoom = ReturnType<typeof memoryRoom>
export type RoomPlace = ReturnType<MemoryRoom['place']>

/** Told of bytes that will be held; throws where there is no room for them. */
export interface Taking {
  take(bytes: number): void
}

/** Of one call, what is small is not counted: how many of them there are is bounded elsewhere. */
export const UNCOUNTED_BYTES = 64 * 1_024

/** What one call holds, of which only what is large has a place in the room. */
export class HeldBytes implements Taking {
  readonly #room: MemoryRoom
  readonly #project_id: string
  #bytes = 0
  #place: RoomPlace | undefined = undefined

  constructor(room: MemoryRoom, project_id: string) {
    this.#room = room
    this.#project_id = project_id
  }

  take(bytes: number): void {
    this.#bytes += bytes
    if (this.#place) this.#place.take(bytes)
    else if (this.#bytes > UNCOUNTED_BYTES) {
      this.#place = this.#room.place(this.#project_id)
      this.#place.take(this.#bytes)
    }
  }

  giveBack(): void {
    this.#place?.giveBack()
  }
}

export function memoryRoom({ bytes: room, bytes_of_one, is_shared_out }: Room, what: string) {
  let taken = 0
  const by_project = new Map<string, number>()

  const mostOf = (of_project: number) =>
    is_shared_out ? Math.min(bytes_of_one, (room - (taken - of_project)) / 2) : bytes_of_one

  return {
    taken: () => taken,

    /** What one upload or call takes, part by part, and gives back as a whole. */
    place(project_id: string) {
      let own = 0
      return {
        take(bytes: number): void {
          const of_project = by_project.get(project_id) ?? 0
          if (taken + bytes > room || of_project + bytes > mostOf(of_project)) throw noRoom(what)
          own += bytes
          taken += bytes
          by_project.set(project_id, of_project + bytes)
        },

        /** A second time changes nothing. */
        giveBack(): void {
          taken -= own
          const left = (by_project.get(project_id) ?? 0) - own
          if (left > 0) by_project.set(project_id, left)
          else by_project.delete(project_id)
          own = 0
        },
      }
    },
  }
}

const noRoom = (what: string) =>
  new Refusal('unavailable', `Too many ${what} are under way right now. Retry shortly.`, {
    headers: { 'retry-after': '1' },
  })
