// What other rooms ask of the operator's settings: which providers there are, where they are, and what they serve.
import type { AliasTarget, ProviderProblem } from '../models/alias.ts'
import { type Addressed, credentialAddress, wrongTerm } from './credential-address.ts'
import { type Gateway, isConfigured, knownProvider } from './gateway.ts'
import { modelAt } from './provider-targets.ts'

const NAMED_MAX = 20

export function servedPlaces(gateway: Gateway) {
  /** R53: without a gateway the placeholder stands in for whatever is known. */
  const standIns = () => [...new Set([...gateway.prices.values()].map(({ provider }) => provider))].sort()

  /** What a name must be that is no provider's here; undefined where it is one. */
  function wrongProvider(provider: string): string | undefined {
    const { providers } = gateway // they may be others since (R83)
    const ids = isConfigured(gateway) ? providers.map(({ id }) => id) : standIns()
    if (ids.includes(provider) || (!isConfigured(gateway) && knownProvider(provider))) return undefined
    return `must be a provider of this gateway: ${named(ids.map((id) => ({ id })))}`
  }

  return {
    /** Of the providers; of the placeholder where there are none. */
    get regions(): readonly string[] {
      return isConfigured(gateway) ? gateway.providers.map(({ region }) => region) : ['local']
    },

    regionOf: (credential: Addressed) => credentialAddress(credential, gateway)?.region,

    /** Why calls could not go where a credential says, if they could not. */
    wrongTerm: (credential: Parameters<typeof wrongTerm>[0]) => wrongTerm(credential, gateway),

    wrongProvider,

    /** What is wrong with a target that names a provider, if anything is. */
    providerProblem({ provider = '', model }: AliasTarget): ProviderProblem | undefined {
      const must = wrongProvider(provider)
      if (must !== undefined) return { field: 'provider', must }
      const settings = gateway.providers.find(({ id }) => id === provider)
      if (!settings || modelAt(settings, model, gateway.prices)) return undefined
      return { field: 'model', must: `must be a model that '${provider}' lists: ${named(settings.models)}` }
    },
  }
}

function named(all: readonly { id: string }[]): string {
  const names = all.slice(0, NAMED_MAX).map(({ id }) => `'${id}'`)
  return `${names.join(', ') || 'it lists none'}${all.length > names.length ? ', …' : ''}`
}
