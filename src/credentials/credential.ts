// A project's own key at a provider (BYOK). The secret goes in once: it is sealed at rest, never shown again, and gone
// with the revocation.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, storable, time } from '../core/shapes.ts'
import { WebAddress, webAddress } from '../core/web-address.ts'
import type { PlatformTerms } from './platform.ts'
import { AwsKeys, ServiceAccount } from './platform-secret.ts'
import { type EnteredSecret, enteredSecret } from './secret-entry.ts'

const MODELS_MAX = 200
const NAME_MAX = 256
const SECRET_MAX = 4_096

/** What a credential says of where it is for. Nothing of it is secret. */
const Settings = {
  region: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Of Bedrock and Vertex: where calls go, and what regional policy knows.',
    }),
  ),
  api_version: Type.Optional(
    Type.String({ maxLength: 32, description: 'Of Azure: `2024-10-21` or later. Without it, the `/openai/v1` form.' }),
  ),
  google_project: Type.Optional(
    Type.String({ maxLength: 64, description: 'Of Vertex. Default: `project_id` of the service account.' }),
  ),
  models: Type.Optional(
    Type.Record(
      Type.String({ minLength: 1, maxLength: NAME_MAX }),
      Type.String({ minLength: 1, maxLength: NAME_MAX }),
      {
        maxProperties: MODELS_MAX,
        description: 'What requests call a model, and what the provider calls it: a deployment, an inference profile.',
      },
    ),
  ),
}
const SETTINGS = ['region', 'api_version', 'google_project', 'models'] as const

export interface CredentialSettings extends Omit<PlatformTerms, 'betas'> {
  models?: Readonly<Record<string, string>> | undefined
}

export const Credential = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `pcr_`.' }),
    object: Type.Literal('provider_credential'),
    project_id: Type.String(),
    provider: Type.String(),
    name: Type.String(),
    masked: Type.String({
      description: 'The secret’s first four characters, an ellipsis, its last four; of several, of what names them.',
    }),
    base_url: Type.Optional(Type.String()),
    ...Settings,
    status: Type.Enum(['active', 'refused', 'revoked'], {
      description: '`refused`: the provider does not take it. Nothing goes through it until it is verified.',
    }),
    created_at: time(),
    verified_at: Type.Optional(time()),
  },
  { title: 'ProviderCredential' },
)
export type Credential = Static<typeof Credential>

export const RevokedCredential = Type.Object(
  { id: Type.String(), object: Type.Literal('provider_credential.revoked'), revoked: Type.Literal(true) },
  { title: 'RevokedProviderCredential' },
)

export const NewCredential = Type.Object(
  {
    provider: Label('The id of the provider that it is for, such as `openai`.'),
    name: Label('What people call it.'),
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: SECRET_MAX,
        description: 'Kept sealed and never shown again. Required, but for `aws` or `service_account`.',
      }),
    ),
    aws: Type.Optional(AwsKeys),
    service_account: Type.Optional(ServiceAccount),
    base_url: Type.Optional(
      WebAddress('Where to call, if not at the provider’s public address. Required where that is not known.'),
    ),
    ...Settings,
  },
  { title: 'NewProviderCredential' },
)
export type NewCredential = Static<typeof NewCredential>

/** A credential with its secret, which is only known at its making. */
export interface EnteredCredential {
  credential: Credential
  secret: string
  kind: EnteredSecret['kind']
}

/** R73: so often in a row, and nothing goes through it any more. */
export const REFUSALS_MAX = 3

/** What a provider answers to a credential that it does not take. */
export const isRefusal = (status: number) => status === 401 || status === 403

/** R79: an operator's upstream is nobody's own, unless the operator says so. */
export const noAddress = (provider: string) =>
  new Refusal(
    'invalid_request',
    `'base_url' must be given for '${provider}': it is not a provider whose public address is known here.`,
  )

export function enterCredential(project_id: string, asked: NewCredential, now: number): EnteredCredential {
  const { secret, kind, masked, google_project } = enteredSecret(asked)
  const settings: CredentialSettings = { ...(google_project !== undefined && { google_project }), ...settingsOf(asked) }
  const credential: Credential = {
    id: newId('pcr'),
    object: 'provider_credential',
    project_id,
    provider: label('provider', asked.provider),
    name: label('name', asked.name),
    masked,
    ...(asked.base_url !== undefined && { base_url: webAddress('base_url', asked.base_url) }),
    ...shownSettings(settings),
    status: 'active',
    created_at: rfc3339(now),
  }
  return { credential, secret, kind }
}

type SaidOf = Pick<Credential, (typeof SETTINGS)[number]>

/** Undefined where it says nothing. */
export function settingsOf(said: SaidOf): CredentialSettings | undefined {
  const { region, api_version, google_project, models } = said
  const settings = {
    ...(region !== undefined && { region: storable('region', region) }),
    ...(api_version !== undefined && { api_version: storable('api_version', api_version) }),
    ...(google_project !== undefined && { google_project: storable('google_project', google_project) }),
    ...(models !== undefined && { models: storableNames(models) }),
  }
  return Object.keys(settings).length > 0 ? settings : undefined
}

const shownSettings = ({ models, ...terms }: CredentialSettings) =>
  ({ ...terms, ...(models && { models: { ...models } }) }) as SaidOf

function storableNames(models: Readonly<Record<string, string>>): Record<string, string> {
  for (const name of Object.entries(models).flat()) storable('models', name)
  return { ...models }
}

/** As a store keeps it. */
export const readSettings = (json: string | null): CredentialSettings | undefined =>
  json === null ? undefined : JSON.parse(json)

/** Whether it names this model itself. */
export const isOwnModel = (settings: CredentialSettings | undefined, model: string): boolean =>
  settings?.models !== undefined && Object.hasOwn(settings.models, model)

/** What the provider says of a credential. Rejects with a Refusal where it could not be asked. */
export type VerifyCredential = (credential: Credential, secret: string) => Promise<'active' | 'refused'>
