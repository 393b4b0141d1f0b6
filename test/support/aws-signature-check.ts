// How AWS checks a signature (SigV4), written from its specification and not from what signs here: by headers, body,
// scope and clock.
import { createHash, createHmac } from 'node:crypto'
import type { Recorded } from './upstream.ts'

export interface AwsAccount {
  access_key_id: string
  secret_access_key: string
  session_token?: string
  region: string
  service: string
  now(): number
}

const SKEW_MS = 5 * 60_000
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data).digest()

/** Why AWS would refuse it; undefined where it would not. */
export function signatureFault(
  request: Recorded,
  account: AwsAccount,
): [exception: string, message: string] | undefined {
  const { headers } = request
  const match = AUTHORIZATION.exec(String(headers.authorization ?? ''))
  if (!match) return ['MissingAuthenticationTokenException', 'Missing Authentication Token']
  const [, key_id, day = '', region, service, signed = '', signature] = match
  if (key_id !== account.access_key_id || headers['x-amz-security-token'] !== account.session_token)
    return ['UnrecognizedClientException', 'The security token included in the request is invalid.']
  const date = String(headers['x-amz-date'])
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(at - account.now()) <= SKEW_MS) || !date.startsWith(day))
    return ['InvalidSignatureException', `Signature expired: ${date} is now earlier than the current time.`]
  if (region !== account.region || service !== account.service)
    return ['InvalidSignatureException', `Credential should be scoped to a valid region, not '${region}'.`]
  const names = signed.split(';')
  if (!['host', 'x-amz-date'].every((name) => names.includes(name)))
    return ['InvalidSignatureException', 'Headers that must be signed are not.']
  const [path = '', query = ''] = request.path.split('?')
  const canonical = [
    request.method,
    path.split('/').map(encoded).join('/'),
    query.split('&').sort().join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, ' ')}`),
    '',
    signed,
    sha256(request.bytes),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const signing = [region, service, 'aws4_request'].reduce<Buffer>(
    (derived, part) => hmac(derived, String(part)),
    hmac(`AWS4${account.secret_access_key}`, day),
  )
  const expected = hmac(signing, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex')
  if (signature === expected) return undefined
  return ['InvalidSignatureException', 'The request signature we calculated does not match the signature you provided.']
}

const encoded = (part: string) =>
  encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
