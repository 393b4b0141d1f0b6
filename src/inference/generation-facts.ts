// What is told of a generation that was answered: one set of facts for its headers, its usage event and its trace.
import {
  type ExecutionMode,
  type QosFacts,
  qosHeaders,
  type RouteFacts,
  routeHeaders,
} from '../headers/agent-headers.ts'
import type { Call } from './call.ts'
import type { Dispatched } from './dispatch.ts'
import { isFallback } from './own-capacity.ts'
import { hintsHonored, type ReuseBelief, targetMet } from './qos.ts'
import type { Route } from './target.ts'

export interface Facts {
  route: RouteFacts
  qos: QosFacts
}

interface Answered {
  call: Call
  route: Route
  got: Dispatched
  reuse: ReuseBelief | undefined
}

export function modeOf(route: Route, got: Pick<Dispatched, 'target' | 'attempts'>): ExecutionMode {
  if (got.target.dialling.protocol === 'placeholder') return 'placeholder'
  return isFallback(route, got) ? 'emergency_fallback' : 'live'
}

export function factsOf({ call, route, got, reuse }: Answered, is_target_open = false): Facts {
  const { target } = got
  const { alias_release_id } = route
  return {
    route: {
      trace_id: call.trace_id,
      mode: modeOf(route, got),
      alias_release_id,
      output_clamped_to: got.clamped_to,
      ...target,
    },
    qos: {
      admission: got.slot.verdict,
      target_met: is_target_open ? undefined : targetMet(call.hints, got.ttft_ms),
      fallback_used: isFallback(route, got),
      hints_honored: hintsHonored(call.hints, reuse),
      ignored_fields: call.ignored_fields,
    },
  }
}

export const headersOf = ({ route, qos }: Facts) => Object.assign(routeHeaders(route), qosHeaders(qos))
