// `switchyard cluster`: §4.5–4.8 over HTTP.
import { type Command, Option } from 'commander'
import type { Autoscaling, Cluster, NewCluster, ReportedStatus } from '../../src/clusters/cluster.ts'
import type { ClusterLoad } from '../../src/clusters/cluster-load.ts'
import { idOf, type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { card, table, when } from '../table.ts'

const STATUSES = ['active', 'draining', 'down'] as const satisfies readonly ReportedStatus[]
// §4.5: the service takes the envelope whole or not at all, so what is not given is filled in with its own defaults.
const AUTOSCALING: Autoscaling = { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 }

interface Registration extends Printing {
  name: string
  region: string
  runtime?: string
  kvCache?: string
  orchestrator?: string
  endpoint?: string
  minReplicas?: number
  maxReplicas?: number
  targetTtftMs?: number
}

export function addCluster(program: Command): void {
  const cluster = program.command('cluster').description('BYOC clusters of the project that SWITCHYARD_KEY belongs to')

  const registering = withJson(cluster.command('register'))
    .description('register a cluster')
    .requiredOption('--name <text>', 'what people call it')
    .requiredOption('--region <text>', 'where it runs')
    .option('--runtime <text>', 'runtime lane (default: vllm)')
    .option('--kv-cache <text>', 'KV-cache layer (default: lmcache)')
    .option('--orchestrator <text>', 'orchestrator (default: llm-d)')
    .option('--endpoint <url>', 'http or https address of the data plane')
    .option('--min-replicas <n>', `autoscale no lower (default: ${AUTOSCALING.min_replicas})`, wholeNumber)
    .option('--max-replicas <n>', `autoscale no higher (default: ${AUTOSCALING.max_replicas})`, wholeNumber)
    .option(
      '--target-ttft-ms <ms>',
      `time to first token to hold (default: ${AUTOSCALING.target_ttft_ms})`,
      wholeNumber,
    )
    .action(register)
  withExample(
    registering,
    'switchyard cluster register --name atlas --region eu-west-1 --endpoint https://atlas.example.com/v1 --max-replicas 8',
  )

  const listing = withJson(cluster.command('list')).description('list all clusters, newest first').action(list)
  withExample(listing, 'switchyard cluster list')

  const showing = withJson(cluster.command('show'))
    .description('show a cluster')
    .argument('<id>', 'begins byc_', idOf('byc'))
    .action(show)
  withExample(showing, 'switchyard cluster show byc_1b2c3d4e5f6g7h8i9j0k')

  const loaded = withJson(cluster.command('load'))
    .description(
      'show how loaded a cluster was: the highest of each five minutes, for the last day unless said otherwise',
    )
    .argument('<id>', 'begins byc_', idOf('byc'))
    .option('--from <time>', 'from this RFC 3339 time on; at most seven days are kept')
    .option('--to <time>', 'before this RFC 3339 time')
    .action(load)
  withExample(loaded, 'switchyard cluster load byc_1b2c3d4e5f6g7h8i9j0k --from 2026-11-16T00:00:00Z')

  const beating = withJson(cluster.command('heartbeat'))
    .description('report the status of a cluster; after 90 s without a report it is down')
    .argument('<id>', 'begins byc_', idOf('byc'))
    .addOption(new Option('--status <status>', 'how it is').choices(STATUSES).makeOptionMandatory())
    .action(heartbeat)
  withExample(beating, 'switchyard cluster heartbeat byc_1b2c3d4e5f6g7h8i9j0k --status active')

  const leaving = withJson(cluster.command('deregister'))
    .description('deregister a cluster')
    .argument('<id>', 'begins byc_', idOf('byc'))
    .action(deregister)
  withExample(leaving, 'switchyard cluster deregister byc_1b2c3d4e5f6g7h8i9j0k')
}

async function register(asked: Registration): Promise<void> {
  const { body, text } = await service().post<Cluster>('/v2/byoc/clusters', newCluster(asked))
  print(asked.json ? text : describe(body))
}

function newCluster(asked: Registration): NewCluster {
  const { name, region, runtime, kvCache, orchestrator, endpoint, minReplicas, maxReplicas, targetTtftMs } = asked
  const scaled = minReplicas !== undefined || maxReplicas !== undefined || targetTtftMs !== undefined
  return {
    name,
    region,
    ...(runtime !== undefined && { runtime }),
    ...(kvCache !== undefined && { kv_cache: kvCache }),
    ...(orchestrator !== undefined && { orchestrator }),
    ...(endpoint !== undefined && { endpoint }),
    ...(scaled && {
      autoscaling: {
        min_replicas: minReplicas ?? AUTOSCALING.min_replicas,
        max_replicas: maxReplicas ?? AUTOSCALING.max_replicas,
        target_ttft_ms: targetTtftMs ?? AUTOSCALING.target_ttft_ms,
      },
    }),
  }
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: Cluster[] }>('/v2/byoc/clusters')
  if (json) return print(text)
  const rows = body.data.map((cluster) => [
    cluster.id,
    cluster.name,
    cluster.region,
    cluster.status,
    cluster.runtime,
    replicasOf(cluster),
    when(cluster.last_heartbeat_at),
    cluster.endpoint ?? '-',
  ])
  print(table(['ID', 'NAME', 'REGION', 'STATUS', 'RUNTIME', 'REPLICAS', 'LAST HEARTBEAT', 'ENDPOINT'], rows))
}

async function show(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<Cluster>(`/v2/byoc/clusters/${id}`)
  print(json ? text : describe(body))
}

async function load(id: string, { json, from, to }: Printing & { from?: string; to?: string }): Promise<void> {
  const asked = new URLSearchParams({ ...(from !== undefined && { from }), ...(to !== undefined && { to }) })
  const { body, text } = await service().get<{ data: ClusterLoad[] }>(`/v2/byoc/clusters/${id}/load?${asked}`)
  if (json) return print(text)
  const shown = (figure: number | null) => (figure === null ? '-' : String(figure))
  const rows = body.data.map(({ start, running, waiting, kv_utilization, ttft_p95_ms }) => [
    when(start),
    shown(running),
    shown(waiting),
    shown(kv_utilization === null ? null : Math.round(kv_utilization * 100)),
    shown(ttft_p95_ms),
  ])
  print(table(['FROM', 'RUNNING', 'WAITING', 'KV CACHE %', 'FIRST TOKEN P95 MS'], rows))
}

async function heartbeat(id: string, { status, json }: Printing & { status: ReportedStatus }): Promise<void> {
  const { body, text } = await service().post<Cluster>(`/v2/byoc/clusters/${id}/heartbeat`, { status })
  print(json ? text : describe(body))
}

async function deregister(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().delete<{ id: string }>(`/v2/byoc/clusters/${id}`)
  print(json ? text : `Deregistered ${body.id}.`)
}

const replicasOf = ({ autoscaling }: Cluster) => `${autoscaling.min_replicas}–${autoscaling.max_replicas}`

function describe(cluster: Cluster): string {
  return card({
    Cluster: cluster.id,
    Name: cluster.name,
    Region: cluster.region,
    Status: cluster.status,
    Runtime: `${cluster.runtime}, ${cluster.kv_cache}, ${cluster.orchestrator}`,
    Endpoint: cluster.endpoint ?? '-',
    Replicas: `${replicasOf(cluster)}, first token within ${cluster.autoscaling.target_ttft_ms} ms`,
    'Last heartbeat': when(cluster.last_heartbeat_at),
  })
}
