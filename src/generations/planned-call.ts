// A call that is only planned: it has come as far as its route, and goes no further. Nobody is called.
import type { Target } from '../routing/target.ts'
import type { Generation } from './generation.ts'

const NOTHING = Buffer.from('{}')

export function endAtRoute({ only, call, route, path, client }: Generation): void {
  const standings = route.placing?.standings ?? []
  const heldBy = (target: Target) =>
    standings.find(({ target_id }) => target_id === target.id)?.held_tokens ??
    path.prompts.believe(call, target, false).held_tokens
  only?.onRouted?.({ call, route, heldBy })
  client.send(200, {}, NOTHING)
}
