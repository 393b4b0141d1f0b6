// R83: switchyard.yaml takes effect without a restart, but for where contents lie and where traces go. The settings are
// replaced in place, in one turn of the event loop: whoever reads them next reads the new ones, and calls under way end
// with the old.

import type { PriceBook } from '../models/price-book.ts'
import type { TracingSettings } from '../telemetry/tracing-settings.ts'
import type { GatewaySettings } from './gateway-settings.ts'

export function replaceSettings(current: GatewaySettings, next: GatewaySettings): void {
  Object.assign(current.gateway, next.gateway)
  Object.assign(current.policy, next.policy)
  Object.assign(current.limits, next.limits)
  Object.assign(current.quotas, next.quotas)
  Object.assign(current.shares, next.shares)
  Object.assign(current.streams, next.streams)
  Object.assign(current.sign_in, next.sign_in)
  current.artifacts.max_mib = next.artifacts.max_mib // where contents lie is decided at the start
  if (current.tracing && next.tracing) Object.assign(current.tracing, reloaded(next.tracing))
}

const reloaded = ({ sample_ratio, parent_based, propagate_to }: TracingSettings) => ({
  sample_ratio,
  parent_based,
  propagate_to,
})

/** What is different and stays as it was until the next start. Named, never shown: there may be secrets in it. */
export function awaitingRestart(before: GatewaySettings, after: GatewaySettings): string[] {
  const { max_mib: _old, ...lay } = before.artifacts
  const { max_mib: _new, ...lies } = after.artifacts
  const artifacts = fieldsThatDiffer(lay, lies).map((name) => `artifacts.${name}`)
  if (!before.tracing || !after.tracing) return before.tracing === after.tracing ? artifacts : [...artifacts, 'tracing']
  const now = { ...after.tracing, ...reloaded(before.tracing) }
  return [
    ...artifacts,
    ...fieldsThatDiffer(before.tracing, now).map((name) => `tracing.${TRACING_NAMES[name] ?? name}`),
  ]
}

/** As the file calls it. */
const TRACING_NAMES: Readonly<Record<string, string>> = { url: 'endpoint' }

/** What is different, for the log. Secrets are named, never shown. */
export function settingsChanges(before: GatewaySettings, after: GatewaySettings): string[] {
  const { providers: old, prices, ...gateway } = before.gateway
  const { providers: now, prices: nextPrices, ...nextGateway } = after.gateway
  return [
    ...entryChanges('provider', old, now),
    ...(prices === nextPrices ? [] : entryChanges('model of the price book', listed(prices), listed(nextPrices))),
    ...entryChanges('issuer', before.sign_in.issuers, after.sign_in.issuers),
    ...changesIn('', { ...gateway, ...restOf(before) }, { ...nextGateway, ...restOf(after) }),
  ]
}

const restOf = ({ policy, limits, quotas, shares, streams, artifacts, tracing, sign_in }: GatewaySettings) => ({
  networks: policy,
  limits,
  quotas,
  shares,
  streams,
  artifacts: { max_mib: artifacts.max_mib },
  ...(tracing && { tracing: reloaded(tracing) }),
  sign_in: { session: sign_in.session, second_factor: sign_in.second_factor_required ? 'required' : 'optional' },
})

/** What calls are charged by; where a price was read is of no matter here. */
const listed = (prices: PriceBook) =>
  [...prices.values()]
    .map(({ id, price, max_output_tokens }) => ({ id, price, max_output_tokens }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))

interface Entry {
  id: string
}

function entryChanges(what: string, old: readonly Entry[], now: readonly Entry[]): string[] {
  const known = new Map(old.map((entry) => [entry.id, entry]))
  const changes = now.flatMap((entry) => {
    const before = known.get(entry.id)
    if (!before) return [`${what} '${entry.id}' is new`]
    const fields = fieldsThatDiffer(before, entry)
    return fields.length > 0 ? [`${what} '${entry.id}': ${fields.join(', ')} changed`] : []
  })
  const gone = old.filter(({ id }) => !now.some((entry) => entry.id === id))
  const inOrder = (entries: readonly Entry[], others: readonly Entry[]) =>
    entries.filter(({ id }) => others.some((other) => other.id === id)).map(({ id }) => id)
  const is_reordered = String(inOrder(old, now)) !== String(inOrder(now, old))
  return [
    ...changes,
    ...gone.map(({ id }) => `${what} '${id}' is gone`),
    ...(is_reordered ? [`the order of ${what}s changed`] : []),
  ]
}

const fieldsThatDiffer = (before: object, after: object) =>
  Object.keys({ ...before, ...after }).filter(
    (name) => JSON.stringify(before[name as never]) !== JSON.stringify(after[name as never]),
  )

/** Value by value: `limits.key.requests_per_minute: 60000 → 100`. */
function changesIn(path: string, before: object, after: object): string[] {
  return fieldsThatDiffer(before, after).flatMap((name) => {
    const [was, is]: unknown[] = [before[name as never], after[name as never]]
    const at = path === '' ? name : `${path}.${name}`
    return isPlain(was) && isPlain(is)
      ? changesIn(at, was, is)
      : [`${at}: ${JSON.stringify(was)} → ${JSON.stringify(is)}`]
  })
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
