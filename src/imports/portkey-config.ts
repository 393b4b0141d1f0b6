// A Portkey config: a strategy over targets. It becomes an alias, and the providers that it leads to.
import { type Fields, type ForeignFile, type Report, reportOn, reportRest } from './foreign-file.ts'
import {
  againstAlias,
  type ImportPlan,
  type PlannedTarget,
  type Shelves,
  shelves,
  wholeWeights,
} from './import-plan.ts'
import { addressOf, upstreamNamed } from './known-upstreams.ts'
import { timeoutsOf } from './litellm-models.ts'
import { type PriceTable, priceFound } from './planned-price.ts'

const WORDS = {
  retry: 'has no counterpart: a call that failed goes to another target, not to the same one again',
  cache: 'has no counterpart: an answer is given again only for the same Agent-Idempotency-Key',
  on_status_codes: 'has no counterpart: calls go on to the next target where surely none was executed',
}

export interface PortkeyReading {
  table: PriceTable
  /** What the alias is called, which clients say in place of the config. */
  name: string
}

interface Reading extends PortkeyReading {
  report: Report
  placed: Shelves
}

export function readPortkey(source: ForeignFile, { table, name }: PortkeyReading): ImportPlan {
  const report = reportOn(source)
  const placed = shelves()
  const whole = report.whole()
  const targets = targetsOf(whole, { report, placed, table, name })
  const against = againstAlias(name, targets)
  if (against) report.leftOut([], `the alias '${name}' is not made: ${against}`)
  const aliases = against ? [] : [{ name, targets }]
  return { providers: placed.providers, aliases, keys: [], findings: report.findings }
}

/** A config is a target itself, or has some; targets may have targets of their own. */
function targetsOf(fields: Fields, reading: Reading): PlannedTarget[] {
  const { report } = reading
  const strategy = fields.map('strategy')
  const mode = strategy?.text('mode') ?? 'single'
  const below = fields.maps('targets')
  if (!['single', 'fallback', 'loadbalance'].includes(mode)) {
    report.leftOut((strategy as Fields).at('mode'), `'${mode}' has no counterpart: its targets are not imported`)
    return []
  }
  reportRest(report, strategy, WORDS)
  if (below.length === 0) return oneTarget(fields, reading)
  const groups = below.map((one) => ({ weight: one.number('weight') ?? 1, targets: targetsOf(one, reading) }))
  fields.ignore('name', 'weight')
  reportRest(report, fields, WORDS)
  if (mode === 'loadbalance') return balanced(groups)
  return groups.flatMap(({ targets }, at) => (at === 0 ? targets : targets.map((one) => ({ ...one, weight: 0 }))))
}

interface Group {
  weight: number
  targets: readonly PlannedTarget[]
}

/** A group's weight is shared by those of its targets that do not stand by. */
function balanced(groups: readonly Group[]): PlannedTarget[] {
  const shares = groups.flatMap(({ weight, targets }) => {
    const sum = targets.reduce((total, one) => total + one.weight, 0)
    return targets.map((one) => ({ one, share: sum === 0 ? 0 : (weight * one.weight) / sum }))
  })
  const weights = wholeWeights(shares.map(({ share }) => share))
  return shares.map(({ one }, at) => ({ ...one, weight: weights[at] ?? 0 }))
}

function oneTarget(fields: Fields, { report, placed, table }: Reading): PlannedTarget[] {
  const leaveOut = (told: string): [] => {
    report.leftOut(fields.path, `target is not imported: ${told}`)
    return []
  }
  const virtual = fields.text('virtual_key')
  const called = fields.text('provider')?.replace(/^@/, '') ?? virtual
  if (called === undefined) return leaveOut("it names no 'provider'")
  const known = upstreamNamed(called) ?? upstreamNamed(called.split(/[-_]/)[0] ?? '')
  if (!known) return leaveOut(`there is no provider of the kind '${called}' here`)
  const overrides = fields.map('override_params')
  const model = overrides?.text('model')
  if (model === undefined) return leaveOut("it says no model: give one in 'override_params.model'")
  const said = fields.text('custom_host')
  const base_url = addressOf(known, said)
  if (base_url === undefined) return leaveOut(`'${called}' needs a 'custom_host'`)
  const price = priceFound({
    id: model,
    upstream_id: model,
    known_as: [model],
    costs: {},
    table,
    is_own: said !== undefined,
  })
  if (!price) return leaveOut(`nobody knows what '${model}' costs. Give --prices`)
  if (price.told) report.changed(fields.path, `model '${model}' ${price.told}`)
  const [key, timeout_ms] = [fields.text('api_key'), fields.number('request_timeout')]
  const api_key = key ?? (known.variable && `\${${known.variable}}`)
  if (key === undefined && known.variable)
    report.changed(fields.path, `its key is not in the file: set ${known.variable} where the server runs`)
  const upstream = {
    called,
    ...(known.protocol && { protocol: known.protocol }),
    base_url,
    ...(api_key && { api_key }),
    ...(timeout_ms !== undefined && timeout_ms > 0 && { timeouts: timeoutsOf(timeout_ms / 1_000) }),
  }
  fields.ignore('name', 'weight', 'virtual_key')
  reportRest(report, overrides)
  reportRest(report, fields, WORDS)
  const provider = placed.place(upstream, { id: model, ...price.fields })
  return [{ provider: provider.id, model, weight: 1 }]
}
