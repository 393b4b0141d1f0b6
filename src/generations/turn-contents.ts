// R78: whether the contents of a turn are kept on its session's line. It is judged before anything is done for a call.
// Where its project has no room for them it is served all the same, its turn is counted, and it is told.
import { hasTurn } from './bill.ts'
import type { Generation } from './generation.ts'

/** What it may come to is not known: what it asks counts until it has ended. Undefined where nothing is to be kept. */
export function takeContents(generation: Generation): Promise<void> | undefined {
  const { path, call } = generation
  return path.gateway.full_fidelity && hasTurn(call) ? takeRoom(generation) : undefined
}

async function takeRoom(generation: Generation): Promise<void> {
  const { path, call } = generation
  const bytes = call.body.length
  if (await path.turn_contents.take(call.caller.project_id, bytes, path.clock.now())) {
    generation.contents_bytes = bytes
    return
  }
  call.drops_contents = true
  path.turn_contents.onDrop()
}

export function giveBackContents({ path, call, contents_bytes }: Generation): void {
  if (contents_bytes > 0) path.turn_contents.giveBack(call.caller.project_id, contents_bytes)
}
