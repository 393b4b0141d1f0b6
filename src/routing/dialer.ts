// From a target to a provider that can be called, over connections that are the target's own.
import { asMuchAsTold } from '../clusters/cluster-telemetry.ts'
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { isRefusal } from '../credentials/credential.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import { anthropic } from '../providers/anthropic/anthropic-provider.ts'
import type { ModelList } from '../providers/model-list.ts'
import { openaiCompatible } from '../providers/openai-compatible/openai-provider.ts'
import type { ProxySettings } from '../providers/outbound-proxy.ts'
import { placeholder } from '../providers/placeholder.ts'
import { spokenAt } from '../providers/platform-settings.ts'
import { platformProviders } from '../providers/platforms/platform-provider.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import type { CredentialAddress } from './credential-address.ts'
import { dialerPools } from './dialer-pools.ts'
import { managedId } from './provider-targets.ts'
import type { Target } from './target.ts'

const ASK_WITHIN_MS = 3_000 // a question beside a request must not hold it up for long
const ASKING = { owner: 'asking', stays: false, connections: 4 }
const TOKENS = { owner: 'tokens', stays: true, customer_address: false, connections: 8 }

/** Whom to ask, and whether a customer gave the address (R12). */
type Asked = Pick<CredentialAddress, 'base_url' | 'protocol' | 'platform' | 'customer_address' | 'model'>

interface Needs {
  policy: AddressPolicy
  proxy?: ProxySettings | undefined
  clock: Clock
  secretOf(project_id: string, credential_id: string): Promise<string | undefined>
}

export type Dialer = ReturnType<typeof dialer>

export function dialer({ policy, proxy, clock, secretOf }: Needs) {
  const pools = dialerPools({ policy, clock, proxy })
  const managed = new WeakMap<Target, Provider>() // whose address and secret are the operator's, and stay
  const standIn = placeholder({ clock })
  const platforms = platformProviders({ clock, poolFor: (base_url) => pools.poolFor({ base_url, ...TOKENS }) })

  async function keyFor({ dialling: { secret } }: Target, project_id: string): Promise<string | undefined> {
    if (secret.kind === 'configured') return secret.value
    return secret.kind === 'credential' ? secretOf(project_id, secret.id) : undefined
  }

  function opened(target: Target, api_key: string | undefined): Provider {
    const { id, model, dialling, max_output_tokens: max_tokens } = target
    const { protocol, base_url, responses_native: responses, messages_native: messages } = dialling
    const upstream = pools.poolFor({
      owner: id,
      stays: dialling.secret.kind === 'configured',
      base_url,
      customer_address: dialling.customer_address,
      connections: dialling.max_concurrency,
      connect_ms: dialling.timeouts.connect_ms,
    })
    const { cache_breakpoints, platform } = dialling
    if (platform) {
      const terms = { upstream, base_url, secret: api_key, model, responses, max_tokens, cache_breakpoints }
      const is_operators = dialling.secret.kind === 'configured'
      return platforms({ platform, spoken: dialling.spoken ?? 'chat', is_operators, ...terms })
    }
    if (protocol === 'anthropic') return anthropic({ upstream, api_key, clock, max_tokens, cache_breakpoints })
    return openaiCompatible({ upstream, api_key, base_url, responses, messages })
  }

  function ask(asked: Asked, api_key: string | undefined, is_operators = false): Promise<ModelList> {
    const { base_url, protocol, platform, customer_address, model = '' } = asked
    const upstream = pools.poolFor({ base_url, customer_address, ...ASKING })
    const signal = AbortSignal.timeout(ASK_WITHIN_MS)
    if (platform) {
      const spoken = spokenAt(protocol, { id: model, upstream_id: model })
      const terms = { upstream, base_url, secret: api_key, model, spoken, is_operators, responses: false }
      return platforms({ platform, ...terms }).listModels(signal)
    }
    if (protocol === 'anthropic') return anthropic({ upstream, api_key, clock }).listModels(signal)
    return openaiCompatible({ upstream, api_key, base_url, responses: false }).listModels(signal)
  }

  return {
    /** What goes along to the target, so that nothing that it says of it is told on. */
    secretFor: keyFor,

    /** At once where its address and secret are the operator's. */
    providerFor(target: Target, project_id: string): Provider | Promise<Provider> {
      const { protocol, secret } = target.dialling
      if (protocol === 'placeholder') return standIn
      const known = managed.get(target)
      if (known) return known
      if (secret.kind === 'credential') return keyFor(target, project_id).then((api_key) => opened(target, api_key))
      if (secret.kind === 'none') return opened(target, undefined)
      const provider = opened(target, secret.value)
      managed.set(target, provider)
      return provider
    },

    /** R52. */
    async listModels(endpoint: string): Promise<string[]> {
      const list = await ask({ base_url: endpoint, protocol: 'openai', customer_address: true }, undefined)
      return asMuchAsTold(idsIn(list))
    },

    /** What a provider of the operator's has. */
    async listProviderModels({ base_url, protocol, platform, api_key }: ProviderSettings): Promise<string[]> {
      return idsIn(await ask({ base_url, protocol, platform, customer_address: false }, api_key || undefined, true))
    },

    /** 0343: what a provider of the operator's answers to the cheapest question there is. */
    tryProvider({ base_url, protocol, platform, api_key, models }: ProviderSettings): Promise<ModelList> {
      const model = models[0]?.upstream_id
      return ask({ base_url, protocol, platform, customer_address: false, model }, api_key || undefined, true)
    },

    /** R73: at the address that its calls go to. What has no list of models takes the credential all the same. */
    async verifyCredential(address: Asked, secret: string): Promise<'active' | 'refused'> {
      const list = await ask(address, secret).catch((cause) => {
        throw notAsked(cause)
      })
      if (list.kind === 'models') return 'active'
      if (isRefusal(list.status)) return 'refused'
      if (list.status === 429 || list.status >= 500) throw notAsked(new Error(`upstream: status ${list.status}`))
      return 'active'
    },

    /** 0343: of these providers, connections that nobody will be dialled by any more are not kept. */
    retireUnused(changed: readonly string[], providers: readonly ProviderSettings[]): void {
      const wanted = providers.map(({ id, base_url, max_concurrency, timeouts: { connect_ms } }) => ({
        ...{ owner: managedId(id), stays: true, base_url, customer_address: false },
        ...{ connections: max_concurrency, connect_ms },
      }))
      pools.retireUnused(new Set(changed.map(managedId)), wanted)
    },

    renew: pools.renewStanding,
    close: pools.close,
  }
}

const notAsked = (cause: unknown) =>
  new Refusal('upstream_failed', 'The provider could not be asked. Try again later.', { cause })

function idsIn(list: ModelList): string[] {
  if (list.kind === 'refused') throw new Error(`the list of models was answered with status ${list.status}`)
  return list.ids
}
