// The virtual keys of Bifrost's governance, with the budgets and rate limits that they name.
import { usdToMicros } from '../core/money.ts'
import { mappedDuration } from './budget-duration.ts'
import { type Fields, type Report, reportRest } from './foreign-file.ts'
import type { PlannedKey } from './import-plan.ts'
import { hashOfRaw, maskedRaw, RAW_WORDS } from './imported-secret.ts'

interface Governance {
  report: Report
  budgets: readonly Fields[]
  rates: readonly Fields[]
  /** Of the models that were imported. */
  names: readonly string[]
}

export function bifrostKeys(governance: Fields, report: Report, names: readonly string[]): PlannedKey[] {
  const [budgets, rates] = [governance.maps('budgets'), governance.maps('rate_limits')]
  const virtual = governance.maps('virtual_keys')
  const keys = virtual.flatMap((entry) => keyOf(entry, { report, budgets, rates, names }) ?? [])
  for (const one of [...budgets, ...rates])
    if (one.rest().includes('max_limit') || one.rest().some((name) => name.endsWith('_max_limit')))
      report.leftOut(one.path, 'is of no key that was imported: budgets and rates are of keys here')
  return keys
}

function keyOf(entry: Fields, governance: Governance): PlannedKey | undefined {
  const { report } = governance
  const [id, raw] = [entry.text('id'), entry.text('value')]
  const name = entry.text('name') ?? id ?? 'bifrost key'
  const leaveOut = (field: string, told: string) => {
    report.leftOut(entry.at(field), `key '${name}' is not imported: ${told}`)
    return undefined
  }
  const hash = raw === undefined ? undefined : hashOfRaw(raw)
  if (raw === undefined) return leaveOut('value', 'the file does not have its value')
  if (!hash) throw report.wrong(entry.at('value'), `must be ${RAW_WORDS}`)
  if (entry.flag('is_active') === false) return leaveOut('is_active', 'it is not active')
  const models = modelsOf(entry, governance)
  if (models?.length === 0) return leaveOut('provider_configs', 'none of its models was imported')
  if (models && models.length > 100)
    return leaveOut('provider_configs', `it names ${models.length} models, at most 100`)
  const key: PlannedKey = {
    name,
    hash,
    masked: maskedRaw(raw),
    ...(models && { allowed_models: models }),
    ...moneyOf(entry, id, governance),
    ...ratesOf(entry, governance),
  }
  entry.ignore('description')
  reportRest(report, entry)
  return key
}

/** Which models its providers let it use. Named one by one: a `*` stands for no alias (R62). */
function modelsOf(entry: Fields, { report, names }: Governance): string[] | undefined {
  const configs = entry.maps('provider_configs')
  if (configs.length === 0) return undefined
  return configs.flatMap((config) => {
    const provider = config.text('provider') ?? ''
    const allowed = config.texts('allowed_models')
    if (config.number('weight') !== undefined) report.leftOut(config.at('weight'), 'is of providers here, not of keys')
    reportRest(report, config)
    const all = names.filter((name) => name.startsWith(`${provider}/`))
    if (allowed.length === 0 || allowed.includes('*')) return all
    return all.filter((name) => allowed.includes(name.slice(provider.length + 1)) || allowed.includes(name))
  })
}

type Money = Pick<PlannedKey, 'spent_micros' | 'budget_micros' | 'window'>

function moneyOf(entry: Fields, id: string | undefined, { report, budgets }: Governance): Money {
  const named = entry.text('budget_id')
  const [own, ...others] = budgets.filter((one) => {
    const [budget, key] = [one.text('id'), one.text('virtual_key_id')]
    return (named !== undefined && budget === named) || (id !== undefined && key === id)
  })
  if (named !== undefined && !own) throw report.wrong(entry.at('budget_id'), `'${named}' is not among the budgets`)
  for (const other of others) report.leftOut(other.path, 'is not imported: a key has one budget by the calendar')
  if (!own) return { spent_micros: 0 }
  const micros = (field: string) => {
    const usd = own.number(field)
    return usd === undefined ? undefined : (usdToMicros(usd) ?? Math.ceil(usd * 1e6))
  }
  const [limit_micros, spent_micros = 0] = [micros('max_limit'), micros('current_usage')]
  const said = own.text('reset_duration')
  own.ignore('last_reset', 'calendar_aligned')
  reportRest(report, own)
  if (limit_micros === undefined) return { spent_micros }
  const duration = said === undefined ? undefined : mappedDuration(said)
  if (!duration?.period) {
    if (said !== undefined) report.changed(own.at('reset_duration'), `${said} is no window here: it is a total`)
    return { spent_micros, budget_micros: limit_micros }
  }
  const { period, is_exact } = duration
  if (!is_exact) report.changed(own.at('reset_duration'), `${said} becomes a ${period} of the calendar (UTC)`)
  return { spent_micros, window: { period, limit_micros, spent_micros } }
}

type Rates = Pick<PlannedKey, 'requests_per_minute' | 'tokens_per_minute'>

function ratesOf(entry: Fields, { report, rates }: Governance): Rates {
  const named = entry.text('rate_limit_id')
  if (named === undefined) return {}
  const own = rates.find((one) => one.text('id') === named)
  if (!own) throw report.wrong(entry.at('rate_limit_id'), `'${named}' is not among the rate limits`)
  const perMinute = (kind: 'request' | 'token') => {
    const [most, every] = [own.number(`${kind}_max_limit`), own.text(`${kind}_reset_duration`) ?? '1m']
    if (most === undefined || every === '1m' || every === '60s') return most
    report.leftOut(own.at(`${kind}_max_limit`), `has no counterpart: limits are of a minute, this one of ${every}`)
    return undefined
  }
  const [requests, tokens] = [perMinute('request'), perMinute('token')]
  own.ignore('request_current_usage', 'token_current_usage', 'request_last_reset', 'token_last_reset')
  reportRest(report, own)
  return {
    ...(requests !== undefined && { requests_per_minute: Math.max(1, Math.floor(requests)) }),
    ...(tokens !== undefined && { tokens_per_minute: Math.max(1, Math.floor(tokens)) }),
  }
}
