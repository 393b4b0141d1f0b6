// How much memory there is: of the machine, or as much of it as a container has.
import { totalmem } from 'node:os'
import { callsRoom, expansionsRoom, memoryRoom } from '../core/memory-room.ts'

export function memoryThere(): number {
  const bound = process.constrainedMemory() // 0 where nothing is said of it
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem()
}

/** What each has, however little memory there is, where that is not as usual. */
export interface LeastRooms {
  calls?: number
  expansions?: number
}

/** Of the memory that one process has: several behind a port share what there is. */
export const memoryRooms = (memory_bytes = memoryThere(), { calls, expansions }: LeastRooms = {}) => ({
  calls_room: memoryRoom(callsRoom(memory_bytes, calls), 'large calls'),
  expansions_room: memoryRoom(expansionsRoom(memory_bytes, expansions), 'large prompts'),
})
