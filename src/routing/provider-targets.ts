// Providers as places to go (R40): with the project's own credential, under its subscription, or managed.
import { PRICE_BOOK } from '../models/price-book.ts'
import type { ModelSettings, ProviderSettings } from '../providers/provider-config.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import { type Gateway, isConfigured, knownProvider } from './gateway.ts'
import type { Target } from './target.ts'

const DEFAULT_OUTPUT_TOKENS = 32_768
const DEFAULT_CONCURRENCY = 200
const TIMEOUTS = { first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 }

export interface CredentialFacts {
  id: string
  provider: string
  base_url: string | null
  status: 'active' | 'refused'
  /** How often in a row its provider refused it (R73). */
  refusals: number
}

/** The provider's entry for a model; for one that takes unlisted models, an entry without a price. */
export function modelAt(provider: ProviderSettings, model: string): ModelSettings | undefined {
  const listed = provider.models.find((one) => one.id === model)
  return listed ?? (provider.unlisted_models ? unlisted(model) : undefined)
}

function unlisted(model: string): ModelSettings {
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
      messages_native: provider.messages ?? false,
      cache_breakpoints: provider.cache_breakpoints,
      output_limit_field: provider.output_limit_field,
      max_concurrency: provider.max_concurrency,
      timeouts: provider.timeouts,
    },
  }
  managed.set(model, target)
  return target
}

/** R83: those that list the model, in their order; then those that take any. */
export function managedTargets({ providers }: Gateway, model: string): Target[] {
  const [listing, taking]: [Target[], Target[]] = [[], []]
  for (const provider of providers) {
    const listed = provider.models.find((one) => one.id === model)
    if (listed) listing.push(managedTarget(provider, listed))
    else if (provider.unlisted_models) taking.push(managedTarget(provider, unlisted(model)))
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

/** Where the calls of a credential go. */
export interface CredentialAddress {
  base_url: string
  protocol: 'openai' | 'anthropic'
  customer_address: boolean
  region: string
  /** The operator's provider, where it is the same one: its models, time-outs and slots count. */
  configured: ProviderSettings | undefined
}

/**
 * R79: to its own address; to the operator's, where the operator said so; else to the provider's public one. Whoever
 * verifies a credential asks there too. Undefined where none is known.
 */
export function credentialAddress(
  { provider, base_url }: Pick<CredentialFacts, 'provider' | 'base_url'>,
  { providers }: Gateway,
): CredentialAddress | undefined {
  const configured = providers.find((one) => one.id === provider)
  const known = knownProvider(provider)
  if (base_url !== null) {
    const protocol = configured?.protocol ?? known?.protocol ?? 'openai'
    return { base_url, protocol, customer_address: true, region: UNTOLD, configured }
  }
  if (configured && (configured.byok || isAddress(configured.base_url, known?.base_url))) {
    const { protocol, region } = configured
    return { base_url: configured.base_url, protocol, customer_address: false, region, configured }
  }
  return known && { ...known, customer_address: false, region: UNTOLD, configured: undefined }
}

/** Where nobody has said in which region an address is. */
const UNTOLD = 'global'

const isAddress = (base_url: string, other: string | undefined) =>
  base_url.replace(/\/+$/, '') === other?.replace(/\/+$/, '')

/** Why nothing may go through this credential now; undefined where it may. */
export const reasonAgainstCredential = ({ status }: CredentialFacts): string | undefined =>
  status === 'refused' ? 'its provider refused the credential; verify it once it is in order' : undefined

/** A credential serves what its provider is configured or known to have. */
export function credentialServes(credential: CredentialFacts, gateway: Gateway, model: string): boolean {
  const address = credentialAddress(credential, gateway)
  // Without an address nothing can be served, but what would be is told, and not silently sent elsewhere.
  const configured = address ? address.configured : gateway.providers.find(({ id }) => id === credential.provider)
  if (configured) return modelAt(configured, model) !== undefined
  return PRICE_BOOK.get(model)?.provider === credential.provider
}

/** Undefined where nobody knows the provider's address. */
export function credentialTarget(credential: CredentialFacts, gateway: Gateway, model: string): Target | undefined {
  const address = credentialAddress(credential, gateway)
  if (!address) return undefined
  const { configured, base_url, protocol, customer_address, region } = address
  const entry = configured && modelAt(configured, model)
  return {
    id: `credential:${credential.id}`,
    profile: 'byok',
    provider: credential.provider,
    model: entry?.upstream_id ?? model,
    region,
    pricing: { kind: 'fee', micros: gateway.fees.byok_micros },
    max_output_tokens: entry?.max_output_tokens ?? PRICE_BOOK.get(model)?.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS,
    cluster_id: undefined,
    credential_id: credential.id,
    refusals: credential.refusals,
    subscription: undefined,
    dialling: {
      protocol,
      base_url,
      secret: { kind: 'credential', id: credential.id },
      customer_address,
      responses_native: configured?.responses ?? credential.provider === 'openai',
      messages_native: configured?.messages ?? false,
      cache_breakpoints: configured?.cache_breakpoints,
      output_limit_field: configured?.output_limit_field,
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
