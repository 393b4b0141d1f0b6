// Providers as places to go (R40): with the project's own credential, under its subscription, or managed.
import { PRICE_BOOK } from '../models/price-book.ts'
import type { ModelSettings, ProviderSettings } from '../providers/provider-config.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import { type Gateway, isConfigured, KNOWN_PROVIDERS } from './gateway.ts'
import type { Target } from './target.ts'

const DEFAULT_OUTPUT_TOKENS = 32_768
const DEFAULT_CONCURRENCY = 200
const TIMEOUTS = { first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 }

export interface CredentialFacts {
  id: string
  provider: string
  base_url: string | null
}

/** The provider's entry for a model; for one that takes unlisted models, an entry without a price. */
export function modelAt(provider: ProviderSettings, model: string): ModelSettings | undefined {
  const listed = provider.models.find((one) => one.id === model)
  if (listed || !provider.unlisted_models) return listed
  const booked = PRICE_BOOK.get(model)
  const max_output_tokens = booked?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS
  return { id: model, upstream_id: model, price: booked?.price, max_output_tokens }
}

const managed = new WeakMap<ModelSettings, Target>()

/** The same object for the same entry, so that whoever dials it can remember how. */
export function managedTarget(provider: ProviderSettings, model: ModelSettings): Target {
  const known = managed.get(model)
  if (known) return known
  const target: Target = {
    id: `provider:${provider.id}`,
    profile: 'managed_provider',
    provider: provider.id,
    model: model.upstream_id,
    region: provider.region,
    pricing: model.price ? { kind: 'tokens', price: model.price } : { kind: 'unpriced' },
    max_output_tokens: model.max_output_tokens,
    cluster_id: undefined,
    credential_id: undefined,
    subscription: undefined,
    dialling: {
      protocol: provider.protocol,
      base_url: provider.base_url,
      secret: { kind: 'configured', value: provider.api_key },
      customer_address: false,
      responses_native: provider.responses,
      max_concurrency: provider.max_concurrency,
      timeouts: provider.timeouts,
    },
  }
  managed.set(model, target)
  return target
}

export function managedTargets({ providers }: Gateway, model: string): Target[] {
  return providers.flatMap((provider) => {
    const entry = modelAt(provider, model)
    return entry ? [managedTarget(provider, entry)] : []
  })
}

export function subscriptionTargets(subscription: Subscription, gateway: Gateway, model: string): Target[] {
  const { id, provider, input_discount_pct } = subscription
  return managedTargets(gateway, model)
    .filter((target) => target.provider === provider)
    .map((target) => ({ ...target, profile: 'subscription', subscription: { id, input_discount_pct } }))
}

/** A credential serves what its provider is configured or known to have. */
export function credentialServes(credential: CredentialFacts, { providers }: Gateway, model: string): boolean {
  const configured = providers.find((provider) => provider.id === credential.provider)
  if (configured) return modelAt(configured, model) !== undefined
  return PRICE_BOOK.get(model)?.provider === credential.provider
}

/** Undefined where nobody knows the provider's address. */
export function credentialTarget(credential: CredentialFacts, gateway: Gateway, model: string): Target | undefined {
  const configured = gateway.providers.find((provider) => provider.id === credential.provider)
  const known = KNOWN_PROVIDERS[credential.provider]
  const base_url = credential.base_url ?? configured?.base_url ?? known?.base_url
  if (!base_url) return undefined
  const entry = configured && modelAt(configured, model)
  return {
    id: `credential:${credential.id}`,
    profile: 'byok',
    provider: credential.provider,
    model: entry?.upstream_id ?? model,
    region: configured?.region ?? 'global',
    pricing: { kind: 'fee', micros: gateway.fees.byok_micros },
    max_output_tokens: entry?.max_output_tokens ?? PRICE_BOOK.get(model)?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS,
    cluster_id: undefined,
    credential_id: credential.id,
    subscription: undefined,
    dialling: {
      protocol: configured?.protocol ?? known?.protocol ?? 'openai',
      base_url,
      secret: { kind: 'credential', id: credential.id },
      customer_address: credential.base_url !== null,
      responses_native: configured?.responses ?? credential.provider === 'openai',
      max_concurrency: configured?.max_concurrency ?? DEFAULT_CONCURRENCY,
      timeouts: configured?.timeouts ?? TIMEOUTS,
    },
  }
}

/** R40, R53: only where no gateway is configured at all. */
export function placeholderTargets(gateway: Gateway, model: string): Target[] {
  if (isConfigured(gateway)) return []
  return [
    {
      id: 'placeholder',
      profile: 'managed_provider',
      provider: 'placeholder',
      model,
      region: 'local',
      pricing: { kind: 'fee', micros: 0 },
      max_output_tokens: PRICE_BOOK.get(model)?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS,
      cluster_id: undefined,
      credential_id: undefined,
      subscription: undefined,
      dialling: {
        protocol: 'placeholder',
        base_url: '',
        secret: { kind: 'none' },
        customer_address: false,
        responses_native: true,
        max_concurrency: 10_000,
        timeouts: TIMEOUTS,
      },
    },
  ]
}
