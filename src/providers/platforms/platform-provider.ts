// A platform behind the same port: OpenAI's or Anthropic's protocol as the adapters of these speak it, over paths,
// signatures and tokens that are the platform's own.

import type { Clock } from '../../core/clock.ts'
import { identityIn, partsOfIdentity } from '../../credentials/operators-identity.ts'
import type { Platform } from '../../credentials/platform.ts'
import { partsOfSecret, readPlatformSecret } from '../../credentials/platform-secret.ts'
import { anthropic } from '../anthropic/anthropic-provider.ts'
import { bedrockConverse } from '../converse/bedrock-converse.ts'
import type { ModelList } from '../model-list.ts'
import { openaiCompatible } from '../openai-compatible/openai-provider.ts'
import type { Spoken } from '../platform-settings.ts'
import type { Provider } from '../provider.ts'
import type { Upstream } from '../upstream.ts'
import { provesByLease, provesToAws } from './aws-signature.ts'
import { AZURE_KINDS, azureUpstream } from './azure.ts'
import { bedrockChat, bedrockMessages, watchingKeys } from './bedrock.ts'
import { googleTokens } from './google-tokens.ts'
import { identityLeases } from './identity-leases.ts'
import type { Lease } from './renewed-lease.ts'
import { vertexChat, vertexMessages } from './vertex.ts'

export interface PlatformOptions {
  platform: Platform
  upstream: Upstream
  base_url: string
  secret: string | undefined
  /** The secret, or its absence, is the operator's. */
  is_operators: boolean
  /** What the platform calls it. */
  model: string
  /** By which protocol it is asked. */
  spoken: Spoken
  /** It has a Responses API. */
  responses: boolean
  max_tokens?: number
  cache_breakpoints?: boolean | undefined
}

export interface ListingProvider extends Provider {
  listModels(signal: AbortSignal): Promise<ModelList>
}

interface Needs {
  clock: Clock
  /** Where tokens come from. */
  poolFor(base_url: string): Upstream
}

export function platformProviders({ clock, poolFor }: Needs) {
  const tokens = googleTokens({ clock, poolFor })
  const leaseOf = identityLeases({ clock, poolFor })
  return (options: PlatformOptions): ListingProvider => {
    const { platform, secret, is_operators } = options
    if (platform.kind === 'vertex') return vertex(options, platform, { clock, lease: tokens.of(secret, is_operators) })
    // What a project entered is never read as an identity: it would speak for the operator, and name where to ask.
    const identity = is_operators ? identityIn(secret) : undefined
    const lease = identity && leaseOf(identity)
    const secrets = identity ? partsOfIdentity(identity) : partsOfSecret(secret)
    if (platform.kind === 'azure') return azure(options, platform, { lease, secrets })
    return bedrock(options, platform, { lease, secrets, clock })
  }
}

type Of<Kind extends Platform['kind']> = Extract<Platform, { kind: Kind }>

interface Proofs {
  /** Of the operator's identity, where that is what it is entered with. */
  lease: Lease | undefined
  secrets: readonly string[]
}

function azure(options: PlatformOptions, { api_version }: Of<'azure'>, { lease, secrets }: Proofs) {
  const { upstream, base_url, secret, model, responses } = options
  const below = azureUpstream(upstream, { deployment: model, api_version, secrets, tokens: lease })
  const kinds = responses ? [...AZURE_KINDS, 'responses' as const] : AZURE_KINDS
  const api_key = lease ? undefined : secret
  return openaiCompatible({ upstream: below, base_url, api_key, key_header: 'api-key', responses, kinds })
}

function bedrock(options: PlatformOptions, { region, betas }: Of<'bedrock'>, given: Proofs & { clock: Clock }) {
  const { base_url, model, secret } = options
  const { lease, clock } = given
  const lent = lease && provesByLease(lease, region, clock)
  const upstream = lent ? watchingKeys(options.upstream, lent.refused) : options.upstream
  const prove = lent?.prove ?? provesToAws(readPlatformSecret(secret), region, clock)
  const secrets = () => lent?.secrets() ?? given.secrets
  const terms = { base_url, model, prove, betas, secrets }
  if (options.spoken === 'messages') return claude(bedrockMessages(upstream, terms), options, clock)
  const is_converse = options.spoken === 'converse'
  return chatOnly(is_converse ? bedrockConverse(upstream, terms, clock) : bedrockChat(upstream, terms), base_url)
}

interface Tokens {
  clock: Clock
  lease: Lease
}

function vertex(options: PlatformOptions, platform: Of<'vertex'>, { clock, lease }: Tokens): ListingProvider {
  const { upstream, base_url, model } = options
  const { region, google_project, betas } = platform
  const terms = { base_url, model, region, google_project, betas, tokens: lease }
  return options.spoken === 'messages'
    ? claude(vertexMessages(upstream, terms), options, clock)
    : chatOnly(vertexChat(upstream, terms), base_url)
}

const claude = (upstream: Upstream, { max_tokens, cache_breakpoints }: PlatformOptions, clock: Clock) =>
  anthropic({ upstream, api_key: undefined, clock, cache_breakpoints, ...(max_tokens !== undefined && { max_tokens }) })

/** Of OpenAI's protocol they have chat alone; responses and Messages go over it. */
const chatOnly = (upstream: Upstream, base_url: string) =>
  openaiCompatible({ upstream, base_url, api_key: undefined, responses: false, kinds: ['chat'] })
