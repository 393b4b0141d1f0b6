// The end of a generation, in one transaction (R21, R43): hold → charge, the usage event, the session's line, the kept
// answer. All of it happens or none of it does.
import type { RowFate, Settlement } from '../budgets/budget.ts'
import type { BudgetStore, Spender } from '../budgets/budget-store.ts'
import type { Slices } from '../budgets/slice-store.ts'
import { rfc3339 } from '../core/clock.ts'
import { type Admission, type ExecutionMode, savings } from '../headers/agent-headers.ts'
import { conflict, type KeptResponse } from '../idempotency/idempotency.ts'
import type { IdempotencyStore, Reservation } from '../idempotency/idempotency-store.ts'
import type { Db } from '../storage/db.ts'
import type { SubscriptionStore } from '../subscriptions/subscription-store.ts'
import type { TraceFacts } from '../usage/trace.ts'
import type { Ending, UsageEvent } from '../usage/usage-event.ts'
import type { UsageStore } from '../usage/usage-store.ts'
import type { Slot } from './admission.ts'
import type { Call } from './call.ts'
import { type Charge, chargeFor } from './charge.ts'
import type { Dispatched } from './dispatch.ts'
import { targetMet } from './qos.ts'
import type { SettleTogether } from './settle-together.ts'
import type { Target } from './target.ts'
import type { TokenCounts } from './token-counts.ts'

export interface Produced {
  ending: Ending
  tokens: TokenCounts
  mode: ExecutionMode
  admission: Admission
  alias_release_id: string | undefined
  fallback_used: boolean
  keyed: boolean
  repeated_tokens_est: number
  /** R71: what would have been charged, had its deadline not passed in mid-stream. */
  waived_micros?: number
  /** R84: what was done, as the headers told it; undefined where no hints came. */
  hints_honored?: readonly string[] | undefined
  /** As the trailers told it, where the stream ran past a deadline that its headers had promised to keep. */
  hints_at_end?: readonly string[] | undefined
  target_met_in_trailer?: boolean | undefined
}

export interface Money {
  charged_micros: number
  direct_cost_micros: number
}

/** What else must happen together with the charge. */
export interface Together {
  reservation: Reservation | undefined
  /** Whether `also` has anything to write. */
  leaves_more: boolean
  /** The answer to keep, once its cost is known. */
  kept(money: Money): KeptResponse
  /** About how much that is. */
  kept_bytes: number
  also(tx: Db, money: Money): Promise<void>
}

export interface SettleNeeds {
  db: Db
  now(): number
  budgetsOn(db: Db): BudgetStore
  slices: Slices
  usageOn(db: Db): UsageStore
  subscriptionsOn(db: Db): SubscriptionStore
  idempotencyOn(db: Db): IdempotencyStore
  /** For charges that leave nothing behind but their usage event and a kept answer. */
  settleTogether: SettleTogether
  onWriteOff(micros: number): void
  onWaive(micros: number): void
}

/** A generation that has ended, as far as its charge and its event need it. */
export interface Bill {
  call: Pick<Call, 'caller' | 'trace_id' | 'endpoint' | 'model' | 'session_id' | 'received_at' | 'stream' | 'hints'> &
    Partial<Pick<Call, 'ignored_fields'>>
  got: Pick<Dispatched, 'target' | 'attempts' | 'hold' | 'clamped_to' | 'ttft_ms'> & { slot: Pick<Slot, 'queue_ms'> }
  produced: Produced
  together: Together | undefined
}

/** The same with nothing more in it than that: what has to wait keeps neither the prompt nor an answer in memory. */
export function bare({ call, got, produced, together }: Bill): Bill {
  const { caller, trace_id, endpoint, model, session_id, received_at, stream, hints, ignored_fields = [] } = call
  const { target, attempts, hold, clamped_to, ttft_ms, slot } = got
  return {
    call: { caller, trace_id, endpoint, model, session_id, received_at, stream, hints, ignored_fields },
    got: { target, attempts, hold, clamped_to, ttft_ms, slot: { queue_ms: slot.queue_ms } },
    produced,
    together: together?.reservation || together?.leaves_more ? together : undefined,
  }
}

interface Settled {
  money: Money
  settlement: Settlement
}

export async function settle(needs: SettleNeeds, bill: Bill): Promise<Money> {
  const { got, produced, together } = bill
  const is_plain = !together?.leaves_more && !got.target.subscription
  const { money, settlement } = is_plain ? await settlePlain(needs, bill) : await settleWith(needs, bill)
  if (together?.reservation) needs.idempotencyOn(needs.db).ended(together.reservation)
  if (settlement.written_off_micros > 0) needs.onWriteOff(settlement.written_off_micros)
  if (produced.waived_micros) needs.onWaive(produced.waived_micros)
  return money
}

/** Who left before any content, though after the headers (R82), has had nothing. */
const isOwed = ({ ending }: Produced, { ttft_ms }: Pick<Dispatched, 'ttft_ms'>) =>
  ending === 'completed' || (ending === 'client_left' && ttft_ms !== null)

async function settlePlain(needs: SettleNeeds, { call, got, produced, together }: Bill): Promise<Settled> {
  const charge = isOwed(produced, got) ? chargeFor(got.target, produced.tokens, 0) : NOTHING
  const { direct_cost_micros } = charge
  const moneyOf = ({ charged_micros }: Settlement): Money => ({ charged_micros, direct_cost_micros })
  const settlement = await needs.settleTogether({
    spender: call.caller,
    hold: got.hold,
    cost_micros: charge.cost_micros,
    event: (settled, now) => eventOf(call, got, produced, { direct_cost_micros, ...settled, now }),
    facts: traceFacts({ call, got, produced }),
    keep: together?.reservation && {
      digest: together.reservation.digest,
      bytes: together.kept_bytes,
      write: (tx, settled) => keep(needs, tx, together, moneyOf(settled)),
    },
  })
  return { money: moneyOf(settlement), settlement }
}

/** R22: where another has taken the triple over meanwhile, its answer counts, and this call costs nothing. */
async function keep({ idempotencyOn, now }: SettleNeeds, tx: Db, together: Together, money: Money): Promise<void> {
  const { reservation } = together
  if (reservation && !(await idempotencyOn(tx).keep(reservation, together.kept(money), now()))) throw conflict()
}

function settleWith(needs: SettleNeeds, { call, got, produced, together }: Bill): Promise<Settled> {
  const { db, now, budgetsOn, slices, usageOn, subscriptionsOn } = needs
  const write = (row: RowFate | undefined) =>
    db.transaction(async (tx): Promise<Settled> => {
      const ended_at = now() // R65: the window that pays is the one that the usage event falls into
      const charge = isOwed(produced, got)
        ? await chargeIn(subscriptionsOn(tx), call.caller, got.target, produced.tokens)
        : NOTHING
      const owing = { spender: call.caller, hold: got.hold, cost_micros: charge.cost_micros, row: row ?? 'ends' }
      const { direct_cost_micros } = charge
      const record = async (settled: Settlement) => {
        const event = eventOf(call, got, produced, { now: ended_at, direct_cost_micros, ...settled })
        await usageOn(tx).insert(event, traceFacts({ call, got, produced }))
      }
      const settled = await budgetsOn(tx).settleAll([owing], ended_at, ([one]) => [record(one as Settlement)])
      const settlement = settled[0] as Settlement
      const money = { charged_micros: settlement.charged_micros, direct_cost_micros }
      if (together) {
        await together.also(tx, money)
        await keep(needs, tx, together, money)
      }
      return { money, settlement }
    })
  return slices.settling(
    [got.hold],
    now(),
    ([row]) => write(row),
    ({ settlement }) => [settlement],
  )
}

async function chargeIn(
  subscriptions: SubscriptionStore,
  { project_id }: Spender,
  target: Target,
  tokens: TokenCounts,
): Promise<Charge> {
  const { subscription } = target
  const covered = subscription ? await subscriptions.useTokens(project_id, subscription.id, tokens.input) : 0
  return chargeFor(target, tokens, covered)
}

const NOTHING: Charge = { cost_micros: 0, direct_cost_micros: 0 }

interface Figures {
  charged_micros: number
  direct_cost_micros: number
  written_off_micros: number
  overage_micros?: number
  now: number
}

const traceFacts = ({ call, got, produced }: Omit<Bill, 'together'>): TraceFacts => ({
  stream: call.stream,
  keyed: produced.keyed,
  fallback_used: produced.fallback_used,
  target_met: targetMet(call.hints, got.ttft_ms),
  hints_honored: produced.hints_honored,
  ignored_fields: call.ignored_fields?.length ? call.ignored_fields : undefined,
  target_met_in_trailer: produced.target_met_in_trailer,
  hints_at_end: produced.hints_at_end,
  input_discount_pct: got.target.subscription?.input_discount_pct,
  output_clamped_to: got.clamped_to,
})

export type Tried = Pick<Bill['got'], 'target' | 'slot' | 'attempts'> & { ttft_ms: number | null }
export type Outcome = Omit<Produced, 'fallback_used' | 'keyed'>

export function eventOf(call: Bill['call'], got: Tried, produced: Outcome, figures: Figures): UsageEvent {
  const { target, slot, attempts, ttft_ms } = got
  const { tokens, repeated_tokens_est } = produced
  const { charged_micros, direct_cost_micros, written_off_micros, overage_micros = 0, now } = figures
  return {
    id: call.trace_id,
    object: 'usage_event',
    trace_id: call.trace_id,
    project_id: call.caller.project_id,
    key_id: call.caller.key_id,
    created_at: rfc3339(now),
    endpoint: call.endpoint,
    status: produced.ending,
    requested_model: call.model,
    resolved_model: target.model,
    provider: target.provider,
    profile: target.profile,
    mode: produced.mode,
    region: target.region,
    alias_release_id: produced.alias_release_id ?? null,
    cluster_id: target.cluster_id ?? null,
    credential_id: target.credential_id ?? null,
    subscription_id: target.subscription?.id ?? null,
    session_id: call.session_id ?? null,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    written_tokens: tokens.written,
    output_tokens: tokens.output,
    reasoning_tokens: tokens.reasoning,
    repeated_tokens_est,
    missed_reuse_tokens: Math.max(0, repeated_tokens_est - tokens.cached),
    charged_micros,
    direct_cost_micros,
    savings_micros: savings(charged_micros, direct_cost_micros),
    written_off_micros,
    overage_micros,
    waived_micros: produced.waived_micros ?? 0,
    tokens_estimated: tokens.estimated,
    admission: produced.admission,
    queue_ms: slot.queue_ms,
    ttft_ms,
    duration_ms: now - call.received_at,
    attempts: [...attempts],
  }
}
