// Clusters and aliases as pages show them, put straight into the store with the service's own rules.

import { registerCluster } from '../../src/clusters/cluster.ts'
import { sampleOf } from '../../src/clusters/cluster-load.ts'
import { clusterStore } from '../../src/clusters/cluster-store.ts'
import { telemetryOf } from '../../src/clusters/cluster-telemetry.ts'
import { loadStore } from '../../src/clusters/load-store.ts'
import { HOUR_MS, MINUTE_MS, rfc3339, systemClock } from '../../src/core/clock.ts'
import { type AliasTarget, foundAlias, releaseOf } from '../../src/models/alias.ts'
import { aliasStore } from '../../src/models/alias-store.ts'
import type { Db } from '../../src/storage/db.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { allOf } from '../support/batches.ts'
import { usageEvent } from '../support/usage-events.ts'

const now = () => systemClock.now()

const heartbeat = (models: readonly string[], busy: number) => ({
  models: models.map((id) => ({ id, context_length: 131_072, replicas_ready: 2 })),
  capacity: { replicas_ready: 2, replicas_desired: 2, max_concurrency: 256, gpu_type: 'h100_sxm', gpu_count: 8 },
  load: {
    running: Math.round(busy * 64),
    waiting: busy > 0.8 ? 11 : 0,
    kv_utilization: busy,
    prefix_cache_hit_rate: 0.62,
    external_prefix_cache_hit_rate: 0.24,
    ttft_p50_ms: 180 + busy * 100,
    ttft_p95_ms: 420 + busy * 400,
    itl_p50_ms: 14.2,
    prefill_tokens_per_s: 41_000,
    preemptions: 3,
  },
  cache_tiers: [
    { name: 'host_ram', capacity_bytes: 512e9, used_bytes: 402e9, hit_rate: 0.31, lookup_ms: 0.4 },
    { name: 'local_nvme', capacity_bytes: 7.6e12, used_bytes: 2.1e12, hit_rate: 0.12 },
  ],
})

interface SeededCluster {
  name: string
  region?: string
  endpoint?: string
  models?: readonly string[]
  busy?: number
  /** What it reported, oldest first. Without any it is still registering. */
  reports?: readonly (readonly ['active' | 'draining' | 'down', number])[]
}

/** Returns their ids, in the order given. */
export async function seedClusters(db: Db, project_id: string, clusters: readonly SeededCluster[]): Promise<string[]> {
  const ids: string[] = []
  for (const { name, region = 'eu-west-1', endpoint, models = [], busy = 0.4, reports = [] } of clusters) {
    const registered_ms = now() - (reports[0]?.[1] ?? 0) - MINUTE_MS
    const asked = { name, region, ...(endpoint !== undefined && { endpoint }) }
    const cluster = registerCluster(project_id, asked, registered_ms)
    await clusterStore(db).insert(cluster, registered_ms)
    for (const [status, ms_ago] of reports) {
      const at = now() - ms_ago
      await clusterStore(db).recordHeartbeat(
        project_id,
        cluster.id,
        { status, telemetry: telemetryOf(heartbeat(models, busy), at) },
        at,
      )
    }
    ids.push(cluster.id)
  }
  return ids
}

/** A day of load, by five minutes, with a night and an hour in which it was away. */
async function seedLoad(db: Db, project_id: string, cluster_id: string): Promise<void> {
  await db.transaction(async (tx) => {
    for (let step = 0; step < 288; step++) {
      if (step > 118 && step < 130) continue
      const busy = 0.5 + 0.4 * Math.sin(step / 40)
      const at = now() - step * 5 * MINUTE_MS
      const sample = sampleOf(telemetryOf(heartbeat([], busy), at), at)
      if (sample) await loadStore(tx).note(project_id, cluster_id, sample)
    }
  })
}

/** Four clusters in four states, as a small fleet looks on an ordinary day; the last with its load. */
export async function seedFleet(db: Db, project_id: string): Promise<string[]> {
  const ids = await seedClusters(db, project_id, FLEET)
  await seedLoad(db, project_id, ids.at(-1) ?? '')
  return ids
}

const FLEET: readonly SeededCluster[] = [
  { name: 'orion', region: 'us-east-1' },
  {
    name: 'vega',
    region: 'us-east-1',
    endpoint: 'https://vega.example.com/v1',
    models: ['qwen3-32b'],
    reports: [
      ['active', 30 * HOUR_MS],
      ['down', 0.7 * HOUR_MS],
    ],
  },
  {
    name: 'lyra-canary',
    endpoint: 'https://lyra.example.com/v1',
    models: ['gpt-oss-120b', 'qwen3-32b'],
    busy: 0.93,
    reports: [
      ['active', 9 * HOUR_MS],
      ['draining', 4_000],
      ['draining', -HOUR_MS], // ahead of time, so that the service's own sweep leaves it as it is
    ],
  },
  {
    name: 'atlas',
    endpoint: 'https://atlas.example.com/v1',
    models: ['llama-3.3-70b', 'qwen3-32b', 'deepseek-r1', 'kimi-k2', 'gpt-oss-120b'],
    busy: 0.58,
    reports: [
      ['active', 50 * HOUR_MS],
      ['down', 14 * HOUR_MS],
      ['active', 13.2 * HOUR_MS],
      ['active', -HOUR_MS],
    ],
  },
]

/** An alias with its releases, oldest first; `active`: which of them, counted from 1, were activated one after another. */
export async function seedAlias(
  db: Db,
  project_id: string,
  { name, releases, active = [] }: { name: string; releases: readonly AliasTarget[][]; active?: readonly number[] },
): Promise<void> {
  const [first = [], ...others] = releases
  const made_ms = now() - (active.length + 1) * 9 * HOUR_MS
  const founded = foundAlias(project_id, { name, targets: first }, made_ms)
  await aliasStore(db).insert(founded, made_ms)
  for (const targets of others) await aliasStore(db).addRelease(releaseOf(founded.alias, { targets }, now()), now())
  const made = await allOf(aliasStore(db).listReleases(founded.alias))
  for (const [at, wanted] of active.entries()) {
    const release = made.find(({ version }) => version === wanted)
    const at_ms = now() - (active.length - at) * 9 * HOUR_MS
    if (!release) continue
    await aliasStore(db).activate(release, at_ms)
    for (let call = 0; call < 12; call++)
      await usageStore(db).insert(
        usageEvent(project_id, {
          created_at: rfc3339(at_ms + call * 40 * MINUTE_MS),
          alias_release_id: release.id,
          requested_model: name,
          status: call < at ? 'failed' : 'completed',
          ttft_ms: 180 + 100 * at + 11 * call,
          charged_micros: 9_000 * (at + 1),
        }),
      )
  }
}

/** A model on a cluster of one's own, a canary beside it, and a provider behind both. */
export async function seedRouting(db: Db, project_id: string, cluster_id: string): Promise<void> {
  await seedAlias(db, project_id, {
    name: 'embed',
    releases: [[{ provider: 'openai', model: 'text-embedding-3-small', weight: 1 }]],
  })
  await seedAlias(db, project_id, {
    name: 'research/long',
    releases: [
      [{ provider: 'openai', model: 'gpt-4o', weight: 1 }],
      [
        { cluster_id, model: 'llama-3.3-70b', weight: 90 },
        { provider: 'openai', model: 'gpt-4o', weight: 10 },
      ],
      [{ cluster_id, model: 'deepseek-r1', weight: 1 }],
    ],
    active: [3, 2],
  })
}
