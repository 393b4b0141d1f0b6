// How a call proves to AWS who makes it: a key of Bedrock's own as a bearer, or a signature over the request (SigV4).
import type { AwsV4Signer } from 'aws4fetch'
import type { Clock } from '../../core/clock.ts'
import {
  type AwsKeys,
  type PlatformSecret,
  partsOfSecret,
  readPlatformSecret,
} from '../../credentials/platform-secret.ts'
import type { Prove, Proving } from './platform-caller.ts'
import type { Lease } from './renewed-lease.ts'

const SERVICE = 'bedrock'

export function provesToAws(secret: PlatformSecret, region: string, clock: Clock): Prove {
  if (secret.kind === 'key') return async () => ({ authorization: `Bearer ${secret.key}` })
  if (secret.kind !== 'aws') return async () => ({}) // revoked meanwhile: AWS says that it knows nobody by that
  return signing(secret.keys, { region, service: SERVICE, clock })
}

/** With keys that are lent for a while; a signer stays for as long as they do. */
export function provesByLease(lease: Lease, region: string, clock: Clock): LentKeys {
  let text = ''
  let sign: Prove = async () => ({})
  return {
    async prove(request, signal) {
      const current = await lease.current()
      if (current !== text) {
        sign = provesToAws(readPlatformSecret(current), region, clock)
        text = current
      }
      return sign(request, signal)
    },
    secrets: () => partsOfSecret(text),
    refused: () => lease.forget(text),
  }
}

interface LentKeys {
  prove: Prove
  /** As they were last signed with. */
  secrets(): readonly string[]
  /** AWS does not know them any more: others are asked for with the next call. */
  refused(): void
}

interface Scope {
  region: string
  service: string
  clock: Clock
}

/** All of its headers are signed, and its body. */
type Signable = Omit<Proving, 'method'> & { method: 'GET' | 'POST' }

type Signer = ConstructorParameters<typeof AwsV4Signer>[0]

/** Loaded with the first call: few servers have such a provider. */
export function signing(keys: AwsKeys, { region, service, clock }: Scope) {
  const derived: NonNullable<Signer['cache']> = new Map() // the day's key
  return async ({ method, url, headers, body }: Signable): Promise<Record<string, string>> => {
    const { AwsV4Signer } = await import('aws4fetch')
    if (derived.size > 1) derived.clear()
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { ...headers },
      body: body as never,
      accessKeyId: keys.access_key_id,
      secretAccessKey: keys.secret_access_key,
      ...(keys.session_token && { sessionToken: keys.session_token }),
      service,
      region,
      cache: derived,
      datetime: dateOf(clock.now()),
      allHeaders: true,
    })
    const signed = await signer.sign()
    return Object.fromEntries([...signed.headers].filter(([name]) => !Object.hasOwn(headers, name)))
  }
}

/** 20150830T123600Z. */
export const dateOf = (now: number) => new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, '')
