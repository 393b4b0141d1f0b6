// What the operator's server is lent for its identity: kept for all models together, by a hash of what says who it is,
// and renewed before it ends (0349).
import { hash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { identityText, type OperatorsIdentity } from '../../credentials/operators-identity.ts'
import { UpstreamError } from '../provider.ts'
import { lentByAws } from './aws-identity.ts'
import { lentByEntra } from './entra-tokens.ts'
import type { PoolFor } from './identity-answers.ts'
import { type Lease, renewedLease } from './renewed-lease.ts'

const LEASES_MAX = 100 // settings that were replaced leave theirs behind

interface Needs {
  clock: Clock
  poolFor: PoolFor
}

export function identityLeases(needs: Needs) {
  const leases = new Map<string, Lease>()
  return (identity: OperatorsIdentity): Lease => {
    const name = hash('sha256', identityText(identity), 'hex')
    const lease = leases.get(name) ?? told(renewedLease(() => lent(identity, needs), needs.clock))
    leases.delete(name)
    leases.set(name, lease)
    const [oldest] = leases.keys()
    if (leases.size > LEASES_MAX && oldest !== undefined) leases.delete(oldest)
    return lease
  }
}

const lent = (identity: OperatorsIdentity, needs: Needs) =>
  identity.kind === 'entra' ? lentByEntra(identity, needs) : lentByAws(identity, needs.poolFor)

/** Without a proof nothing can be sent: another target is tried, and people are told why. */
const told = (lease: Lease): Lease => ({
  forget: lease.forget,
  async current() {
    try {
      return await lease.current()
    } catch (error) {
      const failure = new UpstreamError('connect', error)
      failure.said = () => (error instanceof Error ? error.message : undefined)
      throw failure
    }
  },
})
