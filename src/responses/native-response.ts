// The native form of a response (/v2): what /v1 says in headers stands in the body, and every attempt is told.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import { type MoneyFacts, type QosFacts, type RouteFacts, savings } from '../headers/agent-headers.ts'

const micros = (description: string) => Type.Integer({ description })

export const Routing = Type.Object({
  trace_id: Type.String({ description: 'Begins `trc_`.' }),
  provider: Type.String(),
  model: Type.String({ description: "The upstream's own name of the model." }),
  execution_profile: Type.Enum(['managed_provider', 'byok', 'subscription', 'byoc_native', 'byoc_epp']),
  execution_mode: Type.Enum(['live', 'emergency_fallback', 'placeholder']),
  region: Type.String(),
  alias_release_id: orNull(Type.String({ description: 'Begins `alr_`; null where no alias was asked for.' })),
  output_clamped_to: orNull(
    Type.Integer({ description: 'The output tokens that the upstream was allowed, where the budget bought no more.' }),
  ),
})

export const Qos = Type.Object({
  admission: Type.Enum(['admitted', 'queued', 'rejected', 'expired_before_start']),
  target_met: orNull(Type.Boolean({ description: 'Null where the request carried no target.' })),
  fallback_used: Type.Boolean(),
  hints_honored: orNull(Type.Array(Type.String(), { description: 'Null where the request carried no hints.' })),
})

export const Cost = Type.Object({
  charged_micros: micros('What was charged, in micro-USD.'),
  direct_cost_micros: micros('At list price, with nothing reused.'),
  savings_micros: micros('The difference, never below 0.'),
})

export const Attempt = Type.Object({
  n: Type.Integer({ minimum: 1 }),
  kind: Type.Enum(['first', 'provider_failover', 'retry']),
  target: Type.String(),
  status: orNull(Type.Integer({ description: "The upstream's status; null where none came." })),
  failure: orNull(Type.String({ description: 'Why it was given up; null where it answered.' })),
  ttft_ms: orNull(Type.Number({ description: 'From arrival to the first content.' })),
})
export type Attempt = Static<typeof Attempt>

export const NativeBlocks = Type.Object({
  routing: Routing,
  qos: Qos,
  cost: Cost,
  attempts: Type.Array(Attempt),
})
export type NativeBlocks = Static<typeof NativeBlocks>

/** All that is known of how a response came about, once it is settled. */
export interface NativeFacts {
  route: Omit<RouteFacts, 'credential_id' | 'subscription'>
  qos: QosFacts
  money: MoneyFacts
  attempts: readonly AttemptFacts[]
}

/** One call to one target; further fields are not told. */
export interface AttemptFacts {
  n: number
  kind: 'first' | 'provider_failover' | 'retry'
  target: string
  status: number | undefined
  failure: string | undefined
  ttft_ms: number | undefined
}

export function nativeBlocks({ route, qos, money, attempts }: NativeFacts): NativeBlocks {
  const { charged_micros, direct_cost_micros } = money
  return {
    routing: {
      trace_id: route.trace_id,
      provider: route.provider,
      model: route.model,
      execution_profile: route.profile,
      execution_mode: route.mode,
      region: route.region,
      alias_release_id: route.alias_release_id ?? null,
      output_clamped_to: route.output_clamped_to ?? null,
    },
    qos: {
      admission: qos.admission,
      target_met: qos.target_met ?? null,
      fallback_used: qos.fallback_used,
      hints_honored: qos.hints_honored ? [...qos.hints_honored] : null,
    },
    cost: { charged_micros, direct_cost_micros, savings_micros: savings(charged_micros, direct_cost_micros) },
    attempts: attempts.map(({ n, kind, target, status = null, failure = null, ttft_ms = null }) => ({
      n,
      kind,
      target,
      status,
      failure,
      ttft_ms,
    })),
  }
}
