// R70: how many of a thing one project may have. Lists come whole, and what one project keeps costs everybody's disk:
// so there is a bound for each, generous, and the operator's to set.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'

export const QUOTA_MAX = 100_000_000

const Most = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: QUOTA_MAX, default: fallback, description })

export const QuotasShape = Type.Object(
  {
    keys: Most(100_000, 'API keys that work, children included.'),
    clusters: Most(1_000, 'BYOC clusters.'),
    aliases: Most(1_000, 'Aliases.'),
    releases: Most(10_000, 'Releases of all aliases together.'),
    credentials: Most(1_000, 'Provider credentials that are not revoked.'),
    hints: Most(10_000, 'Stored hints.'),
    sessions: Most(200_000, 'Sessions, closed ones included.'),
    invitations: Most(1_000, 'Invitations that are open.'),
  },
  { additionalProperties: false, default: {} },
)
export type Quotas = Static<typeof QuotasShape>
export type QuotaKind = keyof Quotas
export const QUOTA_KINDS = Object.keys(QuotasShape.properties) as QuotaKind[]

/** For a minute after a count, the count is believed: whoever stands at a bound must not make us count at every try. */
export const RECOUNT_AFTER_MS = 60_000

export const beyondQuota = (kind: QuotaKind, max: number) =>
  new Refusal(
    'quota_exceeded',
    `This project has as many ${kind} as it may have (${max.toLocaleString('en')}). Delete some, or ask the operator ` +
      'for more.',
    { headers: { 'x-should-retry': 'false' } },
  )
