// What a generation leaves to be settled, as the path hands it over.
import type { Hold } from '../../src/budgets/budget.ts'
import type { Spender } from '../../src/budgets/budget-store.ts'
import { newId } from '../../src/core/ids.ts'
import type { Bill } from '../../src/generations/bill.ts'
import { outcomeOf, type Went } from '../../src/generations/outcome.ts'
import type { Reservation } from '../../src/idempotency/idempotency-store.ts'
import type { Target } from '../../src/routing/target.ts'
import type { Turn } from '../../src/sessions/session.ts'
import { NOON } from './clock.ts'

const ROUTE = { candidates: [], dropped: [], passed_over: [], alias_release_id: undefined }

export interface Owed {
  trace_id?: string
  hold?: Hold | undefined
  reservation?: Reservation | undefined
  bytes?: number
  subscription?: Target['subscription']
  turn?: Turn | undefined
  tags?: Went['call']['tags']
}

/** Of a target with a fee: what is owed is what we say. */
export function billOf(spender: Spender, micros: number, owed: Owed = {}): Bill {
  const { trace_id = newId('trc'), hold, reservation, bytes, subscription, turn, tags } = owed
  const caller = spender as Bill['spender']
  const target = {
    ...{ id: 'provider:up', provider: 'up', model: 'm', region: 'eu', profile: 'byoc_native' },
    pricing: { kind: 'fee', micros },
    dialling: {},
    subscription,
  } as Target
  const from = { caller, trace_id, received_at: NOON, tags }
  const call = { ...from, endpoint: '/v1/chat/completions', model: 'm' } as Went['call']
  const outcome = outcomeOf({
    ...{ call: { ...call, stream: false, is_keyed: false, ignored_fields: [] }, route: ROUTE, target, attempts: [] },
    ...{ slot: undefined, clamped_to: undefined, ttft_ms: 1, reuse: undefined, is_target_open: false },
  })
  const answer =
    bytes === undefined ? undefined : { headers: {}, body: Buffer.alloc(bytes), is_native: false, said: {} }
  return { spender: caller, target, hold, outcome, answer, reservation, turn, response: undefined }
}
