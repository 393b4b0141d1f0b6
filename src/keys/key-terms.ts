// What a key may be bound to beyond its scopes: until when (R60), for which models (R62), from which addresses (R63),
// and which clusters it reports for (R74).
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { type Address, isIn, parseCidr } from '../core/ip-address.ts'
import { Refusal } from '../core/refusal.ts'
import { allows } from '../core/scopes.ts'
import { LABEL_MAX, orNull, storable } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import { MaxParallelRequests } from '../limits/policy.ts'

const ENTRIES_MAX = 100
const CIDR_MAX = 49 // the longest spelling of an IPv6 address, and its bits

export const AllowedModels = Type.Array(Type.String({ minLength: 1, maxLength: LABEL_MAX }), {
  minItems: 1,
  maxItems: ENTRIES_MAX,
  description: 'The only models that the key may name: ids and aliases; `gpt-4o*` stands for all ids that begin so.',
})

export const AllowedCidrs = Type.Array(Type.String({ minLength: 1, maxLength: CIDR_MAX }), {
  minItems: 1,
  maxItems: ENTRIES_MAX,
  description: 'The only networks that the key works from, such as `203.0.113.0/24`.',
})

const CLUSTER_ID = /^byc_[0-9A-Za-z]{1,60}$/

export const AllowedClusters = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  minItems: 1,
  maxItems: ENTRIES_MAX,
  description: 'The only clusters that the key may send heartbeats for, by id. Says nothing of where calls may go.',
})

export const ClampOutput = Type.Boolean({
  description:
    'Where a budget does not buy the output that a call allows, the call gets what it does buy, and is told ' +
    '(`Agent-Output-Clamped`), in the place of 429. Else only calls that set no limit are shortened.',
})

const ExpiresAt = Type.String({ description: 'RFC 3339, in the future: from then on the key is as good as unknown.' })

/** As a body may say them; null for none. */
export const KeyTerms = Type.Object({
  expires_at: Type.Optional(orNull(ExpiresAt)),
  allowed_models: Type.Optional(orNull(AllowedModels)),
  allowed_cidrs: Type.Optional(orNull(AllowedCidrs)),
  allowed_clusters: Type.Optional(orNull(AllowedClusters)),
  clamp_output: Type.Optional(orNull(ClampOutput)),
  max_parallel_requests: Type.Optional(orNull(MaxParallelRequests)),
})
export type KeyTerms = Static<typeof KeyTerms>

/** As they are kept: checked, null to clear, undefined to leave as it is. */
export interface CheckedTerms {
  expires_at: number | null | undefined
  allowed_models: readonly string[] | null | undefined
  allowed_cidrs: readonly string[] | null | undefined
  allowed_clusters: readonly string[] | null | undefined
  clamp_output: boolean | null | undefined
  max_parallel_requests: number | null | undefined
}

export function checkedTerms(terms: KeyTerms, now: number): CheckedTerms {
  const { expires_at, allowed_models, allowed_cidrs, allowed_clusters, clamp_output, max_parallel_requests } = terms
  return {
    expires_at: ifGiven(expires_at, (text) => expiry(text, now)),
    allowed_models: ifGiven(allowed_models, modelNames),
    allowed_cidrs: ifGiven(allowed_cidrs, networks),
    allowed_clusters: ifGiven(allowed_clusters, clusters),
    clamp_output,
    max_parallel_requests,
  }
}

const ifGiven = <T, R>(value: T | null | undefined, read: (value: T) => R): R | null | undefined =>
  value === undefined || value === null ? (value as null | undefined) : read(value)

function expiry(text: string, now: number): number {
  const time_ms = instant('expires_at', text)
  if (time_ms <= now) throw new Refusal('invalid_request', "'expires_at' must be in the future.")
  return time_ms
}

export function modelNames(names: readonly string[]): readonly string[] {
  for (const name of names)
    if (storable('allowed_models', name).slice(0, -1).includes('*'))
      throw new Refusal('invalid_request', "'allowed_models' may have a '*' only at the end of a name.")
  return [...new Set(names)]
}

function networks(cidrs: readonly string[]): readonly string[] {
  for (const cidr of cidrs)
    if (!parseCidr(cidr))
      throw new Refusal('invalid_request', "'allowed_cidrs' must list CIDRs such as 10.0.0.0/8 or 192.0.2.7/32.")
  return [...new Set(cidrs)]
}

function clusters(ids: readonly string[]): readonly string[] {
  for (const id of ids)
    if (!CLUSTER_ID.test(id))
      throw new Refusal('invalid_request', "'allowed_clusters' must list ids of clusters: byc_….")
  return [...new Set(ids)]
}

/**
 * R74: a heartbeat can send everybody's calls somewhere else. A key that is bound to clusters reports for those; any
 * other needs `admin`, or must be an `inference` key that nothing at all is bound to: no term, no parent, no person.
 */
export function forbiddenToReport(caller: Caller, cluster_id: string): Refusal | undefined {
  const { scopes, allowed_clusters, has_terms, person_id } = caller
  if (allowed_clusters) {
    if (allowed_clusters.every((list) => list.includes(cluster_id))) return undefined
    return new Refusal('insufficient_scope', "This API key reports for other clusters: see its 'allowed_clusters'.")
  }
  if (allows(scopes, 'admin') || !(has_terms || person_id !== undefined)) return undefined
  return new Refusal(
    'insufficient_scope',
    "A heartbeat needs the 'admin' scope, a key whose 'allowed_clusters' names the cluster, or an 'inference' key " +
      'that is no child and has no terms.',
  )
}

/** A key's own list, and that of its parent: a request must pass each of them. */
export type Lists = readonly (readonly string[])[]

/**
 * R62: what is asked for must be on the list, by its whole name or, where it is no alias, by its beginning. An alias
 * may lead anywhere, so only its own name lets it pass: none that is made later slips in under a '*'.
 */
export function mayNameModel(lists: Lists | undefined, model: string, is_alias: boolean): boolean {
  return lists?.every((list) => list.some((entry) => entry === model || (!is_alias && covers(entry, model)))) ?? true
}

/** R62: in the same words where it is not there, and where this key may not name it. */
export const unknownModel = (model: string, { allowed_models }: Pick<Caller, 'allowed_models'>) =>
  new Refusal(
    'model_not_found',
    `There is no model '${model}' here${allowed_models ? ', or this API key may not use it' : ''}.`,
  )

/** Whether whatever the second may name, the first may too. */
export const isWithin = (list: readonly string[], narrower: readonly string[]) =>
  narrower.every((one) => list.some((entry) => entry === one || covers(entry, one)))

const covers = (entry: string, name: string) => entry.endsWith('*') && name.startsWith(entry.slice(0, -1))

/** R63: an address that nobody knows is in no network. */
export function isFromAllowed(lists: Lists | undefined, from: () => Address | undefined): boolean {
  if (!lists) return true
  const address = from()
  return address !== undefined && lists.every((list) => list.some((cidr) => isInNetwork(address, cidr)))
}

function isInNetwork(address: Address, cidr: string): boolean {
  const network = parseCidr(cidr)
  return network !== undefined && isIn(address, network)
}
