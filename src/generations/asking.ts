// What of a call decides where it goes (R40).
import type { Call } from './call.ts'

/** What of a call decides about its route: route-explain asks without one. */
export type Asking = Pick<Call, 'kind' | 'model' | 'trace_id' | 'session_id' | 'caller' | 'hints' | 'chain'> &
  Partial<Pick<Call, 'json' | 'body' | 'input_estimate' | 'media'>>
