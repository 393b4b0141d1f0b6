// A provider as it is typed: a model a line, a secret that may be several, and what becomes of them on their way.
import { ApiError } from '../../api/api-client.ts'
import type { Entered } from '../../api/provider-calls.ts'
import { typedNumber } from '../../parts/typed-number.ts'

export interface ProviderDraft {
  id: string
  protocol: NonNullable<Entered['protocol']>
  base_url: string
  region: string
  max_concurrency: string
  models: string
}

export const NO_PROVIDER: ProviderDraft = {
  id: '',
  protocol: 'openai',
  base_url: '',
  region: '',
  max_concurrency: '',
  models: '',
}

type Model = NonNullable<Entered['models']>[number]

export function enteredProvider(draft: ProviderDraft, secret: string): Entered {
  const { id, protocol, base_url, region, models } = draft
  const max_concurrency = typedNumber('max_concurrency', draft.max_concurrency)
  return {
    id: id.trim(),
    protocol,
    ...(base_url.trim() !== '' && { base_url: base_url.trim() }),
    ...(region.trim() !== '' && { region: region.trim() }),
    ...(max_concurrency !== undefined && { max_concurrency }),
    ...(models.trim() !== '' && { models: typedModels(models) }),
    ...secretsOf(protocol, secret.trim()),
  }
}

/** What is there already, to be typed over. */
export function draftOf(entered: Partial<Entered>): ProviderDraft {
  const { id = '', protocol = 'openai', base_url = '', region = '', max_concurrency, models = [] } = entered
  return {
    ...{ id, protocol, base_url, region },
    max_concurrency: max_concurrency === undefined ? '' : String(max_concurrency),
    models: models.map(lineOf).join('\n'),
  }
}

/** Only what was typed otherwise; what was emptied goes back to its default. */
export function changesIn(before: ProviderDraft, after: ProviderDraft, secret: string) {
  const { id: _id, protocol, ...fields } = enteredProvider(after, secret)
  const names = ['base_url', 'region', 'max_concurrency', 'models'] as const
  const typed = names.filter((name) => before[name].trim() !== after[name].trim())
  const changed = Object.fromEntries(typed.map((name) => [name, fields[name] ?? null]))
  return {
    ...changed,
    ...secretsOf(protocol ?? 'openai', secret.trim()),
    ...(before.protocol !== after.protocol && { protocol }),
  }
}

/** JSON is a service account of Google's, or AWS's keys as its tools print them. */
function secretsOf(protocol: string, secret: string): Partial<Entered> {
  if (secret === '') return {}
  if (!secret.startsWith('{')) return { api_key: secret }
  if (protocol === 'vertex') return { service_account: secret }
  const told = parsed('api_key', secret)
  const keys = (told.Credentials ?? told) as Record<string, string>
  const [access_key_id, secret_access_key] = [
    keys.AccessKeyId ?? keys.access_key_id,
    keys.SecretAccessKey ?? keys.secret_access_key,
  ]
  const session_token = keys.SessionToken ?? keys.session_token
  return {
    ...(access_key_id !== undefined && { access_key_id }),
    ...(secret_access_key !== undefined && { secret_access_key }),
    ...(session_token !== undefined && { session_token }),
  }
}

/** `name`, for one of the price book; `name in out most`, in dollars per million tokens; or JSON, as in the file. */
export const typedModels = (text: string): Model[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(modelIn)

function modelIn(line: string): Model {
  if (line.startsWith('{')) return parsed('models', line) as Model
  const [id = '', input, output, most, ...more] = line.split(/\s+/)
  if (input === undefined) return { id }
  const [input_usd_per_million, output_usd_per_million, max_output_tokens] = [input, output, most].map(Number)
  if (more.length > 0 || ![input_usd_per_million, output_usd_per_million].every(Number.isFinite) || !max_output_tokens)
    throw wrong('models', `must have lines such as “gpt-4o-mini” or “my-model 0.5 1.5 8192”, not “${line}”`)
  return { id, input_usd_per_million, output_usd_per_million, max_output_tokens } as Model
}

const SIMPLE = ['id', 'input_usd_per_million', 'output_usd_per_million', 'max_output_tokens']

function lineOf(model: Model): string {
  const names = Object.keys(model)
  if (names.length === 1) return model.id
  if (names.length !== SIMPLE.length || !names.every((name) => SIMPLE.includes(name))) return JSON.stringify(model)
  return [model.id, model.input_usd_per_million, model.output_usd_per_million, model.max_output_tokens].join(' ')
}

function parsed(field: string, text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw wrong(field, 'begins like JSON, and is none')
  }
}

const wrong = (field: string, message: string) =>
  new ApiError(400, { type: 'invalid_request_error', message: `'${field}' ${message}.` })
