// Somewhere a generation can go, and what became of trying (§1, R40, R47).

import type { Platform } from '../credentials/platform.ts'
import type { ExecutionProfile } from '../headers/agent-headers.ts'
import type { Price } from '../models/price.ts'
import type { Spoken } from '../providers/platform-settings.ts'
import type { Timeouts } from '../providers/provider.ts'
import type { UsageAttempt } from '../usage/usage-event.ts'
import type { Placing } from './placement.ts'

/** How to reach an upstream. Connections are the target's own, even where another has the same address. */
export interface Dialling {
  protocol: 'openai' | 'anthropic' | 'placeholder'
  /** Whose paths and signatures that protocol is spoken by, where they are not its own. */
  platform?: Platform | undefined
  /** Of a platform: by what the model is asked there. */
  spoken?: Spoken
  base_url: string
  /** Whose credential goes along: the operator's, the project's own, or none (T-85). */
  secret: { kind: 'configured'; value: string } | { kind: 'credential'; id: string } | { kind: 'none' }
  /** The address was given by a customer, so it is checked on every dial (R12). */
  customer_address: boolean
  responses_native: boolean
  /** Beside OpenAI's protocol it speaks Anthropic's Messages. */
  messages_native?: boolean
  /** Of Anthropic's protocol: chat gets cache breakpoints; undefined is yes. */
  cache_breakpoints?: boolean | undefined
  /** Undefined: by the name of the model. */
  output_limit_field?: 'max_tokens' | 'max_completion_tokens' | undefined
  max_concurrency: number
  /** How often a call asks it again that surely was not executed; absent where never. */
  retries?: number | undefined
  timeouts: Timeouts & { connect_ms?: number; total_ms: number }
}

/** R42: list prices; or the control plane's fee on paths that the customer pays for; or nobody knows. */
export type Pricing = { kind: 'tokens'; price: Price } | { kind: 'fee'; micros: number } | { kind: 'unpriced' }

export interface Target {
  /** Stable: what slots, connections, breakers and affinity are counted by. */
  id: string
  profile: ExecutionProfile
  /** What Agent-Resolved-Provider says. */
  provider: string
  /** The upstream's own name of the model. */
  model: string
  region: string
  pricing: Pricing
  max_output_tokens: number
  cluster_id: string | undefined
  credential_id: string | undefined
  /** How often in a row the provider refused the credential, as far as is known (R73). */
  refusals?: number
  subscription: { id: string; input_discount_pct: number } | undefined
  dialling: Dialling
  /** Its provider takes no new calls (0343). */
  is_draining?: true
  /** What a cluster reports of how it reads prompts, where it does. */
  reads?: Reads
}

export interface Reads {
  /** How many tokens its caches have room for. */
  cache_tokens: number | undefined
  tokens_per_s: number | undefined
}

/** A place that a call does not go to, and why. */
export interface Dropped {
  target: string
  reason: string
  kind: Obstacle
  /** How long until it is tried again, where that is known. */
  wait_ms?: number
}

/**
 * What is in the way: something that may pass; a region that the project does not allow; an allowance that is used up;
 * or the boundary, behind which the project's own capacity stays (R73).
 */
export type Obstacle = 'now' | 'region' | 'allowance' | 'boundary'

/** 0343: why a provider that is being drained is not given a call. */
export const DRAINING: Omit<Dropped, 'target'> = {
  kind: 'now',
  reason: 'whoever runs the service is draining its provider',
}

export interface Route {
  /** Best first; the rest are where to go when it fails. Never empty. */
  candidates: readonly Target[]
  dropped: readonly Dropped[]
  /** R73: the project's own clusters and credentials that would have come before the first candidate. */
  passed_over: readonly Dropped[]
  alias_release_id: string | undefined
  /** How those stand that were told apart by their caches, best first; undefined where there was nothing to choose. */
  placing?: Placing | undefined
}

/** R81: it takes Messages as they are. */
export const speaksMessages = ({ dialling: { protocol, messages_native } }: Target) =>
  protocol === 'anthropic' || messages_native === true

export type Attempt = UsageAttempt

/** Theirs to look after: a cluster, or a credential of their own. */
export const isCustomers = ({ profile }: Target) =>
  profile === 'byok' || profile === 'byoc_native' || profile === 'byoc_epp'
