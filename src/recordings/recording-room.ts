// How many bytes of recordings may be in memory at once, of all projects and of one (R78): while answers are on their
// way, and until they are written.

export interface RoomBounds {
  bytes: number
  bytes_of_one: number
}

export type RecordingRoom = ReturnType<typeof recordingRoom>

export function recordingRoom({ bytes: most, bytes_of_one }: RoomBounds) {
  let taken = 0
  const by_project = new Map<string, number>()

  return {
    taken: () => taken,

    /** False where there is no room; then nothing is taken. */
    take(project_id: string, bytes: number): boolean {
      const of_project = (by_project.get(project_id) ?? 0) + bytes
      if (taken + bytes > most || of_project > bytes_of_one) return false
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
