// How a key is shown to people, one field a line.
import type { ApiKey } from '../../src/keys/key.ts'
import { card, dollars, when } from '../table.ts'

const limitOf = ({ budget_micros }: ApiKey) => (budget_micros === undefined ? '-' : dollars(budget_micros))

/** In a table: a limit by the calendar is one too, beside the total or alone. */
export function limitsOf(key: ApiKey): string {
  const by_calendar = key.window && `${dollars(key.window.limit_micros)} a ${key.window.period}`
  if (!by_calendar) return limitOf(key)
  return key.budget_micros === undefined ? by_calendar : `${limitOf(key)}, ${by_calendar}`
}

export function describe(key: ApiKey): string {
  const { expires_at, previous_expires_at, parent_id, allowed_models, allowed_cidrs, allowed_clusters, window } = key
  return card({
    Key: key.id,
    Name: key.name,
    ...(parent_id && { 'Child of': parent_id }),
    Scopes: key.scopes.join(' '),
    Status: key.status,
    Spent: dollars(key.spent_micros),
    Limit: limitOf(key),
    ...(window && { [`This ${window.period}`]: windowLine(window) }),
    ...(expires_at && { Expires: when(expires_at) }),
    ...(previous_expires_at && { 'Old secret': `until ${when(previous_expires_at)}` }),
    ...(allowed_models && { Models: allowed_models.join(' ') }),
    ...(allowed_cidrs && { Networks: allowed_cidrs.join(' ') }),
    ...(allowed_clusters && { Clusters: allowed_clusters.join(' ') }),
    ...(key.clamp_output && { Output: 'as much as the budget buys' }),
    ...(key.max_parallel_requests && { 'At once': `${key.max_parallel_requests} generations` }),
  })
}

const windowLine = ({ spent_micros, limit_micros, resets_at }: NonNullable<ApiKey['window']>) =>
  `${dollars(spent_micros)} of ${dollars(limit_micros)}, resets at ${when(resets_at)}`

export const withSecret = (key: ApiKey & { key: string }) =>
  `${describe(key)}\nThe key, shown once; store it now:\n\n  ${key.key}\n`
