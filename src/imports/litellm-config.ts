// LiteLLM's config.yaml: models, names for them, and where calls go when one cannot take them.
import { type Fields, type ForeignFile, type Report, reportOn, reportRest } from './foreign-file.ts'
import {
  againstAlias,
  groupedBy,
  type ImportPlan,
  type PlannedAlias,
  type PlannedKey,
  type PlannedTarget,
  shelves,
  wholeWeights,
} from './import-plan.ts'
import { hashOfRaw, maskedRaw, RAW_WORDS } from './imported-secret.ts'
import { type Deployment, deploymentOf } from './litellm-models.ts'
import type { PriceTable } from './planned-price.ts'

export interface LitellmPlan extends ImportPlan {
  /** Which models an access group stands for. */
  access_groups: ReadonlyMap<string, readonly string[]>
}

const ROUTER_WORDS = {
  routing_strategy: 'has no counterpart: calls go by weight, and the session or prefix stays where it is cached',
  num_retries: 'has no counterpart: a call that failed goes to another target, not to the same one again',
  allowed_fails: 'has no counterpart: a breaker by failure rate leaves a target alone',
  cooldown_time: 'has no counterpart: a breaker by failure rate leaves a target alone',
  context_window_fallbacks: 'has no counterpart: name a longer model in the call, or an alias of one',
  content_policy_fallbacks: 'has no counterpart: a refusal is an answer',
  redis_host: 'is not needed: REDIS_URL of the server names one',
  redis_port: 'is not needed: REDIS_URL of the server names one',
  redis_password: 'is not needed: REDIS_URL of the server names one',
}

const LITELLM_WORDS = {
  ...ROUTER_WORDS,
  drop_params: 'has no counterpart: what an upstream does not take, it refuses itself',
  max_budget: 'has no counterpart with a duration: see `switchyard operator project cap` for a total',
  budget_duration: 'has no counterpart for all keys together: windows are of keys',
  cache: 'has no counterpart: an answer is given again only for the same Agent-Idempotency-Key',
  success_callback: 'has no counterpart: see webhooks, metrics and OpenTelemetry in OPERATIONS.md',
  failure_callback: 'has no counterpart: see webhooks, metrics and OpenTelemetry in OPERATIONS.md',
  callbacks: 'has no counterpart: see webhooks, metrics and OpenTelemetry in OPERATIONS.md',
}

const GENERAL_WORDS = {
  database_url: 'is LiteLLM’s own database: DATABASE_URL of the server names ours',
  alerting: 'has no counterpart: see notification channels in OPERATIONS.md',
}

export function readLitellm(source: ForeignFile, table: PriceTable, variable: Variables): LitellmPlan {
  const report = reportOn(source)
  const file = report.whole()
  const [router, litellm, general] = ['router_settings', 'litellm_settings', 'general_settings'].map((name) =>
    file.map(name),
  )
  const placed = shelves()
  const timeout_s = router?.number('timeout') ?? litellm?.number('request_timeout')
  const entries = file.maps('model_list')
  if (entries.length === 0) throw report.wrong(file.any('model_list') ? ['model_list'] : [], "has no 'model_list'")
  const deployments = entries.flatMap(
    (entry) => deploymentOf(entry, { report, shelves: placed, table, timeout_s }) ?? [],
  )
  const aliases = aliasesOf({ report, deployments, router, litellm })
  const keys = masterKey(general, report, variable)
  reportRest(report, router, ROUTER_WORDS)
  reportRest(report, litellm, LITELLM_WORDS)
  reportRest(report, general, GENERAL_WORDS)
  reportRest(report, file, { environment_variables: 'is not read: set them where the server runs' })
  const { findings } = report
  return { providers: placed.providers, aliases, keys, findings, access_groups: groupsOf(deployments) }
}

export type Variables = (name: string) => string | undefined

/** Clients may use it like any other key; it administers nothing here. */
function masterKey(general: Fields | undefined, report: Report, variable: Variables): PlannedKey[] {
  const said = general?.text('master_key')
  if (!general || said === undefined) return []
  const [, name] = /^os\.environ\/(\w+)$/.exec(said) ?? []
  const raw = name === undefined ? said : variable(name)
  const hash = raw === undefined ? undefined : hashOfRaw(raw)
  if (raw === undefined || hash === undefined) {
    const why = raw === undefined ? `the variable ${name} is not set` : `a key must have ${RAW_WORDS}`
    report.leftOut(general.at('master_key'), `is not imported: ${why}`)
    return []
  }
  report.changed(general.at('master_key'), 'works for calls alone; an admin key of the project administers it')
  return [{ name: 'litellm master key', hash, masked: maskedRaw(raw), spent_micros: 0 }]
}

function groupsOf(deployments: readonly Deployment[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { name, access_groups } of deployments)
    for (const group of access_groups) groups.set(group, [...new Set([...(groups.get(group) ?? []), name])])
  return groups
}

interface Routing {
  report: Report
  deployments: readonly Deployment[]
  router: Fields | undefined
  litellm: Fields | undefined
}

function aliasesOf({ report, deployments, router, litellm }: Routing): PlannedAlias[] {
  const groups = groupAliases(router, report)
  const byName = groupedBy(deployments, ({ name }) => name)
  const behind = (name: string) => targetsOf(byName.get(groups.get(name)?.model ?? name) ?? [])
  const fallbacks = new Map([...fallbacksIn(litellm, report), ...fallbacksIn(router, report)])
  const aliases: PlannedAlias[] = []
  for (const name of new Set([...byName.keys(), ...groups.keys()])) {
    const group = groups.get(name)
    const own = behind(name)
    if (own.length === 0) {
      if (group) report.leftOut(group.path, `'${group.model}' is not among the imported models`)
      continue
    }
    const wanted = fallbacks.get(name) ?? fallbacks.get(group?.model ?? name) ?? fallbacks.get('*')
    const standing = (wanted?.names ?? []).flatMap((one) => {
      const found = behind(one)
      if (found.length === 0 && wanted) report.leftOut(wanted.path, `'${one}' is not among the imported models`)
      return found.map((target) => ({ ...target, weight: 0 }))
    })
    const isOther = (one: PlannedTarget) => !own.some((is) => is.provider === one.provider && is.model === one.model)
    const targets = [...own, ...standing.filter(isOther)]
    if (targets.length === 1 && !group) continue
    const against = againstAlias(name, targets)
    if (!against) aliases.push({ name, targets })
    else report.leftOut(wanted?.path ?? group?.path ?? ['model_list'], `'${name}' goes by order alone: ${against}`)
  }
  return aliases
}

/** As LiteLLM shuffles: by weight, else by rpm, else by tpm, else all alike. */
function targetsOf(deployments: readonly Deployment[]): PlannedTarget[] {
  const by = (['weight', 'rpm', 'tpm'] as const).find((name) => deployments.some((one) => (one[name] ?? 0) > 0))
  const weights = wholeWeights(deployments.map((one) => (by ? (one[by] ?? 1) : 1)))
  const first = Math.min(...deployments.map(({ order }) => order ?? 0))
  return deployments.map(({ name, provider, order = 0 }, index) => ({
    provider: provider.id,
    model: name,
    weight: order > first ? 0 : (weights[index] ?? 1),
  }))
}

interface GroupAlias {
  model: string
  path: readonly (string | number)[]
}

function groupAliases(router: Fields | undefined, report: Report): Map<string, GroupAlias> {
  const found = new Map<string, GroupAlias>()
  const fields = router?.map('model_group_alias')
  for (const name of fields?.names() ?? []) {
    const path = (fields as Fields).at(name)
    const said = (fields as Fields).any(name)
    if (typeof said === 'string') found.set(name, { model: said, path })
    else {
      const map = fields?.map(name)
      const model = map?.text('model')
      if (model === undefined) throw report.wrong(path, "must be the name of a model, or an object with 'model'")
      if (map?.flag('hidden')) report.changed([...path, 'hidden'], 'is listed in /v1/models all the same')
      found.set(name, { model, path })
    }
  }
  return found
}

interface Fallback {
  names: string[]
  path: readonly (string | number)[]
}

function fallbacksIn(settings: Fields | undefined, report: Report): Map<string, Fallback> {
  const found = new Map<string, Fallback>()
  for (const entry of settings?.maps('fallbacks') ?? [])
    for (const name of entry.names()) {
      const path = entry.at(name)
      const said = entry.any(name)
      if (!Array.isArray(said) || said.some((one) => typeof one !== 'string'))
        throw report.wrong(path, 'must be a list of names of models')
      found.set(name, { names: said as string[], path })
    }
  const names = settings?.texts('default_fallbacks') ?? []
  if (settings && names.length > 0) found.set('*', { names, path: settings.at('default_fallbacks') })
  return found
}
