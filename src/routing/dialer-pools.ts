// Connections to upstreams, in pools as separate as the slots of admission are: slow calls of one target use up nobody
// else's. The operator's pools are as many as the providers configured, and stay; those of customers come and go.
import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { type AddressPolicy, assertDialable, guardedLookup } from '../providers/address-policy.ts'
import { type ProxySettings, proxyFor } from '../providers/outbound-proxy.ts'
import { openUpstream, type Upstream } from '../providers/upstream.ts'

const PASSING_MAX = 1_000 // credentials and addresses of customers are without end
const UNUSED_MS = 10 * MINUTE_MS // beyond its connections, so that a TLS session can be taken up again

export interface PoolTerms {
  /** Whose calls share it: what slots are counted by. */
  owner: string
  stays: boolean
  base_url: string
  /** The address was given by a customer, so it is checked on every dial (R12). */
  customer_address: boolean
  connections: number
  connect_ms?: number | undefined
}

interface Needs {
  policy: AddressPolicy
  clock: Clock
  proxy?: ProxySettings | undefined
}

export function dialerPools({ policy, clock, proxy }: Needs) {
  const standing = new Map<string, { owner: string; upstream: Upstream }>()
  let former: Upstream[] = [] // of the settings before
  const passing = new Map<string, { upstream: Upstream; used_at: number }>() // the last one used comes last
  const guarded = guardedLookup(policy)

  function opened({ base_url, customer_address, connections, connect_ms }: PoolTerms): Upstream {
    if (customer_address) assertDialable(base_url, policy)
    return openUpstream(base_url, {
      connections,
      ...(connect_ms !== undefined && { connect_ms }),
      ...(customer_address && { lookup: guarded }),
      proxy: proxyFor(new URL(base_url), proxy),
    })
  }

  function standingPool(name: string, terms: PoolTerms): Upstream {
    const known = standing.get(name)
    if (known) return known.upstream
    const upstream = opened(terms)
    standing.set(name, { owner: terms.owner, upstream })
    return upstream
  }

  function passingPool(name: string, terms: PoolTerms): Upstream {
    const known = passing.get(name)
    const upstream = known?.upstream ?? opened(terms)
    passing.delete(name)
    passing.set(name, { upstream, used_at: clock.now() })
    if (!known) letGoUnused()
    return upstream
  }

  /** Those that nobody has asked for in a while; and where there are too many, those that waited longest. */
  function letGoUnused(): void {
    const unused_since = clock.now() - UNUSED_MS
    for (const [name, { upstream, used_at }] of passing) {
      if (used_at > unused_since && passing.size <= PASSING_MAX) return
      passing.delete(name)
      upstream.retire()
    }
  }

  return {
    poolFor(terms: PoolTerms): Upstream {
      const name = nameOf(terms)
      return terms.stays ? standingPool(name, terms) : passingPool(name, terms)
    },

    /** Of the pools that stay, those of these owners that nobody's terms ask for any more keep no connection. */
    retireUnused(owners: ReadonlySet<string>, wanted: readonly PoolTerms[]): void {
      const names = new Set(wanted.map(nameOf))
      for (const [name, { owner, upstream }] of standing) {
        if (!owners.has(owner) || names.has(name)) continue
        standing.delete(name)
        upstream.retire()
      }
    },

    /**
     * R83: the providers were read again. A call that waited meanwhile may still be dialled by the old ones, so they
     * are not closed; their connections are, once nobody has used them for a while.
     */
    renewStanding(): void {
      for (const upstream of former) upstream.retire()
      former = [...standing.values()].map(({ upstream }) => upstream)
      standing.clear()
    },

    /** How many there are. */
    size: () => standing.size + passing.size,

    async close(): Promise<void> {
      const open = [...standing.values(), ...passing.values()].map(({ upstream }) => upstream)
      await Promise.all([...former, ...open].map((upstream) => upstream.close()))
    },
  }
}

function nameOf({ owner, base_url, customer_address, connections, connect_ms }: PoolTerms): string {
  const whose = customer_address ? 'customer' : 'operator'
  return `${owner} ${whose} ${connections} ${connect_ms} ${base_url}`
}
