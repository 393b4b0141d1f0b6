// R40: where a call goes, by what is known of its project's routes at this moment.
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import { type Answer, chooseRoute } from '../routing/choose-route.ts'
import { noneFits } from '../routing/no-route.ts'
import type { Route } from '../routing/target.ts'
import type { Call } from './call.ts'
import type { Path } from './path.ts'

/** What of a call decides about its route: route-explain asks without one. */
export type Asking = Pick<Call, 'kind' | 'model' | 'trace_id' | 'session_id' | 'caller' | 'hints'>

export async function routeFor(path: Path, call: Asking): Promise<Route> {
  const answer = await routeAnswer(path, call)
  if (answer.kind === 'route') return answer.route
  if (answer.kind === 'unknown_model') throw unknownModel(call.model, call.caller)
  throw noneFits(call.model, answer.dropped)
}

/** R62: a model that the key may not name is one that does not exist. */
export async function routeAnswer(path: Path, call: Asking): Promise<Answer> {
  const { caller, model, session_id } = call
  const known = path.snapshots.of(caller)
  const snapshot = known instanceof Promise ? await known : known
  if (!mayNameModel(caller.allowed_models, model, snapshot.aliases.has(model))) return { kind: 'unknown_model' }
  const is_free = call.hints?.reuse?.preference === 'avoid'
  const question = {
    model,
    seed: call.trace_id,
    now: path.clock.now(),
    affine_to: is_free ? undefined : path.affinity.targetOf(caller.project_id, session_id),
    leftAlone: (target_id: string) => path.breakers.leftAlone(target_id, call),
    inFlight: path.slots.inFlight,
  }
  return chooseRoute(question, snapshot)
}
