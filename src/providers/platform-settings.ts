// What an entry of `providers:` says of a platform (Azure, Bedrock, Vertex), and what it means: an address, a region,
// and what it is entered with, from the file or from the environment.
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'
import {
  isClaude,
  isOpenaisAtBedrock,
  isPlatform,
  type Platform,
  type PlatformKind,
  type Protocol,
  platformOf,
  publicAddress,
  regionIn,
  TERMS,
} from '../credentials/platform.ts'
import {
  AwsKeys,
  accountSecret,
  awsSecret,
  isPrivateKey,
  type OperatorsAccount,
  ServiceAccount,
} from '../credentials/platform-secret.ts'
import { AWS_IDENTITIES, awsIdentity, type Env, entraIdentity, type Wrong } from './identity-settings.ts'

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))

export const PlatformFields = {
  api_version: text(32, 'Of Azure: by deployments of this version. Default: the /openai/v1 form, which has none.'),
  access_key_id: text(128, 'Of Bedrock. Default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.'),
  secret_access_key: text(256, 'Of Bedrock.'),
  session_token: text(4_096, 'Of Bedrock, with keys that are lent for a while.'),
  google_project: text(64, 'Of Vertex. Default: the project of the service account.'),
  aws_identity: Type.Optional(
    Type.Enum([...AWS_IDENTITIES], {
      description:
        'Of Bedrock, in place of keys: what the platform lends. Default: by the environment; instance never.',
    }),
  ),
  tenant_id: text(128, 'Of Azure, in place of api_key: Entra ID. Default: AZURE_TENANT_ID.'),
  client_id: text(128, 'Of Azure: the application. Default: AZURE_CLIENT_ID.'),
  client_secret: text(1_024, 'Of Azure. Default: AZURE_CLIENT_SECRET, or the token in AZURE_FEDERATED_TOKEN_FILE.'),
  service_account: text(16_384, 'Of Vertex: the JSON of its key. Default: what Google’s library finds on the machine.'),
  betas: Type.Optional(
    Type.Array(Type.String({ pattern: '^[!-+\\--~]{1,128}$' }), {
      maxItems: 100,
      description: 'Of Bedrock and Vertex: which values of anthropic-beta it takes; others are left out, and told.',
    }),
  ),
}
const Fields = Type.Object(PlatformFields)

interface Entry extends Static<typeof Fields> {
  protocol: Protocol
  base_url?: string
  api_key?: string
  region: string
}

export type { Env }

export interface EnteredPlatform {
  platform: Platform
  base_url: string
  /** A key, or a text that holds what there is of more than one. */
  secret: string
}

/** Undefined where the entry is of no platform, or is wrong, which was told then. */
export function platformSettings(entry: Entry, wrong: Wrong, env: Env): EnteredPlatform | undefined {
  const { protocol } = entry
  checkForeign(entry, wrong)
  if (!isPlatform(protocol)) return undefined
  const secret = secretOf(entry, protocol, wrong, env)
  const account = protocol === 'vertex' ? accountIn(entry.service_account) : undefined
  const { api_version, betas, region } = entry
  const google_project = entry.google_project ?? account?.project_id
  const platform = platformOf(protocol, { api_version, betas, region, google_project })
  if (platform.kind === 'wrong') {
    wrong(`/${platform.field}`, `${platform.field} must ${platform.must}`)
    return undefined
  }
  const base_url = entry.base_url ?? publicAddress(platform)
  if (base_url === undefined) {
    wrong('/base_url', 'base_url is required: it is the address of your resource')
    return undefined
  }
  const told = regionIn(base_url)
  if ('region' in platform && told !== undefined && told !== platform.region)
    wrong('/region', `region must be that of base_url, '${told}'`)
  return { platform, base_url: protocol === 'azure' ? resourceOf(base_url) : base_url, secret }
}

/** As it may have been copied from a client's settings: what stands behind the resource is put there by us. */
export const resourceOf = (base_url: string) => base_url.replace(/\/openai(\/v1)?\/*$/, '').replace(/\/+$/, '')

const SECRETS: Readonly<Record<PlatformKind, readonly (keyof Entry)[]>> = {
  azure: ['api_key', 'tenant_id', 'client_id', 'client_secret'],
  bedrock: ['api_key', 'access_key_id', 'secret_access_key', 'session_token', 'aws_identity'],
  vertex: ['service_account'],
}

/** A field of another platform's is most often a protocol that was forgotten. */
function checkForeign(entry: Entry, wrong: Wrong): void {
  const { protocol } = entry
  const meant: readonly string[] = isPlatform(protocol) ? [...TERMS[protocol], ...SECRETS[protocol]] : ['api_key']
  for (const field of [...Object.keys(PlatformFields), 'api_key'])
    if (entry[field as keyof Entry] !== undefined && !meant.includes(field))
      wrong(`/${field}`, `${field} means nothing to the protocol '${protocol}'`)
}

function secretOf(entry: Entry, protocol: PlatformKind, wrong: Wrong, env: Env): string {
  if (protocol === 'vertex') return googleSecret(entry, wrong)
  if (protocol === 'bedrock') return awsSecretOf(entry, wrong, env)
  return azureSecretOf(entry, wrong, env)
}

function azureSecretOf(entry: Entry, wrong: Wrong, env: Env): string {
  const { api_key, client_id } = entry
  if (api_key !== undefined && client_id !== undefined)
    wrong('/api_key', 'api_key and client_id are two ways in: give one of them')
  return api_key ?? entraIdentity(entry, env, wrong) ?? ''
}

function googleSecret({ service_account }: Entry, wrong: Wrong): string {
  if (service_account === undefined) return ''
  const account = accountIn(service_account)
  if (!account) {
    wrong('/service_account', 'service_account must be the JSON of a key of a service account')
    return ''
  }
  return accountSecret(account)
}

function accountIn(json: string | undefined): OperatorsAccount | undefined {
  try {
    const account: unknown = JSON.parse(json ?? '')
    return Check(ServiceAccount, account) && isPrivateKey(account.private_key) ? account : undefined
  } catch {
    return undefined
  }
}

function awsSecretOf(entry: Entry, wrong: Wrong, env: Env): string {
  const { api_key, access_key_id, secret_access_key, session_token } = entry
  const ways = (['api_key', 'access_key_id', 'aws_identity'] as const).filter((way) => entry[way] !== undefined)
  if (ways.length > 1) {
    wrong(`/${ways[0]}`, `${ways[0]} and ${ways[1]} are two ways in: give one of them`)
    return ''
  }
  if (api_key !== undefined) return api_key
  if (access_key_id === undefined && secret_access_key === undefined) return ambientSecret(entry, wrong, env)
  const keys = { access_key_id, secret_access_key, ...(session_token !== undefined && { session_token }) }
  if (Check(AwsKeys, keys)) return awsSecret(keys)
  wrong('/access_key_id', 'access_key_id and secret_access_key must both be given, in visible ASCII characters')
  return ''
}

function ambientSecret({ aws_identity, region }: Entry, wrong: Wrong, env: Env): string {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK } = env
  const keys = {
    access_key_id: AWS_ACCESS_KEY_ID,
    secret_access_key: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { session_token: AWS_SESSION_TOKEN }),
  }
  if (aws_identity === undefined && AWS_BEARER_TOKEN_BEDROCK) return AWS_BEARER_TOKEN_BEDROCK
  if (aws_identity === undefined && Check(AwsKeys, keys)) return awsSecret(keys)
  let is_told = false
  const identity = awsIdentity(aws_identity, region, env, (field, message) => {
    is_told = true
    wrong(field, message)
  })
  if (identity === undefined && !is_told)
    wrong(
      '',
      'access_key_id and secret_access_key, or api_key, are required where the environment has neither keys of AWS ' +
        'nor a role; aws_identity: instance takes that of the machine',
    )
  return identity ?? ''
}

interface NamedModel {
  id: string
  upstream_id: string
  speaks?: Spoken | undefined
}

/** `converse` is Bedrock's own, for models that it serves by neither of the others (0348). */
export const SPOKEN = ['messages', 'chat', 'converse'] as const
export type Spoken = (typeof SPOKEN)[number]

/** By what a model is asked there. */
export function spokenAt(protocol: Protocol, { id, upstream_id, speaks }: NamedModel): Spoken {
  if (protocol === 'openai' || protocol === 'azure') return 'chat'
  if (protocol === 'anthropic') return 'messages'
  if (speaks !== undefined) return speaks
  if (isClaude(upstream_id) || isClaude(id)) return 'messages'
  return protocol === 'bedrock' && !isOpenaisAtBedrock(upstream_id) ? 'converse' : 'chat'
}

/** Whose adapter that is. Converse stands below that of chat. */
export const protocolOf = (spoken: Spoken): 'openai' | 'anthropic' => (spoken === 'messages' ? 'anthropic' : 'openai')

/** Vertex knows the models of OpenAI's protocol by their publisher too. */
export const nameAt = (protocol: Protocol, model: NamedModel): string =>
  protocol === 'vertex' && spokenAt(protocol, model) === 'chat' && !model.upstream_id.includes('/')
    ? `google/${model.upstream_id}`
    : model.upstream_id

/** Azure has one by its newer form, and of versions since this one. */
const RESPONSES_SINCE = '2025-03-01'

interface Served {
  protocol: Protocol
  responses?: boolean | undefined
  url?: URL | undefined
  platform?: Platform | undefined
}

/** Whether it has a Responses API. */
export function hasResponses({ protocol, responses, url, platform }: Served): boolean {
  if (platform?.kind === 'azure')
    return responses ?? (platform.api_version === undefined || platform.api_version >= RESPONSES_SINCE)
  return protocol === 'openai' && (responses ?? url?.hostname === 'api.openai.com')
}
