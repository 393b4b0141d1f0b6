// From a target to a provider that can be called. Connections are kept by address, for as long as the process lives.
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Credential } from '../credentials/credential.ts'
import { type AddressPolicy, assertDialable, guardedLookup } from '../providers/address-policy.ts'
import { anthropic } from '../providers/anthropic/anthropic-provider.ts'
import type { ModelList } from '../providers/model-list.ts'
import { openaiCompatible } from '../providers/openai-compatible/openai-provider.ts'
import { placeholder } from '../providers/placeholder.ts'
import type { Provider } from '../providers/provider.ts'
import { openUpstream, type Upstream } from '../providers/upstream.ts'
import { KNOWN_PROVIDERS } from './gateway.ts'
import type { Dialling, Target } from './target.ts'

const UPSTREAMS_MAX = 1_000 // addresses that customers may name are without end
const ASK_WITHIN_MS = 3_000 // a question beside a request must not hold it up for long
const ASKING_CONNECTIONS = 4

interface Needs {
  policy: AddressPolicy
  clock: Clock
  secretOf(project_id: string, credential_id: string): Promise<string | undefined>
}

export type Dialer = ReturnType<typeof dialer>

type Address = Pick<Dialling, 'base_url' | 'customer_address' | 'max_concurrency'> & {
  timeouts?: Pick<Dialling['timeouts'], 'connect_ms'>
}

export function dialer({ policy, clock, secretOf }: Needs) {
  const upstreams = new Map<string, Upstream>()
  const managed = new WeakMap<Target, Provider>() // whose address and secret are the operator's, and stay
  const standIn = placeholder({ clock })
  const guarded = guardedLookup(policy)

  function upstreamFor({ base_url, customer_address, max_concurrency, timeouts }: Address): Upstream {
    const connect_ms = timeouts?.connect_ms
    const name = `${customer_address ? 'customer' : 'operator'} ${max_concurrency} ${connect_ms} ${base_url}`
    const known = upstreams.get(name)
    if (known) return known
    if (customer_address) assertDialable(base_url, policy)
    if (upstreams.size >= UPSTREAMS_MAX) retireOldest()
    const options = { connections: max_concurrency, ...(customer_address && { lookup: guarded }) }
    const opened = openUpstream(base_url, { ...options, ...(connect_ms !== undefined && { connect_ms }) })
    upstreams.set(name, opened)
    return opened
  }

  function retireOldest(): void {
    for (const [name, upstream] of upstreams) {
      if (!name.startsWith('customer')) continue
      upstreams.delete(name)
      upstream.retire()
      return
    }
  }

  async function keyFor({ dialling: { secret } }: Target, project_id: string): Promise<string | undefined> {
    if (secret.kind === 'configured') return secret.value
    return secret.kind === 'credential' ? secretOf(project_id, secret.id) : undefined
  }

  function opened({ dialling, max_output_tokens: max_tokens }: Target, api_key: string | undefined): Provider {
    const { protocol, base_url, responses_native: responses } = dialling
    const upstream = upstreamFor(dialling)
    if (protocol === 'anthropic') return anthropic({ upstream, api_key, clock, max_tokens })
    return openaiCompatible({ upstream, api_key, base_url, responses })
  }

  function ask(base_url: string, protocol: 'openai' | 'anthropic', api_key: string | undefined): Promise<ModelList> {
    const upstream = upstreamFor({ base_url, customer_address: true, max_concurrency: ASKING_CONNECTIONS })
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

    async close(): Promise<void> {
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()))
    },
  }
}
