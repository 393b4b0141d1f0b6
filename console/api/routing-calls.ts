// /v2/aliases, /v2/alias-releases and /v2/route-explain as the pages use them, and where a target may point.
import type { Static } from 'typebox'
import type { Credential } from '../../src/credentials/credential.ts'
import type { RouteExplanation, RouteQuestion } from '../../src/generations/explain-routes.ts'
import type {
  Alias,
  AliasRelease,
  AliasTarget,
  DeletedAlias,
  NewAlias,
  NewAliasRelease,
} from '../../src/models/alias.ts'
import type { AliasActivation, ReleaseOutcome } from '../../src/models/alias-activation.ts'
import type { GatewayView } from '../../src/routing/gateway-routes.ts'
import { del, get, post } from './api-client.ts'
import { type Cluster, listClusters } from './cluster-calls.ts'
import { between, type Span } from './timeline-calls.ts'
import { asked } from './usage-calls.ts'

export type {
  Alias,
  AliasActivation,
  AliasRelease,
  AliasTarget,
  NewAlias,
  NewAliasRelease,
  ReleaseOutcome,
  RouteExplanation,
  RouteQuestion,
}

const ALIASES = '/v2/aliases'
const RELEASES = '/v2/alias-releases'
export const EXPLAIN_PATH = '/v2/route-explain'

export const listAliases = async (signal?: AbortSignal) => (await get<{ data: Alias[] }>(ALIASES, signal)).data

export const findAlias = (name: string, signal?: AbortSignal) => get<Alias>(pathOf(name), signal)

export const listReleases = async (name: string, signal?: AbortSignal) =>
  (await get<{ data: AliasRelease[] }>(`${pathOf(name)}/releases`, signal)).data

export const listActivations = async (name: string, signal?: AbortSignal) =>
  (await get<{ data: AliasActivation[] }>(`${pathOf(name)}/activations`, signal)).data

export const releaseOutcomes = async (name: string, signal?: AbortSignal) =>
  (await get<{ data: ReleaseOutcome[] }>(`${pathOf(name)}/outcomes`, signal)).data

export const activationsBetween = async (range: Omit<Span, 'step'>, signal?: AbortSignal) =>
  (await get<{ data: AliasActivation[] }>(`/v2/alias-activations?${asked(between(range))}`, signal)).data

export const createAlias = (body: NewAlias, idempotency_key: string) => post<Alias>(ALIASES, body, idempotency_key)

export const addRelease = (name: string, body: NewAliasRelease, idempotency_key: string) =>
  post<AliasRelease>(`${pathOf(name)}/releases`, body, idempotency_key)

export const activateRelease = (id: string, idempotency_key: string) =>
  post<Alias>(`${RELEASES}/${encodeURIComponent(id)}/activate`, {}, idempotency_key)

export const deleteAlias = (name: string) => del<Static<typeof DeletedAlias>>(pathOf(name))

export const explainRoute = (body: RouteQuestion) => post<RouteExplanation>(EXPLAIN_PATH, body)

/** A name may hold a slash, which an address may not. */
const pathOf = (name: string) => `${ALIASES}/${encodeURIComponent(name)}`

const known_releases = new Map<string, AliasRelease>()
const KNOWN_MAX = 2_000

/** Releases never change: each is asked for once. */
export async function findRelease(id: string, signal?: AbortSignal): Promise<AliasRelease> {
  const known = known_releases.get(id)
  if (known) return known
  const release = await get<AliasRelease>(`${RELEASES}/${encodeURIComponent(id)}`, signal)
  if (known_releases.size >= KNOWN_MAX) known_releases.clear()
  known_releases.set(id, release)
  return release
}

/** Everything that a target may point at. */
export interface Destinations {
  providers: GatewayView['providers']
  clusters: Cluster[]
  credentials: Credential[]
}

export async function listDestinations(signal?: AbortSignal): Promise<Destinations> {
  const [{ providers }, clusters, { data }] = await Promise.all([
    get<GatewayView>('/v2/gateway', signal),
    listClusters(signal),
    get<{ data: Credential[] }>('/v2/provider-credentials', signal),
  ])
  return { providers, clusters, credentials: data }
}
