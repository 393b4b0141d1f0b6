// The keys that LiteLLM exports: a page of /key/list?return_full_object=true, or the rows of its table of tokens.
import { usdToMicros } from '../core/money.ts'
import { mappedDuration } from './budget-duration.ts'
import { type Fields, type ForeignFile, type Report, reportOn, reportRest } from './foreign-file.ts'
import type { PlannedKey } from './import-plan.ts'
import { hashOfHex, hashOfRaw, maskedRaw, RAW_WORDS } from './imported-secret.ts'

export interface LitellmKeys {
  keys: PlannedKey[]
  findings: Report['findings']
}

/** Says nothing of what the key may do. */
const OF_NO_CONSEQUENCE = [
  ...['created_at', 'updated_at', 'created_by', 'updated_by', 'last_active', 'last_refreshed_at', 'token_id'],
  ...['key_name', 'budget_reset_at', 'budget_id', 'model_spend', 'user', 'created_by_user', 'key', 'token'],
  ...['team_alias', 'rotation_count', 'key_rotation_at', 'last_rotation_at', 'soft_budget_cooldown'],
]

const WORDS = {
  metadata: 'has no counterpart: tags come with each call (Agent-Tags)',
  user_id: 'has no counterpart: keys belong to a project, not to a person',
  model_max_budget: 'has no counterpart: budgets are of keys and projects, not of models',
  aliases: 'has no counterpart: aliases are of projects, not of keys',
}

export interface KeyReading {
  access_groups: ReadonlyMap<string, readonly string[]>
  now: number
}

const KEYS_MAX = 100_000

export function readLitellmKeys(source: ForeignFile, reading: KeyReading): LitellmKeys {
  const report = reportOn(source)
  const entries = entriesOf(source, report)
  if (entries.length > KEYS_MAX) throw report.wrong([], `has ${entries.length} keys, at most ${KEYS_MAX} at once`)
  const keys = entries.flatMap((entry) => keyOf(entry, report, reading) ?? [])
  const seen = new Set<string>()
  const once = keys.filter(({ hash }) => !seen.has(hash) && seen.add(hash))
  return { keys: once, findings: report.findings }
}

function entriesOf({ value }: ForeignFile, report: Report): Fields[] {
  if (Array.isArray(value)) return report.entries()
  const whole = report.whole()
  const pages = whole.number('total_pages') ?? 1
  if (pages > 1) throw report.wrong(['total_pages'], `is ${pages}: join all pages in one file, or raise 'size'`)
  const name = ['keys', 'data'].find((one) => Array.isArray(whole.any(one)))
  if (name === undefined) throw report.wrong([], "must be a list of keys, or an object with 'keys'")
  if (typeof (whole.any(name) as unknown[])[0] === 'string')
    throw report.wrong([name, 0], 'is no more than a hash: export with return_full_object=true')
  return whole.maps(name)
}

function keyOf(entry: Fields, report: Report, { access_groups, now }: KeyReading): PlannedKey | undefined {
  const secret = secretOf(entry, report)
  const name = entry.text('key_alias') ?? `litellm ${secret.masked}`
  const leaveOut = (field: string, told: string) => {
    report.leftOut(entry.at(field), `key '${name}' is not imported: ${told}`)
    return undefined
  }
  if (name.length > 256) return leaveOut('key_alias', 'its name has more than 256 characters')
  if (entry.flag('blocked')) return leaveOut('blocked', 'it is blocked. Import again once it is not')
  const expires = entry.text('expires')
  const expires_at = expires === undefined ? undefined : Date.parse(zoned(expires))
  if (Number.isNaN(expires_at)) throw report.wrong(entry.at('expires'), 'must be a time such as 2027-01-31T00:00:00Z')
  if (expires_at !== undefined && expires_at <= now) return leaveOut('expires', 'it has expired')
  const models = modelsOf(entry, report, access_groups)
  if (models === 'none') return leaveOut('models', 'it may use no model')
  if (models && models.length > 100) return leaveOut('models', `it names ${models.length} models, at most 100`)
  const team = entry.text('team_id')
  const own = [entry, entry.map('litellm_budget_table') ?? []].flat()
  const parallel = limitOf(own, 'max_parallel_requests')
  const [requests, tokens] = [limitOf(own, 'rpm_limit'), limitOf(own, 'tpm_limit')]
  const key: PlannedKey = {
    name,
    ...secret,
    ...(team !== undefined && { team }),
    ...(expires_at !== undefined && { expires_at }),
    ...(models && { allowed_models: models }),
    ...moneyOf(own, report, now),
    ...(requests !== undefined && { requests_per_minute: requests }),
    ...(tokens !== undefined && { tokens_per_minute: tokens }),
    ...(parallel !== undefined && { max_parallel_requests: parallel }),
  }
  for (const fields of own) {
    fields.ignore(...OF_NO_CONSEQUENCE)
    reportRest(report, fields, WORDS)
  }
  return key
}

function secretOf(entry: Fields, report: Report): Pick<PlannedKey, 'hash' | 'masked'> {
  const [key, token, shown] = [entry.text('key'), entry.text('token'), entry.text('key_name')]
  const said = key ?? token
  if (said === undefined) throw report.wrong(entry.path, "needs a 'token' (a hash) or a 'key'")
  const hash = hashOfHex(said)
  if (hash) return { hash, masked: shown?.replace('...', '…').slice(0, 64) ?? `sha256 ${said.slice(0, 8)}…` }
  const hashed = hashOfRaw(said)
  if (!hashed)
    throw report.wrong(entry.at(key === undefined ? 'token' : 'key'), `must be a SHA-256 in hex, or ${RAW_WORDS}`)
  return { hash: hashed, masked: maskedRaw(said) }
}

/** A time without a zone is UTC in LiteLLM's table. */
const zoned = (text: string) => (/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text.replace(' ', 'T')}Z`)

function modelsOf(entry: Fields, report: Report, groups: KeyReading['access_groups']): string[] | 'none' | undefined {
  const said = entry.texts('models')
  if (said.length === 0 || said.includes('all-proxy-models') || said.includes('*')) return undefined
  const known = said.filter((one) => one !== 'all-team-models' && one !== 'no-default-models')
  if (said.includes('all-team-models'))
    report.leftOut(entry.at('models'), "'all-team-models' is not known here: give the models of the team")
  const names = [...new Set(known.flatMap((one) => groups.get(one) ?? one))]
  if (names.some((one) => one.slice(0, -1).includes('*')))
    throw report.wrong(entry.at('models'), "may have a '*' only at the end of a name")
  return names.length === 0 ? 'none' : names
}

/** Of the key itself, else of the budget that it shares. */
function limitOf(own: readonly Fields[], name: string): number | undefined {
  const limit = own.map((fields) => fields.number(name)).find((one) => one !== undefined)
  return limit === undefined ? undefined : Math.min(Math.max(1, Math.floor(limit)), 1_000_000_000)
}

type Money = Pick<PlannedKey, 'spent_micros' | 'budget_micros' | 'window'>

/** R65: of a budget with a duration, what was spent counts in the window that runs now; else in total. */
function moneyOf(own: readonly Fields[], report: Report, now: number): Money {
  const [entry] = own as [Fields]
  const fields = own.find((one) => one.number('max_budget') !== undefined) ?? entry
  const spent_micros = microsOf(entry, 'spend', report) ?? 0
  const limit_micros = microsOf(fields, 'max_budget', report)
  const said = fields.text('budget_duration')
  if (limit_micros === undefined) return { spent_micros }
  if (said === undefined) return { spent_micros, budget_micros: limit_micros }
  const duration = mappedDuration(said)
  if (!duration) throw report.wrong(fields.at('budget_duration'), 'must be a duration such as 24h, 7d or 30d')
  const { period, is_exact } = duration
  if (!period) {
    report.changed(fields.at('budget_duration'), `${said} is no window here: the budget is a total that never renews`)
    return { spent_micros, budget_micros: limit_micros }
  }
  if (!is_exact) report.changed(fields.at('budget_duration'), `${said} becomes a ${period} of the calendar (UTC)`)
  const reset = entry.text('budget_reset_at')
  const is_over = reset !== undefined && Date.parse(zoned(reset)) <= now
  return { spent_micros, window: { period, limit_micros, spent_micros: is_over ? 0 : spent_micros } }
}

/** Spending is kept in fractions that no money has: rounded up. A budget is rounded down. */
function microsOf(fields: Fields, name: string, report: Report): number | undefined {
  const usd = fields.number(name)
  if (usd === undefined) return undefined
  const scaled = Number((usd * 1e6).toPrecision(15))
  const micros = usdToMicros(usd) ?? (name === 'spend' ? Math.ceil(scaled) : Math.floor(scaled))
  if (!Number.isSafeInteger(micros)) throw report.wrong(fields.at(name), 'is more money than can be counted')
  return micros
}
