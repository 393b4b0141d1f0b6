// The end of an answer, however it comes: Node tells it once, and whoever waited for a key, a store or its turn before
// may ask too late.
import type { ServerResponse } from 'node:http'

export function onceClosed(raw: ServerResponse, then: () => void): void {
  if (raw.destroyed) then()
  else raw.once('close', then)
}
