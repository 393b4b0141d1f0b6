// Where the calls of a project's own credential go (R79, 0165): to its own address, to the operator's where the
// operator said so, else to the provider's public one; of a platform, to that of its region (0300).
import { type CredentialSettings, type EnteredCredential, isOwnModel } from '../credentials/credential.ts'
import {
  isPlatform,
  type Platform,
  type PlatformKind,
  type Protocol,
  platformOf,
  publicAddress,
  regionIn,
  TERMS,
} from '../credentials/platform.ts'
import { resourceOf } from '../providers/platform-settings.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import { type Gateway, knownProvider } from './gateway.ts'

export interface CredentialFacts {
  id: string
  provider: string
  base_url: string | null
  /** What it says of its platform and models, where it does. */
  settings?: CredentialSettings | undefined
  status: 'active' | 'refused'
  /** How often in a row its provider refused it (R73). */
  refusals: number
}

export type Addressed = Pick<CredentialFacts, 'provider' | 'base_url' | 'settings'>

export interface CredentialAddress {
  base_url: string
  protocol: Protocol
  platform?: Platform | undefined
  customer_address: boolean
  region: string
  /** The operator's provider, where it is the same one: its models, time-outs and slots count. */
  configured: ProviderSettings | undefined
  /** One that it serves, to be asked about where there is no list. */
  model?: string | undefined
}

/** Whoever verifies a credential asks there too. Undefined where no address is known. */
export function credentialAddress(credential: Addressed, { providers }: Gateway): CredentialAddress | undefined {
  const { provider, base_url } = credential
  const configured = providers.find((one) => one.id === provider)
  const known = knownProvider(provider)
  const protocol = configured?.protocol ?? known?.protocol ?? 'openai'
  if (isPlatform(protocol)) return onPlatform(protocol, credential, configured)
  if (base_url !== null) return { base_url, protocol, customer_address: true, region: UNTOLD, configured }
  if (configured && (configured.byok || isAddress(configured.base_url, known?.base_url))) {
    const { region } = configured
    return { base_url: configured.base_url, protocol, customer_address: false, region, configured }
  }
  if (known?.base_url === undefined) return undefined
  return { base_url: known.base_url, protocol, customer_address: false, region: UNTOLD, configured: undefined }
}

/** Its models are those of the operator's provider too, wherever it is reached: they are called the same there. */
function onPlatform(
  kind: PlatformKind,
  { base_url, settings = {} }: Addressed,
  configured: ProviderSettings | undefined,
): CredentialAddress | undefined {
  const is_operators = base_url === null && settings.region === undefined && configured?.byok === true
  const common = configured?.platform && termsForAll(configured.platform)
  const platform = platformOf(kind, { ...(is_operators ? configured?.platform : common), ...settings })
  if (platform.kind === 'wrong') return undefined
  const model = Object.values(settings.models ?? {})[0] ?? configured?.models[0]?.upstream_id
  const shared = { protocol: kind, platform, configured, model }
  if (is_operators && configured)
    return { base_url: configured.base_url, customer_address: false, region: configured.region, ...shared }
  const address = base_url ?? publicAddress(platform)
  if (address === undefined) return undefined
  const region = 'region' in platform ? platform.region : UNTOLD
  return { base_url: resourceOf(address), customer_address: base_url !== null, region, ...shared }
}

/** Of the operator's terms, those that are no place of the operator's. */
const termsForAll = (platform: Platform) =>
  platform.kind === 'azure' ? { api_version: platform.api_version } : { betas: platform.betas }

type Entered = Addressed & { entered_by: EnteredCredential['kind'] }

/** Why a credential cannot be used as it was given: the field, and what it must be. Undefined where it can. */
export function wrongTerm(credential: Entered, gateway: Gateway): { field: string; must: string } | undefined {
  const { provider, base_url, settings = {} } = credential
  const configured = gateway.providers.find((one) => one.id === provider)
  const protocol = configured?.protocol ?? knownProvider(provider)?.protocol ?? 'openai'
  const foreign = foreignTerm(protocol, credential)
  if (foreign) return foreign
  const address = credentialAddress(credential, gateway)
  if (!isPlatform(protocol)) return address ? undefined : noAddressOf(provider)
  const told = base_url === null ? undefined : regionIn(base_url)
  if (settings.region !== undefined && told !== undefined && told !== settings.region)
    return { field: 'region', must: `be that of 'base_url', '${told}'` }
  if (!address) {
    const platform = platformOf(protocol, settings)
    if (platform.kind === 'wrong') return platform
    return { field: 'base_url', must: 'be given: it is the address of your resource' }
  }
  if (!configured && Object.keys(settings.models ?? {}).length === 0)
    return { field: 'models', must: `say what '${provider}' serves, and what it calls that` }
  return undefined
}

const ENTERED_BY: Partial<Record<Protocol, readonly Entered['entered_by'][]>> = {
  bedrock: ['secret', 'aws'],
  vertex: ['service_account'],
}

/** What says nothing to this provider. */
function foreignTerm(protocol: Protocol, { provider, settings = {}, entered_by }: Entered) {
  const [usual, ...others] = ENTERED_BY[protocol] ?? ['secret']
  if (usual !== entered_by && !others.includes(entered_by))
    return { field: entered_by, must: `be left out for '${provider}', which takes '${usual}'` }
  const meant: readonly string[] = isPlatform(protocol) ? TERMS[protocol] : []
  const field = (['region', 'api_version', 'google_project'] as const).find(
    (term) => settings[term] !== undefined && !meant.includes(term),
  )
  return field && { field, must: `be left out for '${provider}', to which it means nothing` }
}

const noAddressOf = (provider: string) => ({
  field: 'base_url',
  must: `be given for '${provider}': it is not a provider whose public address is known here`,
})

/** Where nobody has said in which region an address is. */
const UNTOLD = 'global'

const isAddress = (base_url: string, other: string | undefined) =>
  base_url.replace(/\/+$/, '') === other?.replace(/\/+$/, '')

/** What the upstream calls a model that the credential itself names. */
export const namedBy = ({ settings }: Pick<CredentialFacts, 'settings'>, model: string): string | undefined =>
  isOwnModel(settings, model) ? settings?.models?.[model] : undefined
