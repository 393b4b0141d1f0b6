// How the operator's providers stand at this moment, for its metrics, and all customers' own targets together.
import type { Admission } from '../capacity/admission.ts'
import type { Breakers } from '../capacity/breaker.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { TargetState } from '../telemetry/target-gauges.ts'

export function targetStates({ providers }: Gateway, slots: Admission, breakers: Breakers): TargetState[] {
  const left = new Set(breakers.notClosed(NOBODY).map(({ target }) => target))
  const states = providers.map(({ id, max_concurrency }) => {
    const target_id = `provider:${id}`
    const [in_use, waiting] = [slots.inFlight(target_id), slots.waiting(target_id)]
    return { provider: id, slots: max_concurrency, in_use, waiting, is_left_alone: left.has(target_id) }
  })
  return [...states, { provider: 'customers', is_left_alone: false, ...slots.ofCustomers() }]
}

/** No project's own circuits: those that are open for everyone. */
const NOBODY = ''

/** Whether the operator's settings list the model at this provider, by the name that the provider knows it by. */
export const isListed = ({ providers }: Gateway, provider: string, model: string): boolean =>
  providers.some(({ id, models }) => id === provider && models.some(({ upstream_id }) => upstream_id === model))
