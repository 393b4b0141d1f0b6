// /v2/byoc/clusters as the pages use it.
import type { Static } from 'typebox'
import type { Cluster, DeregisteredCluster, NewCluster } from '../../src/clusters/cluster.ts'
import type { ClusterLoad } from '../../src/clusters/cluster-load.ts'
import type { ClusterTelemetry } from '../../src/clusters/cluster-telemetry.ts'
import type { ClusterTransition } from '../../src/clusters/cluster-transition.ts'
import { del, get, post } from './api-client.ts'

export type { Cluster, ClusterLoad, ClusterTelemetry, ClusterTransition, NewCluster }

const CLUSTERS = '/v2/byoc/clusters'

export const listClusters = async (signal?: AbortSignal) => (await get<{ data: Cluster[] }>(CLUSTERS, signal)).data

export const findCluster = (id: string, signal?: AbortSignal) => get<Cluster>(pathOf(id), signal)

export const clusterTelemetry = (id: string, signal?: AbortSignal) =>
  get<ClusterTelemetry>(`${pathOf(id)}/telemetry`, signal)

export const clusterTransitions = async (id: string, signal?: AbortSignal) =>
  (await get<{ data: ClusterTransition[] }>(`${pathOf(id)}/transitions`, signal)).data

/** The highest of each five minutes. */
export const clusterLoad = async (id: string, from: string, signal?: AbortSignal) =>
  (await get<{ data: ClusterLoad[] }>(`${pathOf(id)}/load?${new URLSearchParams({ from })}`, signal)).data

export const registerCluster = (body: NewCluster, idempotency_key: string) =>
  post<Cluster>(CLUSTERS, body, idempotency_key)

export const deregisterCluster = (id: string) => del<Static<typeof DeregisteredCluster>>(pathOf(id))

const pathOf = (id: string) => `${CLUSTERS}/${encodeURIComponent(id)}`
