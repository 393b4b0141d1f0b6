// What a credential is entered with, as it came: one key, AWS's pair, or a service account of Google's. One of them, in
// a form that can be used; nothing of it is repeated where it is refused.
import { Refusal } from '../core/refusal.ts'
import { type AwsKeys, accountSecret, awsSecret, isPrivateKey, type ServiceAccount } from './platform-secret.ts'

const SHOWABLE = 16 // below it, four characters at each end would be too much of the secret

interface Given {
  secret?: string
  aws?: AwsKeys
  service_account?: ServiceAccount
}

export interface EnteredSecret {
  kind: keyof Given
  /** As it is sealed. */
  secret: string
  masked: string
  google_project?: string
}

export function enteredSecret({ secret, aws, service_account }: Given): EnteredSecret {
  const given = Object.entries({ secret, aws, service_account }).filter(([, value]) => value !== undefined)
  if (given.length > 1) throw invalid(`'${given[1]?.[0]}' must be left out where '${given[0]?.[0]}' is given`)
  if (aws) return { kind: 'aws', secret: awsSecret(aws), masked: maskSecret(aws.access_key_id) }
  if (service_account) return ofAccount(service_account)
  if (secret === undefined) throw invalid("'secret' is required")
  return { kind: 'secret', secret: headerSafe(secret), masked: maskSecret(secret) }
}

export const maskSecret = (secret: string) =>
  secret.length < SHOWABLE ? '…' : `${secret.slice(0, 4)}…${secret.slice(-4)}`

/** It travels in a header: a line break in it would begin another one. */
function headerSafe(secret: string): string {
  if (!/^[\x21-\x7e]+$/.test(secret)) throw invalid("'secret' must be made of visible ASCII characters, without blanks")
  if (secret.startsWith('{')) throw invalid("'secret' must be a key: give what is JSON as 'aws' or 'service_account'")
  return secret
}

const TOKEN_URI = 'https://oauth2.googleapis.com/token'

/** Other kinds of accounts name places to fetch tokens from, or programs to run: no customer has us do that. */
function ofAccount(account: ServiceAccount): EnteredSecret {
  const { type, token_uri } = account as { type?: unknown; token_uri?: unknown }
  if (type !== undefined && type !== 'service_account')
    throw invalid("'service_account.type' must be 'service_account'")
  if (token_uri !== undefined && token_uri !== TOKEN_URI)
    throw invalid(`'service_account.token_uri' must be ${TOKEN_URI}`)
  if (!isPrivateKey(account.private_key)) throw invalid("'service_account.private_key' must be a PEM of a private key")
  const { client_email, private_key, private_key_id, project_id } = account
  const kept = { client_email, private_key, ...(private_key_id !== undefined && { private_key_id }) }
  return {
    kind: 'service_account',
    secret: accountSecret(kept),
    masked: maskSecret(private_key_id ?? ''),
    ...(project_id !== undefined && { google_project: project_id }),
  }
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
