// Which identity a provider of the operator's has where no keys are given (0349): by what its platform puts into the
// environment of a workload, under the names that the vendors' own libraries read.
import { identityText, type OperatorsIdentity } from '../credentials/operators-identity.ts'

export type Env = Readonly<Record<string, string | undefined>>
export type Wrong = (field: string, message: string) => void

export const AWS_IDENTITIES = ['web_identity', 'container', 'instance'] as const
type AwsKind = (typeof AWS_IDENTITIES)[number]

/** Undefined where the environment has none, or one that is wrong, which was told then. */
export function awsIdentity(kind: AwsKind | undefined, region: string, env: Env, wrong: Wrong): string | undefined {
  const found = kind ?? kindIn(env)
  const identity = found && READ[found](env, region)
  if (identity === undefined || typeof identity === 'string') {
    if (identity !== undefined) wrong(kind ? '/aws_identity' : '', identity)
    return undefined
  }
  return identityText(identity)
}

/** In the order of AWS's own libraries. A machine is asked only where the settings say so. */
function kindIn(env: Env): AwsKind | undefined {
  if (env.AWS_ROLE_ARN && env.AWS_WEB_IDENTITY_TOKEN_FILE) return 'web_identity'
  return env.AWS_CONTAINER_CREDENTIALS_FULL_URI || env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI ? 'container' : undefined
}

/** The identity, or what is wrong. */
const READ: Readonly<Record<AwsKind, (env: Env, region: string) => OperatorsIdentity | string>> = {
  web_identity(env, region) {
    const { AWS_ROLE_ARN: role_arn, AWS_WEB_IDENTITY_TOKEN_FILE: token_file } = env
    if (!role_arn || !token_file) return 'AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE must be set'
    const sts_url = env.AWS_ENDPOINT_URL_STS || stsOf(region)
    if (!isHttp(sts_url)) return 'AWS_ENDPOINT_URL_STS must be an absolute http or https address'
    const session_name = (env.AWS_ROLE_SESSION_NAME || 'switchyard').replace(/[^\w+=,.@-]/g, '-').slice(0, 64)
    return { kind: 'web_identity', role_arn, token_file, session_name, sts_url }
  },

  container(env) {
    const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI
    const url = relative ? `${CONTAINER_HOST}${relative}` : (env.AWS_CONTAINER_CREDENTIALS_FULL_URI ?? '')
    if (!isCredentialsHost(url))
      return (
        'AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address, or http on loopback or one of ' +
        '169.254.170.2, 169.254.170.23 and fd00:ec2::23'
      )
    const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: token_file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = env
    return { kind: 'container', url, ...(token_file ? { token_file } : token && { token }) }
  },

  instance({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url = MACHINE_HOST }) {
    if (!isHttp(url)) return 'AWS_EC2_METADATA_SERVICE_ENDPOINT must be an absolute http or https address'
    return { kind: 'instance', url: url.replace(/\/+$/, '') }
  },
}

const CONTAINER_HOST = 'http://169.254.170.2'
const MACHINE_HOST = 'http://169.254.169.254'

const stsOf = (region: string) => `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
const isHttp = (url: string) => /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')

/** As AWS's libraries have it: what comes back are keys, and nobody on the way may read them. */
function isCredentialsHost(url: string): boolean {
  if (!isHttp(url)) return false
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:') return true
  return /^(localhost|127(\.\d+){3}|\[::1\]|169\.254\.170\.(2|23)|\[fd00:ec2::23\])$/.test(hostname)
}

export interface EntraEntry {
  tenant_id?: string | undefined
  client_id?: string | undefined
  client_secret?: string | undefined
  base_url?: string | undefined
}

const PUBLIC_AUTHORITY = 'https://login.microsoftonline.com'

/** Undefined where neither the settings nor the environment name an application. */
export function entraIdentity(entry: EntraEntry, env: Env, wrong: Wrong): string | undefined {
  const tenant_id = entry.tenant_id ?? env.AZURE_TENANT_ID
  const client_id = entry.client_id ?? env.AZURE_CLIENT_ID
  const client_secret = entry.client_secret ?? env.AZURE_CLIENT_SECRET
  const token_file = client_secret ? undefined : env.AZURE_FEDERATED_TOKEN_FILE
  if (!client_id || !tenant_id || (!client_secret && !token_file)) {
    if (entry.client_id ?? entry.tenant_id ?? entry.client_secret)
      wrong(
        '/client_id',
        'client_id, tenant_id and client_secret must all be given, or stand in AZURE_CLIENT_ID, AZURE_TENANT_ID, and ' +
          'AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE',
      )
    return undefined
  }
  const authority = (env.AZURE_AUTHORITY_HOST || PUBLIC_AUTHORITY).replace(/\/+$/, '')
  if (!isHttp(authority)) wrong('', 'AZURE_AUTHORITY_HOST must be an absolute http or https address')
  if (!/^[\w.-]{1,128}$/.test(tenant_id)) wrong('/tenant_id', 'tenant_id must be the id or the domain of a tenant')
  const proof = client_secret ? { client_secret } : { token_file: token_file ?? '' }
  return identityText({ kind: 'entra', tenant_id, client_id, ...proof, authority, scope: scopeOf(entry.base_url) })
}

/** Sovereign clouds have tokens of their own. */
function scopeOf(base_url = ''): string {
  const ending = /\.azure\.(us|cn)$/.exec(URL.canParse(base_url) ? new URL(base_url).hostname : '')?.[1] ?? 'com'
  return `https://cognitiveservices.azure.${ending}/.default`
}
