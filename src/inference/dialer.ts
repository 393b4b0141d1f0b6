// From a target to a provider that can be called, over connections that are the target's own.
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Credential } from '../credentials/credential.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import { anthropic } from '../providers/anthropic/anthropic-provider.ts'
import type { ModelList } from '../providers/model-list.ts'
import { openaiCompatible } from '../providers/openai-compatible/openai-provider.ts'
import { placeholder } from '../providers/placeholder.ts'
import type { Provider } from '../providers/provider.ts'
import { dialerPools } from './dialer-pools.ts'
import { KNOWN_PROVIDERS } from './gateway.ts'
import type { Target } from './target.ts'

const ASK_WITHIN_MS = 3_000 // a question beside a request must not hold it up for long
const ASKING = { owner: 'asking', stays: false, customer_address: true, connections: 4 }

interface Needs {
  policy: AddressPolicy
  clock: Clock
  secretOf(project_id: string, credential_id: string): Promise<string | undefined>
}

export type Dialer = ReturnType<typeof dialer>

export function dialer({ policy, clock, secretOf }: Needs) {
  const pools = dialerPools({ policy, clock })
  const managed = new WeakMap<Target, Provider>() // whose address and secret are the operator's, and stay
  const standIn = placeholder({ clock })

  async function keyFor({ dialling: { secret } }: Target, project_id: string): Promise<string | undefined> {
    if (secret.kind === 'configured') return secret.value
    return secret.kind === 'credential' ? secretOf(project_id, secret.id) : undefined
  }

  function opened({ id, dialling, max_output_tokens: max_tokens }: Target, api_key: string | undefined): Provider {
    const { protocol, base_url, responses_native: responses } = dialling
    const upstream = pools.poolFor({
      owner: id,
      stays: dialling.secret.kind === 'configured',
      base_url,
      customer_address: dialling.customer_address,
      connections: dialling.max_concurrency,
      connect_ms: dialling.timeouts.connect_ms,
    })
    if (protocol === 'anthropic') return anthropic({ upstream, api_key, clock, max_tokens })
    return openaiCompatible({ upstream, api_key, base_url, responses })
  }

  function ask(base_url: string, protocol: 'openai' | 'anthropic', api_key: string | undefined): Promise<ModelList> {
    const upstream = pools.poolFor({ base_url, ...ASKING })
    const asked =
      protocol === 'anthropic'
        ? anthropic({ upstream, api_key, clock })
        : openaiCompatible({ upstream, api_key, base_url, responses: false })
    return asked.listModels(AbortSignal.timeout(ASK_WITHIN_MS))
  }

  return {
    async providerFor(target: Target, project_id: string): Promise<Provider> {
      const { protocol, secret } = target.dialling
      if (protocol === 'placeholder') return standIn
      const known = managed.get(target)
      if (known) return known
      const provider = opened(target, await keyFor(target, project_id))
      if (secret.kind === 'configured') managed.set(target, provider)
      return provider
    },

    /** R52. */
    async listModels(endpoint: string): Promise<string[]> {
      const list = await ask(endpoint, 'openai', undefined)
      return list.kind === 'models' ? list.ids : []
    },

    async verifyCredential({ provider, base_url }: Credential, secret: string): Promise<'active' | 'invalid'> {
      const known = KNOWN_PROVIDERS[provider]
      const address = base_url ?? known?.base_url
      if (!address) throw new Refusal('invalid_request', `'${provider}' is not a provider whose address is known here.`)
      const list = await ask(address, known?.protocol ?? 'openai', secret).catch((cause) => {
        throw new Refusal('upstream_failed', 'The provider could not be asked. Try again later.', { cause })
      })
      const refused = list.kind === 'refused' && (list.status === 401 || list.status === 403)
      return refused ? 'invalid' : 'active'
    },

    close: pools.close,
  }
}
