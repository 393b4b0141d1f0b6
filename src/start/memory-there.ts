// How much memory there is: of the machine, or as much of it as a container has.
import { totalmem } from 'node:os'

export function memoryThere(): number {
  const bound = process.constrainedMemory() // 0 where nothing is said of it
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem()
}
