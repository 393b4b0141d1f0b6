// `model_list` of LiteLLM's config.yaml: each deployment, and the provider and model that it becomes.
import { type Fields, type Report, reportRest } from './foreign-file.ts'
import type { PlannedProvider, Shelves, Upstream } from './import-plan.ts'
import { addressOf, type KnownUpstream, upstreamNamed } from './known-upstreams.ts'
import { platformModel, platformTerms } from './litellm-platforms.ts'
import { bookedProvider, type PriceTable, priceFound, type TokenCosts } from './planned-price.ts'

/** One way to a model, as LiteLLM calls it. */
export interface Deployment {
  /** What clients call the model. */
  name: string
  provider: PlannedProvider
  weight: number | undefined
  rpm: number | undefined
  tpm: number | undefined
  /** Lower ones first; the others stand by. */
  order: number | undefined
  access_groups: readonly string[]
}

export interface ModelSetting {
  report: Report
  shelves: Shelves
  table: PriceTable
  /** Seconds; of calls whose deployment says nothing. */
  timeout_s: number | undefined
}

const WORDS = {
  num_retries: 'has no counterpart: a call that failed goes to another target, not to the same one again',
  stream_timeout: 'has no counterpart: timeouts.first_byte_ms and idle_ms of the provider bound streams',
  temperature: 'has no counterpart: what a call says goes to the upstream as it is',
  max_tokens: 'has no counterpart: what a call says goes to the upstream as it is',
  organization: 'has no counterpart: use a key that belongs to the organization',
}

export function deploymentOf(
  entry: Fields,
  { report, shelves, table, timeout_s }: ModelSetting,
): Deployment | undefined {
  const name = entry.text('model_name')
  const params = entry.map('litellm_params')
  if (name === undefined) throw report.wrong(entry.path, "needs a 'model_name'")
  const model = params?.text('model')
  if (!params || model === undefined) throw report.wrong(entry.path, "needs 'litellm_params' with a 'model'")
  const info = entry.map('model_info')
  const { called, upstream_id, known } = upstreamOf(model, params.text('custom_llm_provider'))
  const leaveOut = (told: string) => {
    report.leftOut(entry.path, `model '${name}' is not imported: ${told}`)
    return undefined
  }
  if (!known) return leaveOut(`there is no provider of the kind '${called}' here`)
  const base_url = addressOf(known, reference(params.text('api_base') ?? params.text('base_url')))
  const terms = platformTerms(known, params, report)
  if (typeof terms === 'string') return leaveOut(terms)
  if (base_url === undefined && !terms) return leaveOut(`'${called}' needs an 'api_base'`)
  const upstream = { ...upstreamWith(params, { called, known, base_url, timeout_s }), ...terms }
  if (name.includes('*')) return wildcard(entry, { name, upstream_id, upstream, report, shelves })

  const costs = costsIn(params, info)
  const base_model = info?.text('base_model')
  const known_as = [base_model ?? [], model, `${called}/${upstream_id}`, upstream_id, plain(upstream_id)].flat()
  const is_own = known.is_own === true || (params.any('api_base') !== undefined && !terms)
  const price = priceFound({ id: name, upstream_id, known_as, costs, table, is_own })
  if (!price)
    return leaveOut(
      `nobody knows what '${model}' costs. Give input_cost_per_token and output_cost_per_token, or --prices`,
    )
  if (price.told) report.changed(entry.path, `model '${name}' ${price.told}`)
  if (name.length > 256 || upstream_id.length > 256) return leaveOut('its name has more than 256 characters')
  const provider = shelves.place(upstream, { id: name, ...(upstream_id !== name && { upstream_id }), ...price.fields })
  const [rpm, tpm] = [params.number('rpm') ?? entry.number('rpm'), params.number('tpm') ?? entry.number('tpm')]
  for (const [field, value] of [
    ['rpm', rpm],
    ['tpm', tpm],
  ] as const)
    if (value !== undefined)
      report.changed(params.at(field), 'is no limit here: limits are of keys. It counts as a weight among deployments')
  const [weight, order] = [params.number('weight'), params.number('order')]
  const access_groups = info?.texts('access_groups') ?? []
  info?.ignore(
    'id',
    'max_input_tokens',
    'db_model',
    'description',
    ...info.names().filter((one) => one.startsWith('supports_')),
  )
  reportRest(report, params, WORDS)
  reportRest(report, info)
  reportRest(report, entry)
  return { name, provider, weight, rpm, tpm, order, access_groups }
}

/** Before the first slash stands the kind of provider, where one is known by that name. */
function upstreamOf(model: string, said: string | undefined) {
  const slash = model.indexOf('/')
  const before = slash > 0 ? model.slice(0, slash) : undefined
  if (said !== undefined) return named(said, before === said ? model.slice(slash + 1) : model)
  if (before !== undefined) return named(before, platformModel(before, model.slice(slash + 1)))
  return named(bookedProvider(model) ?? guessed(model), model)
}

/** A model of a platform by the name that its maker gave it, for its price. */
const plain = (upstream_id: string) =>
  upstream_id.replace(/^((us|eu|apac|global)\.)?(anthropic\.|google\/)/, '').replace(/(-\d{8})?(-v\d+:\d+|@.*)?$/, '')

const named = (called: string, upstream_id: string) => ({ called, upstream_id, known: upstreamNamed(called) })

function guessed(model: string): string {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-|dall-e-|whisper-|tts-|omni-)/.test(model)) return 'openai'
  return model.startsWith('claude') ? 'anthropic' : model
}

interface Reaching {
  called: string
  known: KnownUpstream
  base_url: string | undefined
  timeout_s: number | undefined
}

function upstreamWith(params: Fields, { called, known, base_url, timeout_s }: Reaching): Upstream {
  const said = reference(params.text('api_key'))
  const api_key = said ?? (known.variable === undefined ? undefined : `\${${known.variable}}`)
  const parallel = params.number('max_parallel_requests')
  const seconds = params.number('timeout') ?? timeout_s
  return {
    called: called === 'ollama_chat' ? 'ollama' : called,
    ...(known.protocol && { protocol: known.protocol }),
    ...(base_url !== undefined && { base_url }),
    ...(api_key !== undefined && api_key !== '' && { api_key }),
    ...(parallel !== undefined && parallel >= 1 && { max_concurrency: Math.min(Math.floor(parallel), 100_000) }),
    ...(seconds !== undefined && seconds > 0 && { timeouts: timeoutsOf(seconds) }),
  }
}

const DAY_MS = 86_400_000

export function timeoutsOf(seconds: number) {
  const total_ms = Math.min(Math.max(1, Math.round(seconds * 1_000)), DAY_MS)
  return {
    connect_ms: Math.min(5_000, total_ms),
    first_byte_ms: Math.min(300_000, total_ms),
    idle_ms: Math.min(60_000, total_ms),
    total_ms,
  }
}

/** `os.environ/NAME` is `${NAME}` here. */
export function reference(text: string | undefined): string | undefined {
  const [, name] = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/.exec(text ?? '') ?? []
  return name === undefined ? text : `\${${name}}`
}

function costsIn(params: Fields, info: Fields | undefined): TokenCosts {
  const cost = (name: string) => params.number(name) ?? info?.number(name)
  return {
    input: cost('input_cost_per_token'),
    output: cost('output_cost_per_token'),
    cache_read: cost('cache_read_input_token_cost'),
    cache_write: cost('cache_creation_input_token_cost'),
    max_output_tokens: info?.number('max_output_tokens') ?? info?.number('max_tokens'),
    mode: info?.text('mode'),
  }
}

interface Wildcard {
  name: string
  upstream_id: string
  upstream: Upstream
  report: Report
  shelves: Shelves
}

/** A name that stands for many can be passed on only where the upstream knows them under the same names. */
function wildcard(entry: Fields, { name, upstream_id, upstream, report, shelves }: Wildcard): undefined {
  if (name !== '*' && name !== upstream_id) {
    report.leftOut(entry.path, `'${name}' is not imported: list its models, for names are passed on as they are`)
    return undefined
  }
  const provider = shelves.place(upstream, undefined)
  provider.unlisted_models = true
  report.changed(
    entry.path,
    `'${name}' becomes unlisted_models of provider '${provider.id}': every name is passed on, and as these have no ` +
      'price, only keys without a budget may use them',
  )
  return undefined
}
