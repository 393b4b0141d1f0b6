// What a platform is entered with where that is more than one key: AWS's pair of keys, Google's service account. Each
// is one text at rest, so that it is sealed, and handed to whoever dials, like any other secret.
import { type Static, Type } from 'typebox'

const visible = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[!-~]+$', description })

export const AwsKeys = Type.Object(
  {
    access_key_id: visible(128, 'Begins `AKIA`, or `ASIA` where it goes with a session token.'),
    secret_access_key: visible(256, 'Kept sealed and never shown again.'),
    session_token: Type.Optional(visible(4_096, 'Of keys that are lent for a while.')),
  },
  { title: 'AwsKeys' },
)
export type AwsKeys = Static<typeof AwsKeys>

/** The file that Google Cloud gives for one; fields that are not here are of no use for this. */
export const ServiceAccount = Type.Object(
  {
    client_email: visible(256, 'Who it is.'),
    private_key: Type.String({ minLength: 1, maxLength: 8_192, description: 'A PEM. Kept sealed, never shown again.' }),
    private_key_id: Type.Optional(visible(128, 'Which of its keys.')),
    project_id: Type.Optional(Type.String({ maxLength: 64, description: 'Where `google_project` is not given.' })),
  },
  { title: 'GoogleServiceAccount', additionalProperties: true },
)
export type ServiceAccount = Static<typeof ServiceAccount>

export interface OperatorsAccount extends ServiceAccount {
  /** Where its tokens come from. Only an operator's account is believed about that. */
  token_uri?: string
}

export type PlatformSecret =
  | { kind: 'key'; key: string }
  | { kind: 'aws'; keys: AwsKeys }
  | { kind: 'service_account'; account: OperatorsAccount }
  /** Nothing was given: the machine that this runs on is somebody. */
  | { kind: 'ambient' }

const AWS = '{"aws":'
const GOOGLE = '{"service_account":'

export const awsSecret = ({ access_key_id, secret_access_key, session_token }: AwsKeys) =>
  JSON.stringify({ aws: { access_key_id, secret_access_key, ...(session_token && { session_token }) } })

export const accountSecret = ({ client_email, private_key, private_key_id, token_uri }: OperatorsAccount) =>
  JSON.stringify({
    service_account: {
      client_email,
      private_key,
      ...(private_key_id && { private_key_id }),
      ...(token_uri && { token_uri }),
    },
  })

export function readPlatformSecret(secret: string | undefined): PlatformSecret {
  if (!secret) return { kind: 'ambient' }
  if (secret.startsWith(AWS)) return { kind: 'aws', keys: JSON.parse(secret).aws }
  if (secret.startsWith(GOOGLE)) return { kind: 'service_account', account: JSON.parse(secret).service_account }
  return { kind: 'key', key: secret }
}

/** What of it goes over the wire, or stands in a text: none of these is ever told on. */
export function partsOfSecret(secret: string | undefined): readonly string[] {
  const read = readPlatformSecret(secret)
  if (read.kind === 'key') return [read.key]
  if (read.kind === 'service_account') return [read.account.private_key]
  if (read.kind === 'ambient') return []
  const { access_key_id, secret_access_key, session_token } = read.keys
  return [access_key_id, secret_access_key, ...(session_token ? [session_token] : [])]
}

const PEM = /^-----BEGIN (RSA )?PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END (RSA )?PRIVATE KEY-----\s*$/

export const isPrivateKey = (text: string) => PEM.test(text)
