// What a call asks a target's slots for.
import type { AdmissionRequest } from '../capacity/admission.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { isCustomers, type Target } from '../routing/target.ts'
import type { Call } from './call.ts'

export function admissionOf(call: Call, target: Target, signal: StopSignal): AdmissionRequest {
  const { hints, caller, received_at, deadline_at } = call
  const target_ttft_ms = hints?.qos?.target_ttft_ms
  return {
    target_id: target.id,
    max_concurrency: target.dialling.max_concurrency,
    is_shared: !isCustomers(target),
    class: hints?.qos?.class ?? 'standard',
    project_id: caller.project_id,
    share: caller.share,
    key_id: caller.key_id,
    input_tokens_est: call.input_estimate,
    body_bytes: call.body.length,
    arrived_at: received_at,
    ...(target_ttft_ms !== undefined && { start_by: received_at + target_ttft_ms }),
    ...(deadline_at !== undefined && { deadline_at }),
    signal,
  }
}
