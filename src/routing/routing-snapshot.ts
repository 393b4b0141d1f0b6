// What is known of a project's routes, read once and kept for as long as its routing epoch stands still (R40, R52).

import { clusterStore, type ReportedCluster } from '../clusters/cluster-store.ts'
import type { Caller } from '../core/caller.ts'
import { inTurns, nextTurn } from '../core/turns.ts'
import { readSettings } from '../credentials/credential.ts'
import { aliasStore, type PointedRelease } from '../models/alias-store.ts'
import type { Boundary } from '../models/boundary.ts'
import { LARGE_BATCH_ROWS, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import { subscriptionStore } from '../subscriptions/subscription-store.ts'
import { type ClusterFacts, readingOf, servingOf, wasRestarted } from './byoc-targets.ts'
import type { CurrentRelease, Snapshot } from './choose-route.ts'
import type { CredentialFacts } from './credential-address.ts'
import type { Gateway } from './gateway.ts'
import type { ListedModels, Listing } from './listed-models.ts'
import { oneUnderWay } from './one-under-way.ts'

const PROJECTS_MAX = 10_000

export type Snapshots = ReturnType<typeof routingSnapshots>

export interface ClusterAddress extends Listing {
  endpoint: string
}

interface Needs {
  db: Db
  gateway: Gateway
  listed: ListedModels<ClusterAddress>
  /** A cluster was away, or was started anew. */
  onRestart(target_id: string): void
}

export function routingSnapshots({ db, gateway, listed, onRestart }: Needs) {
  const kept = new Map<string, { epoch: number; snapshot: Snapshot }>()
  /** R78: however many ask for it at once, it is read once; and of a project, whatever it reports, once at a time. */
  const readOnce = oneUnderWay<number, Snapshot>({
    make: read,
    serves: (begun_for, epoch) => begun_for >= epoch,
    newer: Math.max,
  })

  async function load(project_id: string): Promise<Snapshot> {
    const [releases, reported, credentials, subscriptions, [project]] = await Promise.all([
      aliasStore(db).currentReleases(project_id),
      clusterStore(db).listReported(project_id),
      credentialsOf(db, project_id),
      subscriptionStore(db).list(project_id),
      db.rows<ProjectRow>(sql`SELECT allowed_regions, boundary FROM project WHERE id = ${project_id}`),
    ])
    const served = await factsOfAll(reported)
    return {
      gateway,
      aliases: aliasesOf(gateway, releases),
      clusters: served.map(({ cluster }) => cluster),
      serving: await inTurns(servingOf(served)),
      credentials,
      subscriptions,
      allowed_regions: project?.allowed_regions ? JSON.parse(project.allowed_regions) : undefined,
      boundary: project?.boundary ?? 'own_first',
    }
  }

  /** R77: each may name a thousand models. Those that have to be asked for theirs are asked at the same time. */
  async function factsOfAll(reported: readonly ReportedCluster[]): Promise<Served[]> {
    const all: Promise<Served>[] = []
    for (const one of reported) {
      const facts = factsOf(one)
      facts.catch(() => {}) // until all are waited for
      if (all.push(facts) % LARGE_BATCH_ROWS === 0) await nextTurn()
    }
    return Promise.all(all)
  }

  async function factsOf(reported: ReportedCluster): Promise<Served> {
    const { cluster, telemetry } = reported
    const { id, name, region, status, orchestrator, endpoint, last_heartbeat_at } = cluster
    const facts = {
      id,
      name,
      region,
      status,
      orchestrator,
      endpoint,
      last_heartbeat_ms: last_heartbeat_at === null ? undefined : Date.parse(last_heartbeat_at),
      max_concurrency: telemetry?.capacity?.max_concurrency,
      protocols: telemetry?.protocols,
      has_picker: telemetry?.epp !== undefined,
      ...readingOf(telemetry),
    }
    return { cluster: facts, models: await modelsOf(reported) }
  }

  /** R52. R73: one that is away serves what it served last, so that its models do not silently go elsewhere. */
  async function modelsOf({ cluster, telemetry, served_models }: ReportedCluster): Promise<readonly string[]> {
    const { id, project_id, status, endpoint } = cluster
    const served = served_models ?? []
    if (status !== 'active') return served
    const reported = telemetry?.models?.map((model) => model.id)
    if (reported || endpoint === null) return reported ?? served
    const models = await listed.of({ id, owner: project_id, endpoint }, served_models)
    // Where it cannot be written now, the next to read it tries again.
    if (!areAlike(models, served))
      await clusterStore(db)
        .noteServed(project_id, id, models)
        .catch(() => {})
    return models
  }

  async function read(project_id: string, epoch: number): Promise<Snapshot> {
    const snapshot = await load(project_id)
    const before = new Map(kept.get(project_id)?.snapshot.clusters.map((cluster) => [cluster.id, cluster]))
    for (const cluster of snapshot.clusters) {
      const was = before.get(cluster.id)
      if (was && wasRestarted(was, cluster)) onRestart(`cluster:${cluster.id}`)
    }
    if (kept.size >= PROJECTS_MAX) kept.clear()
    // A write that happened while we read has raised the epoch: the next request will see that and read again.
    kept.set(project_id, { epoch, snapshot })
    return snapshot
  }

  return {
    /** At once where it is known: then it costs no promise. */
    of(caller: Caller): Snapshot | Promise<Snapshot> {
      const known = kept.get(caller.project_id)
      if (known?.epoch === caller.routing_epoch) return known.snapshot
      return readOnce(caller.project_id, caller.routing_epoch)
    },
  }
}

interface Served {
  cluster: ClusterFacts
  models: readonly string[]
}

type CredentialRow = Omit<CredentialFacts, 'settings'> & { settings: string | null } & Place

/** R77: each may have sixty kilobytes of settings, so others have turns in between. */
async function credentialsOf(db: Db, project_id: string): Promise<CredentialFacts[]> {
  const credentials: CredentialFacts[] = []
  const below = ({ sequence, id }: Place) =>
    db.rows<CredentialRow>(sql`
      SELECT id, provider, base_url, settings, status, refusals, sequence FROM provider_credential
      WHERE project_id = ${project_id} AND status <> 'revoked' AND (sequence, id) < (${sequence}, ${id})
      ORDER BY sequence DESC, id DESC LIMIT ${LARGE_BATCH_ROWS}`)
  for await (const rows of newestFirst(below, LARGE_BATCH_ROWS)) {
    credentials.push(...rows.map(credentialFrom))
    if (rows.length === LARGE_BATCH_ROWS) await nextTurn()
  }
  return credentials
}

const credentialFrom = ({ settings, sequence: _sequence, ...row }: CredentialRow): CredentialFacts => ({
  settings: readSettings(settings),
  ...row,
})

const areAlike = (one: readonly string[], other: readonly string[]) =>
  one === other || (one.length === other.length && one.every((id, at) => id === other[at]))

interface ProjectRow {
  allowed_regions: string | null
  boundary: Boundary
}

/** R83: the operator's, and over them the project's own. */
function aliasesOf({ aliases }: Gateway, releases: readonly PointedRelease[]) {
  const current = new Map<string, CurrentRelease>(aliases.map((alias) => [alias.name, alias]))
  for (const { alias_name, id: release_id, targets, boundary } of releases)
    current.set(alias_name, { release_id, targets, boundary })
  return current
}
