// A bundled allowance of tokens at a provider: within it, input is discounted; beyond it, a call is served only where
// overage is enabled, at the list price.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, time } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'

const TOKENS_MAX = 1_000_000_000_000_000 // every sum of two is still exact

const discount = Type.Integer({ minimum: 0, maximum: 100, description: 'Off the input price, within the allowance.' })

export const Subscription = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `sub_`.' }),
    object: Type.Literal('subscription'),
    project_id: Type.String(),
    plan: Type.String(),
    provider: Type.String(),
    status: Type.Enum(['active', 'past_due', 'canceled']),
    input_discount_pct: discount,
    allowance_tokens: Type.Integer(),
    used_tokens: Type.Integer({ description: 'Beyond the allowance by the last call under it, or by overage.' }),
    period_start: time(),
    period_end: time(),
    overage_enabled: Type.Boolean(),
    created_at: time(),
  },
  { title: 'Subscription' },
)
export type Subscription = Static<typeof Subscription>

export const NewSubscription = Type.Object(
  {
    plan: Label('What the plan is called.'),
    provider: Label('The id of the provider that it is for.'),
    input_discount_pct: discount,
    allowance_tokens: Type.Integer({
      minimum: 0,
      maximum: TOKENS_MAX,
      description: 'How many tokens the period includes.',
    }),
    period_start: Type.Optional(Type.String({ description: 'RFC 3339; now, where it is left out.' })),
    period_end: Type.Optional(Type.String({ description: 'RFC 3339; a month after the start, where it is left out.' })),
    overage_enabled: Type.Optional(Type.Boolean({ description: 'Whether calls go on beyond the allowance.' })),
  },
  { title: 'NewSubscription' },
)
export type NewSubscription = Static<typeof NewSubscription>

/** What a name must be that is no provider's here; undefined where it is one. */
export type WrongProvider = (provider: string) => string | undefined

/** R72: a subscription at a provider that is not there would never serve, and its project pay the list price. */
export function assertServed(provider: string, wrongProvider: WrongProvider): void {
  const must = wrongProvider(label('provider', provider))
  if (must !== undefined) throw new Refusal('invalid_request', `'provider' ${must}.`)
}

export function subscribe(project_id: string, asked: NewSubscription, now: number): Subscription {
  const start = asked.period_start === undefined ? now : instant('period_start', asked.period_start)
  const end = instant('period_end', asked.period_end ?? rfc3339(monthAfter(start)))
  if (end <= start) throw new Refusal('invalid_request', "'period_end' must be after 'period_start'.")
  return {
    id: newId('sub'),
    object: 'subscription',
    project_id,
    plan: label('plan', asked.plan),
    provider: label('provider', asked.provider),
    status: 'active',
    input_discount_pct: asked.input_discount_pct,
    allowance_tokens: asked.allowance_tokens,
    used_tokens: 0,
    period_start: rfc3339(start),
    period_end: rfc3339(end),
    overage_enabled: asked.overage_enabled ?? false,
    created_at: rfc3339(now),
  }
}

/** The same day of the next month; the last one, where that month is shorter. */
function monthAfter(time_ms: number): number {
  const date = new Date(time_ms)
  const day = date.getUTCDate()
  date.setUTCMonth(date.getUTCMonth() + 1)
  if (date.getUTCDate() !== day) date.setUTCDate(0)
  return date.getTime()
}

/** Whether a call may run under it now. Its texts are all of one form, so they compare as the instants they name. */
export function isActive(subscription: Subscription, now: number): boolean {
  const { status, period_start, period_end } = subscription
  const at = rfc3339(now)
  return status === 'active' && period_start <= at && at < period_end
}

/** Whether the next call still gets the discount. */
export const hasAllowance = ({ used_tokens, allowance_tokens }: Subscription) => used_tokens < allowance_tokens

/** How many of the `tokens` just used were within the allowance, once they are counted in `used_tokens`. */
export function coveredTokens(tokens: number, { used_tokens, allowance_tokens }: Allowance): number {
  const used_before = used_tokens - tokens
  return Math.min(tokens, Math.max(0, allowance_tokens - used_before))
}

export type Allowance = Pick<Subscription, 'used_tokens' | 'allowance_tokens'>
