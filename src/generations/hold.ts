// R43: sets money aside for one attempt, where a limit applies at all. Where the dearest outcome does not fit but a
// shorter answer would, and the caller set no limit of its own, the answer is shortened instead of refused. Nothing is
// begun, limit or not, while the store does not take charges.
import { type Hold, type Limit, quotaExceeded } from '../budgets/budget.ts'
import { Refusal } from '../core/refusal.ts'
import { invalidKey } from '../http/auth-hooks.ts'
import { PRICED_BY, pricesMatter } from '../media/media-price.ts'
import { isMediaKind } from '../providers/provider.ts'
import type { Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import { clampedTo, worstCost } from './charge.ts'
import type { Generation } from './generation.ts'
import { pricedApart } from './priced-apart.ts'

const CLAMP_TRIES = 3 // others take from the same limit meanwhile

/** What is held for one attempt; `clamp_output_to` is what the budget still buys (R43). */
export interface Held {
  hold: Hold | undefined
  clamp_output_to: number | undefined
}

const NOTHING: Held = { hold: undefined, clamp_output_to: undefined }

/** At once where no limit applies. */
export function holdFor(generation: Generation, target: Target): Held | Promise<Held> {
  const { path, call, only } = generation
  const { budget_micros, window_limit_micros, project_cap_micros } = call.caller
  if (budget_micros === 0) throw quotaExceeded('key') // R6: 0 blocks every call, free ones included
  if (window_limit_micros === 0) throw quotaExceeded('window')
  if (project_cap_micros === 0) throw quotaExceeded('project')
  path.deferred.refuseWhileBehind()
  if (only?.most_micros !== undefined) {
    refuseUnpriced(call, target)
    only.assertFits(worstCost(call, target))
  }
  if (call.tags && !call.caller.has_no_tag_budgets) return holdTagged(generation, target)
  if ((budget_micros ?? window_limit_micros ?? project_cap_micros) === undefined) return NOTHING
  refuseUnpriced(call, target)
  return hold(generation, target)
}

/** Whether one of its tags has a budget, the store knows. */
async function holdTagged(generation: Generation, target: Target): Promise<Held> {
  const { caller, tags = [] } = generation.call
  const budgets = await generation.path.tagBudgetsOf(caller.project_id, tags)
  const { budget_micros, window_limit_micros, project_cap_micros } = caller
  if (budgets.length === 0 && (budget_micros ?? window_limit_micros ?? project_cap_micros) === undefined) return NOTHING
  refuseUnpriced(generation.call, target)
  return hold(generation, target, budgets.length === 0 ? undefined : budgets)
}

async function hold(generation: Generation, target: Target, tag_budgets?: readonly string[]): Promise<Held> {
  const { path, call, only } = generation
  const { slices, clock, onBudgetRefused } = path
  const { project_id, key_id } = call.caller
  const spender = tag_budgets ? { tag_budgets, ...call.caller } : call.caller
  let wanted = { micros: worstCost(call, target), clamp_output_to: undefined as number | undefined }
  for (let tries = 0; ; tries++) {
    const outcome = await slices.hold(spender, wanted.micros, clock.now())
    if (outcome.kind === 'held') return { hold: outcome.hold, clamp_output_to: wanted.clamp_output_to }
    if (outcome.kind === 'ended') throw invalidKey() // R64: between its request and this moment
    // A call of ours is asked whole or not at all: a shorter answer would not be the one that is compared.
    const shorter = tries < CLAMP_TRIES && !only ? shorterFor(call, target, outcome.available_micros) : undefined
    if (!shorter) {
      const { limit } = outcome
      if (limit !== 'tag' && isTold(call, limit)) onBudgetRefused({ project_id, key_id, limit })
      throw quotaExceeded(limit, outcome.resets_at)
    }
    wanted = { micros: shorter.micros, clamp_output_to: shorter.clamp_output_to }
  }
}

/** R64: that a child uses up what it was given is no news. Its parent's limits are told of, and the project's. */
const isTold = ({ caller, is_replay }: Call, limit: Limit) =>
  !is_replay && (caller.parent_id === undefined || limit === 'project')

/** R76: a key may say that its own limits may be lowered too. */
const shorterFor = (call: Call, target: Target, available_micros: number) =>
  call.conversation?.compacts // it takes no limit
    ? undefined
    : clampedTo(call, target, available_micros, call.caller.clamp_output)

/** R43, R76: what nobody can price, nobody can hold for. */
export function refuseUnpriced(call: Call, { pricing, model, dialling }: Target): void {
  if (pricing.kind === 'fee') return
  const is_priced = pricing.kind === 'tokens' && (!isMediaKind(call.kind) || pricesMatter(call.kind, pricing.price))
  const field = is_priced ? pricedApart(call, pricing.price, dialling.responses_native, dialling.protocol) : undefined
  if (is_priced && field === undefined) return
  const what = field === undefined ? `'model' ${model} has no price here` : `What '${field}' asks for has no price here`
  const how = field === undefined ? howToPrice(call) : '.'
  throw new Refusal('invalid_request', `${what}, so a key or project with a limit cannot use it${how}`)
}

const howToPrice = ({ kind }: Call) =>
  `: list it under its provider's 'models' in switchyard.yaml with ${isMediaKind(kind) ? PRICED_BY[kind] : TOKENS}.`

const TOKENS = "'input_usd_per_million', 'output_usd_per_million' and 'max_output_tokens'"
