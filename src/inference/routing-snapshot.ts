// What is known of a project's routes, read once and kept for as long as its routing epoch stands still (R40, R52).

import type { Cluster } from '../clusters/cluster.ts'
import { clusterStore } from '../clusters/cluster-store.ts'
import type { Telemetry } from '../clusters/cluster-telemetry.ts'
import type { Caller } from '../core/caller.ts'
import { aliasStore } from '../models/alias-store.ts'
import { type Db, sql } from '../storage/db.ts'
import { subscriptionStore } from '../subscriptions/subscription-store.ts'
import type { ClusterFacts } from './byoc-targets.ts'
import type { Snapshot } from './choose-route.ts'
import type { Gateway } from './gateway.ts'
import type { ListedModels } from './listed-models.ts'
import type { CredentialFacts } from './provider-targets.ts'

const PROJECTS_MAX = 10_000

export type Snapshots = ReturnType<typeof routingSnapshots>

interface Needs {
  db: Db
  gateway: Gateway
  listed: ListedModels
}

export function routingSnapshots({ db, gateway, listed }: Needs) {
  const kept = new Map<string, { epoch: number; snapshot: Snapshot }>()

  async function load({ project_id }: Caller): Promise<Snapshot> {
    const [releases, reported, credentials, subscriptions, [project]] = await Promise.all([
      aliasStore(db).currentReleases(project_id),
      clusterStore(db).listReported(project_id),
      db.rows<CredentialFacts>(sql`
        SELECT id, provider, base_url FROM provider_credential
        WHERE project_id = ${project_id} AND status = 'active' ORDER BY sequence DESC`),
      subscriptionStore(db).list(project_id),
      db.rows<{ allowed_regions: string | null }>(sql`SELECT allowed_regions FROM project WHERE id = ${project_id}`),
    ])
    return {
      gateway,
      aliases: new Map(releases.map(({ id, alias_name, targets }) => [alias_name, { release_id: id, targets }])),
      clusters: await Promise.all(reported.map(async ({ cluster, telemetry }) => factsOf(cluster, telemetry, listed))),
      credentials,
      subscriptions,
      allowed_regions: project?.allowed_regions ? JSON.parse(project.allowed_regions) : undefined,
    }
  }

  return {
    async of(caller: Caller): Promise<Snapshot> {
      const { project_id, routing_epoch } = caller
      const known = kept.get(project_id)
      if (known?.epoch === routing_epoch) return known.snapshot
      const snapshot = await load(caller)
      if (kept.size >= PROJECTS_MAX) kept.clear()
      // A write that happened while we read has raised the epoch: the next request will see that and read again.
      kept.set(project_id, { epoch: routing_epoch, snapshot })
      return snapshot
    },
  }
}

async function factsOf(
  cluster: Cluster,
  telemetry: Telemetry | undefined,
  listed: ListedModels,
): Promise<ClusterFacts> {
  const { id, name, region, status, orchestrator, endpoint, last_heartbeat_at } = cluster
  const reported = telemetry?.models?.map((model) => model.id)
  return {
    id,
    name,
    region,
    status,
    orchestrator,
    endpoint,
    last_heartbeat_ms: last_heartbeat_at === null ? undefined : Date.parse(last_heartbeat_at),
    models: reported ?? (status === 'active' && endpoint !== null ? await listed.of(endpoint) : []),
    max_concurrency: telemetry?.capacity?.max_concurrency,
    has_picker: telemetry?.epp !== undefined,
  }
}
