// A place that could take a call, and what is against it: an own cluster, an own credential, a provider.
import type { AliasTarget } from '../models/alias.ts'
import { type ClusterFacts, clusterTarget, isSuspect, reasonAgainstCluster } from './byoc-targets.ts'
import type { CredentialFacts } from './credential-address.ts'
import type { Gateway } from './gateway.ts'
import type { Reach } from './own-capacity.ts'
import {
  credentialTarget,
  managedTarget,
  modelAt,
  placeholderTargets,
  reasonAgainstCredential,
} from './provider-targets.ts'
import type { Dropped, Target } from './target.ts'

/** A place that could take the call, with what is against it where something is. */
export interface Candidate {
  id: string
  reach: Reach
  /** What the call would be for, as own capacity names it. */
  model: string
  /** Undefined where there is no such place any more. */
  target: Target | undefined
  against: Against | undefined
  /** It comes after all others: a cluster that has fallen silent. */
  is_last: boolean
  /** Of clusters with the same here, the owner has no preference: their caches decide. */
  alike: string | undefined
}

export type Against = Omit<Dropped, 'target'>

/** What a project has that an alias can point at. */
interface Places {
  gateway: Gateway
  clusters: readonly ClusterFacts[]
  credentials: readonly CredentialFacts[]
}

export function candidateOf(wanted: AliasTarget, places: Places, now: number): Candidate {
  const { cluster_id, credential_id, model } = wanted
  const { gateway, clusters, credentials } = places
  if (cluster_id !== undefined) {
    const cluster = clusters.find((one) => one.id === cluster_id)
    if (cluster) return ofCluster(cluster, { model, gateway, now })
    return gone('cluster', `cluster:${cluster_id}`, model, 'the cluster is not registered any more')
  }
  if (credential_id !== undefined) {
    const credential = credentials.find((one) => one.id === credential_id)
    if (credential) return ofCredential(credential, model, gateway)
    return gone('credential', `credential:${credential_id}`, model, 'the credential was revoked')
  }
  return ofProvider(wanted.provider ?? '', model, gateway)
}

const gone = (reach: Reach, id: string, model: string, reason: string): Candidate => ({
  id,
  reach,
  model,
  target: undefined,
  against: { kind: 'now', reason },
  is_last: false,
  alike: undefined,
})

function ofProvider(id: string, model: string, gateway: Gateway): Candidate {
  const [stand_in] = placeholderTargets(gateway, model)
  if (stand_in) return elsewhere(stand_in, model)
  const settings = gateway.providers.find((one) => one.id === id)
  if (!settings) return gone('elsewhere', `provider:${id}`, model, 'there is no such provider any more')
  const entry = modelAt(settings, model, gateway.prices)
  if (!entry) return gone('elsewhere', `provider:${id}`, model, `it does not list '${model}' any more`)
  return elsewhere(managedTarget(settings, entry), model)
}

const passing = (reason: string | undefined): Against | undefined =>
  reason === undefined ? undefined : { kind: 'now', reason }

/** A model at one of the project's clusters, now. */
interface At {
  model: string
  gateway: Gateway
  now: number
}

export const ofCluster = (cluster: ClusterFacts, { model, gateway, now }: At): Candidate => ({
  id: `cluster:${cluster.id}`,
  reach: 'cluster',
  model,
  target: clusterTarget(cluster, model, gateway),
  against: passing(reasonAgainstCluster(cluster)),
  is_last: isSuspect(cluster, now),
  alike: undefined,
})

const NO_ADDRESS = 'it has no base_url, and no address of its provider is known'

export function ofCredential(credential: CredentialFacts, model: string, gateway: Gateway): Candidate {
  const target = credentialTarget(credential, gateway, model)
  const against = passing(target ? reasonAgainstCredential(credential) : NO_ADDRESS)
  return {
    id: `credential:${credential.id}`,
    reach: 'credential',
    model,
    target,
    against,
    is_last: false,
    alike: undefined,
  }
}

export const elsewhere = (target: Target, model: string, against?: Against): Candidate => ({
  id: target.id,
  reach: 'elsewhere',
  model,
  target,
  against,
  is_last: false,
  alike: undefined,
})
