// How many bytes of recordings may be in memory at once, of all projects and of one (R78): while answers are on their
// way, and until they are written.

export interface RoomBounds {
  bytes: number
  bytes_of_one: number
}

/** A part of it. */
export interface Share {
  /** False where there is no room; then nothing is taken. */
  take(project_id: string, bytes: number): boolean
  giveBack(project_id: string, bytes: number): void
}

export interface RecordingRoom extends Share {
  taken(): number
  /** Of answers that are on their way, which may take hours: half of all, and of what a project may have. */
  running: Share
}

export function recordingRoom({ bytes, bytes_of_one }: RoomBounds): RecordingRoom {
  const all = sharedOut({ bytes, bytes_of_one })
  const running = sharedOut({ bytes: bytes / 2, bytes_of_one: bytes_of_one / 2 })
  return {
    ...all,
    running: {
      take(project_id, more) {
        if (!running.take(project_id, more)) return false
        if (all.take(project_id, more)) return true
        running.giveBack(project_id, more)
        return false
      },
      giveBack(project_id, less) {
        running.giveBack(project_id, less)
        all.giveBack(project_id, less)
      },
    },
  }
}

/** However many others have a part of it: one project has no more than half of what they leave. */
function sharedOut({ bytes: most, bytes_of_one }: RoomBounds) {
  let taken = 0
  const by_project = new Map<string, number>()

  return {
    taken: () => taken,

    take(project_id: string, bytes: number): boolean {
      const before = by_project.get(project_id) ?? 0
      const of_project = before + bytes
      const of_others = taken - before
      if (of_project > Math.min(bytes_of_one, (most - of_others) / 2)) return false
      taken += bytes
      by_project.set(project_id, of_project)
      return true
    },

    giveBack(project_id: string, bytes: number): void {
      taken -= bytes
      const left = (by_project.get(project_id) ?? 0) - bytes
      if (left > 0) by_project.set(project_id, left)
      else by_project.delete(project_id)
    },
  }
}
