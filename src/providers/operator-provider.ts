// 0343: a provider that the operator adds over the API, beside those of switchyard.yaml. It is the same thing as an
// entry of the file: one shape, one set of checks. What of it is secret goes in once, and is never told back.
import { type Static, type TSchema, Type } from 'typebox'
import { Check, Default, Errors } from 'typebox/value'
import { Refusal } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { PROTOCOLS } from '../credentials/platform.ts'
import { describeInvalid } from '../http/validation-messages.ts'
import type { PriceBook } from '../models/price-book.ts'
import { ShownModel, shownModel } from '../models/shown-model.ts'
import { type ProviderSettings, ProviderShape, providerSettings } from './provider-config.ts'

export const PROVIDERS_MAX = 100 // as many as the file may have
const MODELS_SHOWN = 1_000
const SHOWABLE = 16 // below it, four characters would be too much of a secret

/** Sealed at rest, and told by their last characters alone. */
const SECRETS = [
  ...(['api_key', 'access_key_id', 'secret_access_key', 'session_token', 'client_secret'] as const),
  'service_account',
] as const
type SecretName = (typeof SECRETS)[number]
export type Secrets = Partial<Record<SecretName, string>>

/** An entry as it was said: what has a default may be left out. */
export type Entered = Partial<Omit<ProviderShape, 'id' | 'timeouts'>> & {
  id: string
  timeouts?: Partial<ProviderShape['timeouts']>
}

interface Described {
  type?: string
  properties?: Record<string, TSchema>
  items?: TSchema & { type?: string }
  required?: readonly string[]
}

/** The same shape as in the file, but for what has a default there: nobody fills that in here before it is judged. */
function said<S extends TSchema>(shape: S): TSchema {
  const { type, properties, items, required = [] } = shape as Described
  if (type === 'array' && items) {
    const { maxItems } = shape as { maxItems?: number }
    return items.type === 'object' ? Type.Array(said(items), maxItems === undefined ? {} : { maxItems }) : shape
  }
  if (type !== 'object' || !properties) return shape
  const fields = Object.entries(properties).map(([name, one]) => {
    const { default: fallback, ...field } = said(one) as TSchema & { default?: unknown; description?: string }
    const told = fallback === undefined || typeof fallback === 'object' ? '' : ` Default: ${fallback}.`
    const described = told === '' ? field : { ...field, description: `${field.description ?? ''}${told}`.trim() }
    return [name, 'default' in one || !required.includes(name) ? Type.Optional(described) : described]
  })
  return Type.Object(Object.fromEntries(fields), { additionalProperties: false })
}

const { properties: FIELDS } = said(ProviderShape) as TSchema & { properties: Record<string, TSchema> }
const { id: _id, ...CHANGEABLE } = FIELDS

export const NewProvider = Type.Unsafe<Entered>(
  Type.Object(FIELDS, { additionalProperties: false, title: 'NewOperatorProvider' }),
)

/** The version that the change was made from: another operator's change in between is not overwritten. */
const Version = Type.Integer({
  minimum: 1,
  description: 'The version that this was read as. It may come as `If-Match` instead.',
})

export type Change = { version?: number } & { [Name in keyof Omit<Entered, 'id'>]?: Entered[Name] | null }

export const ProviderChange = Type.Unsafe<Change>(
  Type.Object(
    {
      version: Type.Optional(Version),
      ...Object.fromEntries(
        Object.entries(CHANGEABLE).map(([name, shape]) => [name, Type.Optional(Type.Union([shape, Type.Null()]))]),
      ),
    },
    { additionalProperties: false, title: 'OperatorProviderChange' },
  ),
)

type ModelShape = ProviderShape['models'][number]

export const ModelsChange = Type.Unsafe<{ version?: number; set?: ModelShape[]; remove?: string[] }>(
  Type.Object(
    {
      version: Type.Optional(Version),
      set: Type.Optional({ ...CHANGEABLE.models, description: 'Added; one that is there already is replaced.' }),
      remove: Type.Optional(Type.Array(Type.String(), { maxItems: 10_000, description: 'Ids of models.' })),
    },
    { additionalProperties: false, title: 'OperatorProviderModels' },
  ),
)

export const Restoring = Type.Object(
  {
    version: Type.Optional(Version),
    to_version: Type.Integer({ minimum: 1, description: 'Whose settings come back.' }),
  },
  { additionalProperties: false, title: 'OperatorProviderRestore' },
)

const ms = () => Type.Integer({ description: 'Milliseconds.' })
const AsEntered = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
const Hints = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Which secrets there are, each by its last four characters.',
})

export const OperatorProvider = Type.Object(
  {
    id: Type.String({ description: 'As `Agent-Resolved-Provider` says it.' }),
    object: Type.Literal('provider'),
    source: Type.Enum(['file', 'environment', 'api'], {
      description: 'Where it stands. Only what was added over the API can be changed over it.',
    }),
    status: Type.Enum(['active', 'draining', 'invalid'], {
      description: '`draining`: it takes no new calls. `invalid`: it cannot be used as it is, see `problem`.',
    }),
    problem: Type.Optional(Type.String()),
    version: Type.Optional(Type.Integer({ description: 'Of what was added over the API; also the `ETag`.' })),
    set_aside_version: Type.Optional(
      Type.Integer({ description: 'One of this id was added over the API, and stands aside while the file has it.' }),
    ),
    settings: Type.Optional(
      Type.Object(
        {
          protocol: Type.Enum([...PROTOCOLS]),
          base_url: Type.String(),
          region: Type.String(),
          max_concurrency: Type.Integer(),
          responses: Type.Boolean(),
          unlisted_models: Type.Boolean(),
          byok: Type.Boolean(),
          list_models: Type.Boolean(),
          retries: Type.Integer(),
          probe_every_s: Type.Optional(Type.Integer()),
          timeouts: Type.Object({ connect_ms: ms(), first_byte_ms: ms(), idle_ms: ms(), total_ms: ms() }),
          models_total: Type.Integer(),
          models: Type.Array(ShownModel, { description: `At most ${MODELS_SHOWN} of them, with what they cost.` }),
        },
        { description: 'What holds, with defaults and prices worked out.' },
      ),
    ),
    entered: Type.Optional(AsEntered),
    secrets: Hints,
    running: Type.Integer({ description: 'Calls under way to it, on the replica that answers.' }),
    created_at: Type.Optional(time()),
    updated_at: Type.Optional(time()),
    updated_by: Type.Optional(Type.String({ description: 'The key or the person of the last change.' })),
  },
  { title: 'OperatorProvider' },
)
export type OperatorProvider = Static<typeof OperatorProvider>

export const RemovedProvider = Type.Object(
  { id: Type.String(), object: Type.Literal('provider.removed'), removed: Type.Literal(true) },
  { title: 'RemovedOperatorProvider' },
)

export const CHANGES = ['added', 'changed', 'drained', 'resumed', 'restored', 'removed'] as const
export type ChangeKind = (typeof CHANGES)[number]

export const ProviderVersion = Type.Object(
  {
    object: Type.Literal('provider_version'),
    provider_id: Type.String(),
    version: Type.Integer(),
    change: Type.Enum([...CHANGES]),
    fields: Type.Array(Type.String(), { description: 'What was changed; secrets by their names.' }),
    status: Type.Enum(['active', 'draining']),
    entered: AsEntered,
    actor: Type.String({ description: 'The key or the person who did it.' }),
    created_at: time(),
  },
  { title: 'OperatorProviderVersion' },
)
export type ProviderVersion = Static<typeof ProviderVersion>

/** Told apart: what anybody who runs the service may read, and what nobody may. */
export function apart(entered: Entered): { entered: Entered; secrets: Secrets } {
  const names = Object.entries(entered)
  const isSecret = ([name]: [string, unknown]) => SECRETS.includes(name as SecretName)
  return {
    entered: Object.fromEntries(names.filter((one) => !isSecret(one))) as Entered,
    secrets: Object.fromEntries(names.filter(isSecret)) as Secrets,
  }
}

/** A field that is given replaces what was there; null has it be as if nobody had said it. */
export function changed(before: Entered, { version: _version, ...change }: Change): Entered {
  const after = { ...before, ...change }
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== null)) as Entered
}

/** Model by model: those that are set take the place of their namesakes, or come last. */
export function withModels(before: Entered, { set = [], remove = [] }: Static<typeof ModelsChange>): Entered {
  const known = before.models ?? []
  const unknown = remove.find((id) => !known.some((one) => one.id === id))
  if (unknown !== undefined) throw invalid(`'remove' must name models that it lists; '${unknown}' is none of them`)
  const kept = known.filter(({ id }) => !remove.includes(id))
  const models = [
    ...kept.map((model) => set.find(({ id }) => id === model.id) ?? model),
    ...set.filter(({ id }) => !kept.some((one) => one.id === id)),
  ]
  return { ...before, models }
}

export type WorkedOut = { settings: ProviderSettings; problems?: undefined } | { problems: readonly string[] }

/**
 * As the file's entries are. What the machine itself holds, such as AWS's keys in its environment, is for the file
 * alone: who may add a provider over the API could otherwise have it sent to any address.
 */
export function workedOut(entered: Entered, prices: PriceBook): WorkedOut {
  const filled = Default(ProviderShape, structuredClone(entered))
  if (!Check(ProviderShape, filled)) {
    const findings = [...Errors(ProviderShape, filled)].filter(({ keyword }) => keyword !== 'additionalProperties')
    return { problems: [...new Set(findings.map((one) => describeInvalid([one])))] }
  }
  const problems: string[] = []
  const settings = providerSettings(filled, (_field, message) => void problems.push(`${message}.`), { prices })
  if (filled.protocol === 'vertex' && filled.service_account === undefined)
    problems.push('service_account is required: what the machine itself holds is for switchyard.yaml.')
  if (filled.aws_identity !== undefined)
    problems.push('aws_identity cannot be entered here: what the machine itself holds is for switchyard.yaml.')
  return problems.length > 0 ? { problems: [...new Set(problems)] } : { settings }
}

/** Or a refusal that names all that is wrong. */
export function usable(entered: Entered, prices: PriceBook): ProviderSettings {
  const out = workedOut(entered, prices)
  if (out.problems) throw new Refusal('invalid_request', out.problems.join(' '))
  return out.settings
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)

/** Which fields are different, by their names alone. */
export const fieldsChanged = (before: object, after: object): string[] =>
  Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before[name as never]) !== JSON.stringify(after[name as never]))
    .sort()

export const hintsOf = (secrets: Secrets): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, hintOf(secret)]))

const hintOf = (secret: string) => (secret.length < SHOWABLE ? '…' : `…${secret.slice(-4)}`)

/** Field by field: what is added to the settings one day is not shown until somebody decides so. */
export function shownSettings(provider: ProviderSettings): NonNullable<OperatorProvider['settings']> {
  const { protocol, base_url, region, max_concurrency, responses, unlisted_models, byok, list_models } = provider
  const { connect_ms, first_byte_ms, idle_ms, total_ms } = provider.timeouts
  return {
    ...{ protocol, base_url, region, max_concurrency, responses, unlisted_models, byok, list_models },
    retries: provider.retries ?? 0,
    ...(provider.probe_every_s !== undefined && { probe_every_s: provider.probe_every_s }),
    timeouts: { connect_ms, first_byte_ms, idle_ms, total_ms },
    models_total: provider.models.length,
    models: provider.models.slice(0, MODELS_SHOWN).map(shownModel),
  }
}

/** One of the file. Of a platform's key, which is several, nothing is shown. */
export function shownFromFile(provider: ProviderSettings, source: 'file' | 'environment', running: number) {
  const { id, api_key, platform } = provider
  const has_key = api_key !== '' && (platform === undefined || platform.kind === 'azure')
  return {
    id,
    object: 'provider' as const,
    source,
    status: 'active' as const,
    settings: shownSettings(provider),
    secrets: has_key ? hintsOf({ api_key }) : {},
    running,
  }
}
