// What the path to the upstreams is built from: switchyard.yaml, or else one provider from the environment, or nothing.
import { isIP } from 'node:net'
import type { SignUpMode } from '../accounts/account.ts'
import type { SignInSettings } from '../accounts/sign-in-settings.ts'
import type { Cidr } from '../core/ip-address.ts'
import type { PriceBook } from '../models/price-book.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import type { ProxySettings } from '../providers/outbound-proxy.ts'
import { type ProviderSettings, providerSettings } from '../providers/provider-config.ts'
import type { Gateway } from '../routing/gateway.ts'
import { type TracingSettings, tracingSettings } from '../telemetry/tracing-settings.ts'
import { type Config, SettingError } from './config.ts'
import { type FileSettings, noConfigFile, readConfigFile } from './config-file.ts'

export interface GatewaySettings {
  gateway: Gateway
  policy: AddressPolicy
  limits: FileSettings['limits']
  /** R82: how long a stream may be silent towards its client. */
  streams: FileSettings['streams']
  /** R70: how many of a thing a project may have. */
  quotas: FileSettings['quotas']
  /** R78: what projects are to have of a target's slots beside others. */
  shares: FileSettings['shares']
  /** How large an artifact may be, and where contents lie. */
  artifacts: FileSettings['artifacts']
  /** 0340: whose identity providers people sign in with, and how long sessions last. */
  sign_in: SignInSettings
  /** §8.1: whose X-Forwarded-For is believed. */
  trusted_proxies?: readonly Cidr[]
  /** Undefined where nobody said where traces go, which is decided at the start. */
  tracing?: TracingSettings | undefined
  /** What upstreams over https are reached through. */
  proxy?: ProxySettings | undefined
  /** Where the providers stand; in the file unless said otherwise. */
  providers_from?: 'file' | 'environment'
}

export function gatewaySettings(config: Config): GatewaySettings {
  const file = config.config_file ? readConfigFile(config.config_file, config.variables) : noConfigFile()
  const {
    providers,
    prices,
    aliases,
    fees,
    full_fidelity,
    retention_days,
    deadlines,
    limits,
    quotas,
    shares,
    allow_cidrs,
    streams,
    artifacts,
    tracing,
    sign_in,
  } = file
  const fromEnv = !config.config_file && (config.openai.api_key || config.openai.base_url)
  return {
    gateway: {
      providers: fromEnv ? [openaiFrom(config.openai, prices)] : providers,
      ...{ prices, aliases, fees, full_fidelity, retention_days, deadlines },
    },
    policy: { allow_private: isLocalOnly(config), allow_cidrs },
    limits,
    streams,
    quotas,
    shares,
    artifacts,
    sign_in,
    tracing: tracingSettings(config.otel, tracing),
    trusted_proxies: config.trusted_proxies,
    providers_from: fromEnv ? 'environment' : 'file',
    proxy: config.https_proxy && { url: config.https_proxy, except: config.no_proxy },
  }
}

/** No provider and no private network: what a service is built with that nobody configured. */
export function noGateway(): GatewaySettings {
  const { prices, fees, full_fidelity, retention_days, deadlines, ...rest } = noConfigFile()
  const { limits, quotas, shares, streams, artifacts, sign_in } = rest
  const gateway = { providers: [], prices, aliases: [], fees, full_fidelity, retention_days, deadlines }
  const policy = { allow_private: false, allow_cidrs: [] }
  return { gateway, policy, limits, quotas, shares, streams, artifacts, sign_in }
}

/** Strangers who could sign up could spend: a server that others reach is closed to them unless somebody opens it. */
export function signUpMode(config: Config): SignUpMode {
  return config.sign_up ?? (isLocalOnly(config) ? 'open' : 'invited')
}

/** Nobody but this machine's own people is meant to reach it. */
export function isLocalOnly({ host, public_url }: Config): boolean {
  return isLoopback(host) && public_url === undefined
}

/** R12: who reaches such a server can reach the machine's own network anyway, unless a proxy stands before it. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

const OPENAI = 'https://api.openai.com/v1'

/** OpenAI itself with the models that have a price here, or another server with what it lists. */
function openaiFrom({ api_key = '', base_url = OPENAI }: Config['openai'], prices: PriceBook): ProviderSettings {
  const is_openai = URL.canParse(base_url) && new URL(base_url).hostname === new URL(OPENAI).hostname
  const booked = is_openai ? [...prices.values()].filter((model) => model.provider === 'openai') : []
  const shape = {
    id: 'openai',
    protocol: 'openai' as const,
    base_url,
    api_key,
    region: 'global',
    max_concurrency: 200,
    unlisted_models: true, // whatever the upstream has may be asked for; unpriced, only by keys without a limit
    byok: false,
    list_models: !is_openai,
    retries: 0,
    timeouts: { connect_ms: 5_000, first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 900_000 },
    models: booked.map(({ id }) => ({ id })),
  }
  return providerSettings(shape, (_field, message) => {
    throw new SettingError(`${message.replace(/^(base_url|api_key)/, (field) => `OPENAI_${field.toUpperCase()}`)}.`)
  })
}
