// Keys of AWS that are lent to a workload: for a token of its cluster (STS), by the container it runs in (ECS, EKS Pod
// Identity), or by its machine (IMDSv2). What comes back is one text, as keys are everywhere here.
import type { OperatorsIdentity } from '../../credentials/operators-identity.ts'
import { awsSecret } from '../../credentials/platform-secret.ts'
import { type Asked, askedFor, IdentityAway, IdentityRefused, type PoolFor, tokenIn } from './identity-answers.ts'
import type { Leased } from './renewed-lease.ts'

type AwsIdentity = Exclude<OperatorsIdentity, { kind: 'entra' }>
type Of<Kind extends AwsIdentity['kind']> = Extract<AwsIdentity, { kind: Kind }>

export function lentByAws(identity: AwsIdentity, poolFor: PoolFor): Promise<Leased> {
  if (identity.kind === 'web_identity') return fromSts(identity, poolFor)
  return identity.kind === 'container' ? fromContainer(identity, poolFor) : fromMachine(identity, poolFor)
}

async function fromSts(identity: Of<'web_identity'>, poolFor: PoolFor): Promise<Leased> {
  const { role_arn, session_name, token_file, sts_url } = identity
  const form = {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role_arn,
    RoleSessionName: session_name,
    WebIdentityToken: await tokenIn(token_file),
  }
  const { status, bytes } = await askedFor({ method: 'POST', url: sts_url, headers: {}, form }, poolFor)
  const xml = bytes.toString()
  if (status !== 200)
    throw new IdentityRefused(`STS answers ${status}: ${inTag(xml, 'Code')?.slice(0, 100) ?? 'no reason'}`)
  return leased({
    AccessKeyId: inTag(xml, 'AccessKeyId'),
    SecretAccessKey: inTag(xml, 'SecretAccessKey'),
    Token: inTag(xml, 'SessionToken'),
    Expiration: inTag(xml, 'Expiration'),
  })
}

/** Neither keys nor names of errors have anything in them that would be escaped. */
const inTag = (xml: string, name: string) => new RegExp(`<${name}>([^<]{1,8192})</${name}>`).exec(xml)?.[1]

async function fromContainer({ url, token, token_file }: Of<'container'>, poolFor: PoolFor): Promise<Leased> {
  const authorization = token_file ? await tokenIn(token_file) : token
  const headers = { accept: 'application/json', ...(authorization && { authorization }) }
  const { status, json } = await askedFor({ method: 'GET', url, headers }, poolFor)
  if (status !== 200) throw new IdentityRefused(`the credentials of the container are answered with ${status}`)
  return leased(json)
}

const MACHINE_WITHIN_MS = 2_000
const SESSION_S = '21600'

/** Version 2 alone: a session first, so that nobody who can make us fetch an address gets keys by that. */
async function fromMachine({ url }: Of<'instance'>, poolFor: PoolFor): Promise<Leased> {
  const ask = async (method: Asked['method'], path: string, headers: Record<string, string>) => {
    const answer = await askedFor({ method, url: `${url}${path}`, headers, within_ms: MACHINE_WITHIN_MS }, poolFor)
    if (answer.status !== 200) throw new IdentityRefused(`the metadata service answers ${answer.status} to ${path}`)
    return answer
  }
  const session = await ask('PUT', '/latest/api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': SESSION_S })
  const headers = { 'x-aws-ec2-metadata-token': session.bytes.toString() }
  const roles = await ask('GET', ROLES, headers)
  const role = roles.bytes.toString().split('\n')[0]?.trim() ?? ''
  if (!/^[\w+=,.@-]{1,128}$/.test(role)) throw new IdentityRefused('the machine has no role')
  const { json } = await ask('GET', `${ROLES}${role}`, headers)
  const { Code = 'Success' } = json as { Code?: unknown }
  if (Code !== 'Success') throw new IdentityAway(`the metadata service says ${String(Code).slice(0, 100)}`)
  return leased(json)
}

const ROLES = '/latest/meta-data/iam/security-credentials/'

interface Lent {
  AccessKeyId?: unknown
  SecretAccessKey?: unknown
  Token?: unknown
  Expiration?: unknown
}

function leased(told: Lent): Leased {
  const { AccessKeyId: access_key_id, SecretAccessKey: secret_access_key, Token: session_token, Expiration } = told
  const expires_at = Date.parse(String(Expiration))
  if (!isKey(access_key_id) || !isKey(secret_access_key) || !isKey(session_token) || Number.isNaN(expires_at))
    throw new IdentityAway('an answer without keys, or without their end')
  return { value: awsSecret({ access_key_id, secret_access_key, session_token }), expires_at }
}

const isKey = (value: unknown): value is string => typeof value === 'string' && /^[!-~]{1,8192}$/.test(value)
