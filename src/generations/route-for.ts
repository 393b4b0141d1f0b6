// R40: where a call goes, by what is known of its project's routes at this moment.
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import type { TestedRelease } from '../replays/replay-target.ts'
import { type Answer, chooseRoute, type Snapshot } from '../routing/choose-route.ts'
import { noneFits } from '../routing/no-route.ts'
import type { Route, Target } from '../routing/target.ts'
import type { Asking } from './asking.ts'
import type { Path } from './path.ts'

export async function routeFor(path: Path, call: Asking, release?: TestedRelease): Promise<Route> {
  const answer = await routeAnswer(path, call, release)
  if (answer.kind === 'route') return answer.route
  if (answer.kind === 'unknown_model') throw unknownModel(call.model, call.caller)
  throw noneFits(call.model, answer.dropped)
}

/** R62: a model that the key may not name is one that does not exist. `release`: whatever its alias points at. */
export async function routeAnswer(path: Path, call: Asking, release?: TestedRelease): Promise<Answer> {
  const { caller, model, session_id } = call
  const known = path.snapshots.of(caller)
  const current = known instanceof Promise ? await known : known
  const snapshot = release ? pointedAt(current, release) : current
  if (!mayNameModel(caller.allowed_models, model, snapshot.aliases.has(model))) return { kind: 'unknown_model' }
  const is_free = call.hints?.reuse?.preference === 'avoid'
  const question = {
    model,
    seed: call.trace_id,
    now: path.clock.now(),
    affine_to: is_free ? undefined : path.affinity.targetOf(caller.project_id, session_id),
    leftAlone: (target_id: string) => path.breakers.leftAlone(target_id, call),
    inFlight: path.slots.inFlight,
    place: (targets: readonly Target[]) => path.placing.place(call, targets),
  }
  return chooseRoute(question, snapshot)
}

/** As if the alias pointed at this release. */
function pointedAt(snapshot: Snapshot, { id, alias_name, targets }: TestedRelease): Snapshot {
  const { boundary } = snapshot.aliases.get(alias_name) ?? { boundary: undefined }
  const aliases = new Map(snapshot.aliases).set(alias_name, { release_id: id, targets, boundary })
  return { ...snapshot, aliases }
}
