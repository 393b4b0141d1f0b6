// What the operator configured, in the form that routing reads: providers in order of preference, fees, retention.
import type { WaiverTerms } from '../budgets/waiver.ts'
import type { Protocol } from '../credentials/platform.ts'
import type { OperatorAlias } from '../models/operator-alias.ts'
import type { PriceBook } from '../models/price-book.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'

export interface Gateway {
  /** Listed order is the order of preference for a model. */
  providers: readonly ProviderSettings[]
  /** What a model is listed at where its provider does not say. */
  prices: PriceBook
  /** R83: for all projects; a project's own of the same name wins. */
  aliases: readonly OperatorAlias[]
  /** R42: what a generation costs on paths that the customer pays for. */
  fees: { byok_micros: number; byoc_micros: number }
  /** Whether input items and session contents are kept for reading back, and calls may be recorded. */
  full_fidelity: boolean
  /** How long recordings are kept. */
  retention_days: number
  /** R71: how much deadlines may make free of charge. */
  deadlines: WaiverTerms
}

/** A provider as everybody knows it, for credentials that name it without an address. */
interface KnownProvider {
  /** Undefined of platforms: it hangs on the region, or is the customer's own. */
  base_url?: string
  protocol: Protocol
}

const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  openai: { base_url: 'https://api.openai.com/v1', protocol: 'openai' },
  anthropic: { base_url: 'https://api.anthropic.com/v1', protocol: 'anthropic' },
  gemini: { base_url: 'https://generativelanguage.googleapis.com/v1beta/openai', protocol: 'openai' },
  groq: { base_url: 'https://api.groq.com/openai/v1', protocol: 'openai' },
  together: { base_url: 'https://api.together.xyz/v1', protocol: 'openai' },
  mistral: { base_url: 'https://api.mistral.ai/v1', protocol: 'openai' },
  deepseek: { base_url: 'https://api.deepseek.com/v1', protocol: 'openai' },
  xai: { base_url: 'https://api.x.ai/v1', protocol: 'openai' },
  moonshot: { base_url: 'https://api.moonshot.ai/v1', protocol: 'openai' },
  azure: { protocol: 'azure' },
  bedrock: { protocol: 'bedrock' },
  vertex: { protocol: 'vertex' },
}

/** By its public address. */
export const knownProvider = (id: string): KnownProvider | undefined =>
  Object.hasOwn(KNOWN_PROVIDERS, id) ? KNOWN_PROVIDERS[id] : undefined

export const isConfigured = ({ providers }: Gateway) => providers.length > 0
