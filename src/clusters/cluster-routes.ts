// §4.5–4.8: /v2/byoc/clusters.
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import { forbiddenToReport } from '../keys/key-terms.ts'
import { Cluster, DeregisteredCluster, NewCluster, registerCluster } from './cluster.ts'
import { ClusterLoad, LoadQuery, loadRange } from './cluster-load.ts'
import { clusterStore, clustersPresent } from './cluster-store.ts'
import { ClusterTelemetry, Heartbeat, telemetryOf } from './cluster-telemetry.ts'
import { ClusterTransition } from './cluster-transition.ts'
import { loadStore } from './load-store.ts'
import { transitionStore } from './transition-store.ts'

const Params = Type.Object({ cluster_id: Type.String({ description: 'Begins `byc_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
// R3, R74: a data plane must not carry an admin key, and not every agent's key may speak for a cluster.
const report = {
  scope: 'inference',
  class: 'read',
  forbidden: (caller: Caller, params: unknown) =>
    forbiddenToReport(caller, (params as Static<typeof Params>).cluster_id),
} as const
const watch = { scope: 'read', class: 'read' } as const
const tags = ['BYOC clusters']

export const clusterRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
  app.post(
    '/v2/byoc/clusters',
    {
      config: { ...manage, adds: { kind: 'clusters', present: clustersPresent } },
      schema: { tags, summary: 'Register a cluster', body: NewCluster, response: { 200: Cluster } },
    },
    async ({ caller, body, db }) => {
      const cluster = registerCluster(caller.project_id, body, clock.now())
      await clusterStore(db).insert(cluster, clock.now())
      return cluster
    },
  )

  app.get(
    '/v2/byoc/clusters',
    { config: watch, schema: { tags, summary: 'List clusters, newest first', response: { 200: listOf(Cluster) } } },
    async ({ caller, db }, reply) => sendList(reply, clusterStore(db).list(caller.project_id), Cluster),
  )

  app.get(
    '/v2/byoc/clusters/:cluster_id',
    { config: watch, schema: { tags, summary: 'Retrieve a cluster', params: Params, response: { 200: Cluster } } },
    async ({ caller, params, db }) =>
      found(await clusterStore(db).find(caller.project_id, params.cluster_id), 'cluster', params.cluster_id),
  )

  app.post(
    '/v2/byoc/clusters/:cluster_id/heartbeat',
    {
      config: report,
      schema: {
        tags,
        summary: 'Report health',
        description:
          'Needs the `admin` scope, a key whose `allowed_clusters` names the cluster, or an `inference` key that is ' +
          'no child and is bound to no time, models or networks.',
        params: Params,
        body: Heartbeat,
        response: { 200: Cluster },
      },
    },
    async ({ caller, params, body, db }) => {
      const { cluster_id } = params
      const report = { status: body.status, telemetry: telemetryOf(body, clock.now()) }
      const cluster = await clusterStore(db).recordHeartbeat(caller.project_id, cluster_id, report, clock.now())
      return found(cluster, 'cluster', cluster_id)
    },
  )

  app.get(
    '/v2/byoc/clusters/:cluster_id/telemetry',
    {
      config: watch,
      schema: { tags, summary: 'What a cluster last told', params: Params, response: { 200: ClusterTelemetry } },
    },
    async ({ caller, params, db }) => {
      const { cluster_id: id } = params
      const { telemetry } = found(await clusterStore(db).findTelemetry(caller.project_id, id), 'cluster', id)
      return { reported_at: null, ...telemetry, id, object: 'byoc_cluster.telemetry' as const }
    },
  )

  app.get(
    '/v2/byoc/clusters/:cluster_id/transitions',
    {
      config: watch,
      schema: {
        tags,
        summary: 'How a cluster’s status changed in the last day, newest first',
        description: 'Those of a deregistered cluster can be read for a day.',
        params: Params,
        response: { 200: listOf(ClusterTransition) },
      },
    },
    async ({ caller, params: { cluster_id }, db }, reply) => {
      const transitions = transitionStore(db)
      const known = (await transitions.isKnown(caller.project_id, cluster_id, clock.now())) || undefined
      found(known, 'cluster', cluster_id)
      return sendList(reply, transitions.list(caller.project_id, cluster_id, clock.now()), ClusterTransition)
    },
  )

  app.get(
    '/v2/byoc/clusters/:cluster_id/load',
    {
      config: watch,
      schema: {
        tags,
        summary: 'How loaded a cluster was, the oldest first',
        description: 'The highest that its heartbeats told in each five minutes, of the last seven days.',
        params: Params,
        querystring: LoadQuery,
        response: { 200: listOf(ClusterLoad) },
      },
    },
    async ({ caller, params: { cluster_id }, query, db }) => {
      const range = loadRange(query, clock.now())
      found(await clusterStore(db).find(caller.project_id, cluster_id), 'cluster', cluster_id)
      return list(await loadStore(db).list(caller.project_id, cluster_id, range))
    },
  )

  app.delete(
    '/v2/byoc/clusters/:cluster_id',
    {
      config: manage,
      schema: { tags, summary: 'Deregister a cluster', params: Params, response: { 200: DeregisteredCluster } },
    },
    async ({ caller, params, db }) => {
      const { cluster_id } = params
      const removed = await clusterStore(db).remove(caller.project_id, cluster_id, clock.now())
      found(removed || undefined, 'cluster', cluster_id)
      return { id: cluster_id, object: 'byoc_cluster.deregistered' as const, deleted: true as const }
    },
  )
}
