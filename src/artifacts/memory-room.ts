// How many bytes of uploads, or of what references lead to, may be in memory at once: over all projects, and of one.
// Whoever comes beyond waits outside: 503, and the bytes of others are served.
import { Refusal } from '../core/refusal.ts'

export interface Room {
  bytes: number
  /** What one project may have of it: a slow or greedy one leaves the rest to others (R78). */
  bytes_of_one: number
}

const MIB = 2 ** 20
export const UPLOADS: Room = { bytes: 64 * MIB, bytes_of_one: 48 * MIB }

/** Bodies with what they refer to in them: a call of a few bytes may become one of megabytes. */
export const EXPANSIONS: Room = { bytes: 512 * MIB, bytes_of_one: 256 * MIB }

/** Forms and answers of images and sound, which lie in files. */
export const MEDIA: Room = { bytes: 1_024 * MIB, bytes_of_one: 384 * MIB }

export type MemoryRoom = ReturnType<typeof memoryRoom>

export function memoryRoom({ bytes: room, bytes_of_one }: Room, what: string) {
  let taken = 0
  const by_project = new Map<string, number>()

  return {
    taken: () => taken,

    /** What one upload or call takes, part by part, and gives back as a whole. */
    place(project_id: string) {
      let own = 0
      return {
        take(bytes: number): void {
          const of_project = by_project.get(project_id) ?? 0
          if (taken + bytes > room || of_project + bytes > bytes_of_one) throw noRoom(what)
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
