// Providers as places to go (R40): with the project's own credential, under its subscription, or managed.
import type { PriceBook } from '../models/price-book.ts'
import { isReasoningName } from '../models/reasoning-names.ts'
import type { ModelSettings } from '../providers/model-config.ts'
import { hasResponses, nameAt, protocolOf, spokenAt } from '../providers/platform-settings.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import { type CredentialAddress, type CredentialFacts, credentialAddress, namedBy } from './credential-address.ts'
import { type Gateway, isConfigured } from './gateway.ts'
import type { Target } from './target.ts'

const DEFAULT_OUTPUT_TOKENS = 32_768
const DEFAULT_CONCURRENCY = 200
const TIMEOUTS = { first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 }

/** The provider's entry for a model; for one that takes unlisted models, an entry without a price. */
export function modelAt(provider: ProviderSettings, model: string, prices: PriceBook): ModelSettings | undefined {
  const listed = provider.models.find((one) => one.id === model)
  return listed ?? (provider.unlisted_models ? unlisted(model, prices) : undefined)
}

function unlisted(model: string, prices: PriceBook): ModelSettings {
  const booked = prices.get(model)
  const max_output_tokens = booked?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS
  return { id: model, upstream_id: model, price: booked?.price, max_output_tokens }
}

/** What its slots, connections and breakers are counted by. */
export const managedId = (provider_id: string) => `provider:${provider_id}`

const managed = new WeakMap<ModelSettings, Target>()

/** The same object for the same entry, so that whoever dials it can remember how. */
export function managedTarget(provider: ProviderSettings, model: ModelSettings): Target {
  const known = managed.get(model)
  if (known) return known
  const spoken = spokenAt(provider.protocol, model)
  const target: Target = {
    id: managedId(provider.id),
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
      protocol: protocolOf(spoken),
      spoken,
      platform: provider.platform,
      base_url: provider.base_url,
      secret: { kind: 'configured', value: provider.api_key },
      customer_address: false,
      responses_native: provider.responses,
      messages_native: provider.messages ?? false,
      cache_breakpoints: provider.cache_breakpoints,
      output_limit_field: limitField(provider, model.id),
      max_concurrency: provider.max_concurrency,
      retries: provider.retries,
      timeouts: provider.timeouts,
    },
    ...(provider.is_draining && { is_draining: true }),
  }
  managed.set(model, target)
  return target
}

/** A deployment's name says nothing of the model behind it. */
const limitField = (
  { output_limit_field, protocol }: Pick<ProviderSettings, 'output_limit_field' | 'protocol'>,
  id: string,
) => output_limit_field ?? (protocol === 'azure' && isReasoningName(id) ? 'max_completion_tokens' : undefined)

/** R83: those that list the model, in their order; then those that take any. */
export function managedTargets({ providers, prices }: Gateway, model: string): Target[] {
  const [listing, taking]: [Target[], Target[]] = [[], []]
  for (const provider of providers) {
    const listed = provider.models.find((one) => one.id === model)
    if (listed) listing.push(managedTarget(provider, listed))
    else if (provider.unlisted_models) taking.push(managedTarget(provider, unlisted(model, prices)))
  }
  return taking.length > 0 ? [...listing, ...taking] : listing
}

/** Those of these that the subscription is for. */
export function subscriptionTargets(subscription: Subscription, targets: readonly Target[]): Target[] {
  const { id, provider, input_discount_pct } = subscription
  return targets
    .filter((target) => target.provider === provider)
    .map((target) => ({ ...target, profile: 'subscription', subscription: { id, input_discount_pct } }))
}

/** Why nothing may go through this credential now; undefined where it may. */
export const reasonAgainstCredential = ({ status }: CredentialFacts): string | undefined =>
  status === 'refused' ? 'its provider refused the credential; verify it once it is in order' : undefined

/** A credential serves what its provider is configured or known to have. */
export function credentialServes(credential: CredentialFacts, gateway: Gateway, model: string): boolean {
  if (namedBy(credential, model) !== undefined) return true
  const address = credentialAddress(credential, gateway)
  // Without an address nothing can be served, but what would be is told, and not silently sent elsewhere.
  const configured = address ? address.configured : gateway.providers.find(({ id }) => id === credential.provider)
  if (configured) return modelAt(configured, model, gateway.prices) !== undefined
  return gateway.prices.get(model)?.provider === credential.provider
}

/** Undefined where nobody knows the provider's address. */
export function credentialTarget(credential: CredentialFacts, gateway: Gateway, model: string): Target | undefined {
  const address = credentialAddress(credential, gateway)
  if (!address) return undefined
  const { configured, base_url, protocol, platform, customer_address, region } = address
  const entry = configured && modelAt(configured, model, gateway.prices)
  const named = {
    id: model,
    upstream_id: namedBy(credential, model) ?? entry?.upstream_id ?? model,
    speaks: entry?.speaks,
  }
  const spoken = spokenAt(protocol, named)
  return {
    id: `credential:${credential.id}`,
    profile: 'byok',
    provider: credential.provider,
    model: nameAt(protocol, named),
    region,
    pricing: { kind: 'fee', micros: gateway.fees.byok_micros },
    max_output_tokens: entry?.max_output_tokens ?? bookedOutput(gateway, model),
    cluster_id: undefined,
    credential_id: credential.id,
    refusals: credential.refusals,
    subscription: undefined,
    dialling: {
      protocol: protocolOf(spoken),
      spoken,
      platform,
      base_url,
      secret: { kind: 'credential', id: credential.id },
      customer_address,
      responses_native: ownResponses(credential, address),
      messages_native: configured?.messages ?? false,
      cache_breakpoints: configured?.cache_breakpoints,
      output_limit_field: limitField({ protocol, output_limit_field: configured?.output_limit_field }, model),
      max_concurrency: configured?.max_concurrency ?? DEFAULT_CONCURRENCY,
      retries: configured?.retries,
      timeouts: configured?.timeouts ?? TIMEOUTS,
    },
    ...(configured?.is_draining && base_url === configured.base_url && { is_draining: true }),
  }
}

const bookedOutput = ({ prices }: Gateway, model: string) =>
  prices.get(model)?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS

/** Of Azure, by the version that the credential says itself, where it does. */
function ownResponses({ provider, settings }: CredentialFacts, { configured, protocol, platform }: CredentialAddress) {
  const told = settings?.api_version === undefined ? configured?.responses : undefined
  return told ?? (provider === 'openai' || hasResponses({ protocol, platform }))
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
      max_output_tokens: bookedOutput(gateway, model),
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
