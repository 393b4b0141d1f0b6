// Bifrost's config.json: providers with their keys, and the virtual keys of its governance. Its clients say
// `provider/model`, so models are called so here.
import { bifrostKeys } from './bifrost-keys.ts'
import { type Fields, type ForeignFile, type Report, reportOn, reportRest } from './foreign-file.ts'
import {
  againstAlias,
  groupedBy,
  type ImportPlan,
  type PlannedAlias,
  type PlannedTarget,
  type Shelves,
  shelves,
  type Upstream,
  wholeWeights,
} from './import-plan.ts'
import { addressOf, type KnownUpstream, upstreamNamed } from './known-upstreams.ts'
import { timeoutsOf } from './litellm-models.ts'
import { bookedModels, type PriceTable, priceFound } from './planned-price.ts'

/** A name, and where calls for it may go. */
interface Way {
  name: string
  provider: string
  weight: number
}

interface Reading {
  report: Report
  placed: Shelves
  table: PriceTable
}

export function readBifrost(source: ForeignFile, table: PriceTable): ImportPlan {
  const report = reportOn(source)
  const file = report.whole()
  const placed = shelves()
  const providers = file.map('providers')
  if (!providers) throw report.wrong([], "has no 'providers'")
  const ways = providers.names().flatMap((name) => {
    const fields = providers.map(name)
    return fields ? waysOf(name, fields, { report, placed, table }) : []
  })
  const names = [...new Set(ways.map(({ name }) => name))]
  const governance = file.map('governance')
  const keys = governance ? bifrostKeys(governance, report, names) : []
  reportRest(report, governance)
  file.ignore('$schema')
  reportRest(report, file)
  return { providers: placed.providers, aliases: aliasesOf(ways, report), keys, findings: report.findings }
}

function waysOf(called: string, fields: Fields, reading: Reading): Way[] {
  const { report } = reading
  const custom = fields.map('custom_provider_config')
  const kind = custom?.text('base_provider_type') ?? called
  const known = upstreamNamed(kind)
  const network = fields.map('network_config')
  const said = address(network?.text('base_url'))
  const seconds = network?.number('default_request_timeout_in_seconds')
  const buffers = fields.map('concurrency_and_buffer_size')
  const concurrency = buffers?.number('concurrency')
  if (!known || known.protocol === 'bedrock' || known.protocol === 'vertex') {
    const why = known ? 'write its region and keys into switchyard.yaml by hand' : 'there is none of this kind here'
    report.leftOut(fields.path, `is not imported, '${kind}': ${why}`)
    return []
  }
  const common = {
    ...(concurrency !== undefined && concurrency >= 1 && { max_concurrency: Math.min(concurrency, 100_000) }),
    ...(seconds !== undefined && seconds > 0 && { timeouts: timeoutsOf(seconds) }),
  }
  const ways = fields.maps('keys').flatMap((key) => {
    const base_url = baseOf(known, key, said)
    if (base_url === undefined) {
      report.leftOut(key.path, `is not imported: '${called}' needs a base_url`)
      return []
    }
    const api_key = secretIn(key)
    const upstream: Upstream = {
      called,
      ...(known.protocol && { protocol: known.protocol }),
      base_url,
      ...(api_key && { api_key }),
      ...common,
    }
    return waysOfKey(key, upstream, { ...reading, called, known, is_own: known.is_own === true || said !== undefined })
  })
  for (const one of [network, custom, buffers, fields]) reportRest(report, one)
  return ways
}

/** Bifrost's addresses end before `/v1`, whatever the provider. */
function baseOf(known: KnownUpstream, key: Fields, said: string | undefined): string | undefined {
  const azure = key.map('azure_key_config')
  const endpoint = azure?.text('endpoint') ?? key.map('ollama_key_config')?.text('url')
  const own = address(endpoint ?? key.map('vllm_key_config')?.text('url')) ?? said
  if (own === undefined || known.protocol === 'azure') return addressOf(known, own)
  return known.below ? addressOf(known, own) : own.endsWith('/v1') ? own : `${own}/v1`
}

const address = (text: string | undefined) => variable(text)?.replace(/\/+$/, '')

/** `env.NAME` is `${NAME}` here. */
export function variable(text: string | undefined): string | undefined {
  const [, name] = /^env\.([A-Za-z_][A-Za-z0-9_]*)$/.exec(text ?? '') ?? []
  return name === undefined ? text : `\${${name}}`
}

/** Newer files say it in an object. */
function secretIn(key: Fields): string | undefined {
  const said = key.any('value')
  if (said === undefined || typeof said === 'string') return variable(said)
  const named = key.map('value')
  return variable(named?.text('env_var') ?? named?.text('value'))
}

interface OfProvider extends Reading {
  called: string
  known: KnownUpstream
  is_own: boolean
}

function waysOfKey(key: Fields, upstream: Upstream, reading: OfProvider): Way[] {
  const { report, placed, table, called, is_own } = reading
  const weight = key.number('weight') ?? 1
  const own = ['azure_key_config', 'ollama_key_config', 'vllm_key_config'].map((one) => key.map(one))
  const deployments = own[0]?.map('deployments')
  for (const one of own) {
    one?.ignore('endpoint', 'url')
    reportRest(report, one)
  }
  const named = deployments ? deployments.names() : key.texts('models')
  const listed = [...new Set(named)].filter((one) => one !== '*')
  const models = listed.length > 0 ? listed : bookedModels(called)
  if (listed.length === 0)
    report.changed(
      key.at('models'),
      `names no models: the ${models.length} of '${called}' with a known price are taken`,
    )
  key.ignore('id', 'name')
  if (key.flag('enabled') === false) {
    report.leftOut(key.at('enabled'), 'is not imported: it is switched off')
    return []
  }
  const ways = models.flatMap((model, index) => {
    const upstream_id = deployments?.text(model) ?? model
    const name = `${called}/${model}`
    const known_as = [`${called}/${upstream_id}`, upstream_id, model]
    const price = priceFound({ id: name, upstream_id, known_as, costs: {}, table, is_own })
    const path = listed.length > 0 && !deployments ? [...key.at('models'), index] : key.path
    if (!price) {
      report.leftOut(path, `model '${name}' is not imported: nobody knows what it costs. Give --prices`)
      return []
    }
    if (price.told) report.changed(path, `model '${name}' ${price.told}`)
    return [{ name, provider: placed.place(upstream, { id: name, upstream_id, ...price.fields }).id, weight }]
  })
  reportRest(report, key)
  return ways
}

function aliasesOf(ways: readonly Way[], report: Report): PlannedAlias[] {
  return [...groupedBy(ways, ({ name }) => name)].flatMap(([name, several]) => {
    if (several.length < 2) return []
    const weights = wholeWeights(several.map(({ weight }) => weight))
    const targets: PlannedTarget[] = several.map(({ provider }, at) => ({
      provider,
      model: name,
      weight: weights[at] ?? 1,
    }))
    const against = againstAlias(name, targets)
    if (!against) return [{ name, targets }]
    report.leftOut(['providers'], `'${name}' goes by order alone: ${against}`)
    return []
  })
}
