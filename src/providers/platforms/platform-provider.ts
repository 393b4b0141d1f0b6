// A platform behind the same port: OpenAI's or Anthropic's protocol as the adapters of these speak it, over paths,
// signatures and tokens that are the platform's own.

import type { Clock } from '../../core/clock.ts'
import type { Platform } from '../../credentials/platform.ts'
import { partsOfSecret, readPlatformSecret } from '../../credentials/platform-secret.ts'
import { anthropic } from '../anthropic/anthropic-provider.ts'
import { bedrockConverse } from '../converse/bedrock-converse.ts'
import type { ModelList } from '../model-list.ts'
import { openaiCompatible } from '../openai-compatible/openai-provider.ts'
import type { Spoken } from '../platform-settings.ts'
import type { Provider } from '../provider.ts'
import type { Upstream } from '../upstream.ts'
import { provesToAws } from './aws-signature.ts'
import { AZURE_KINDS, azureUpstream } from './azure.ts'
import { bedrockChat, bedrockMessages } from './bedrock.ts'
import { googleTokens } from './google-tokens.ts'
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
  return (options: PlatformOptions): ListingProvider => {
    const { platform } = options
    if (platform.kind === 'azure') return azure(options, platform)
    if (platform.kind === 'bedrock') return bedrock(options, platform, clock)
    return vertex(options, platform, { clock, lease: tokens.of(options.secret, options.is_operators) })
  }
}

type Of<Kind extends Platform['kind']> = Extract<Platform, { kind: Kind }>

function azure({ upstream, base_url, secret, model, responses }: PlatformOptions, { api_version }: Of<'azure'>) {
  const below = azureUpstream(upstream, { deployment: model, api_version, secrets: partsOfSecret(secret) })
  const kinds = responses ? [...AZURE_KINDS, 'responses' as const] : AZURE_KINDS
  return openaiCompatible({ upstream: below, base_url, api_key: secret, key_header: 'api-key', responses, kinds })
}

function bedrock(options: PlatformOptions, { region, betas }: Of<'bedrock'>, clock: Clock): ListingProvider {
  const { upstream, base_url, model, secret } = options
  const prove = provesToAws(readPlatformSecret(secret), region, clock)
  const terms = { base_url, model, prove, betas, secrets: partsOfSecret(secret) }
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
