// How a cluster tells that it lives: commands to take along. Draining is said by the cluster too, and by nobody else.
export interface HeartbeatCommand {
  id: string
  label: string
  note: string
  code(origin: string, cluster_id: string): string
}

const EVERY_S = 15 // three may be missed before requests go elsewhere first

const heartbeat = (origin: string, cluster_id: string, body: string) =>
  `curl -sS ${origin}/v2/byoc/clusters/${cluster_id}/heartbeat \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`

const TOLD = `{
  "status": "active",
  "models": [{"id": "llama-3.3-70b", "context_length": 131072}],
  "capacity": {"replicas_ready": 2, "replicas_desired": 2, "gpu_type": "h100_sxm", "gpu_count": 8},
  "load": {"running": 12, "waiting": 0, "kv_utilization": 0.41, "ttft_p50_ms": 180, "ttft_p95_ms": 420},
  "cache_tiers": [{"name": "host_ram", "capacity_bytes": 512000000000, "used_bytes": 201000000000}]
}`

export const HEARTBEAT_COMMANDS: readonly [HeartbeatCommand, ...HeartbeatCommand[]] = [
  {
    id: 'loop',
    label: 'Shell',
    note: 'SWITCHYARD_KEY holds an inference key whose allowed clusters name this one: a data plane needs no more.',
    code: (origin, cluster_id) =>
      `while true; do
  ${heartbeat(origin, cluster_id, '{"status": "active"}').replaceAll('\n', '\n  ')}
  sleep ${EVERY_S}
done`,
  },
  {
    id: 'telemetry',
    label: 'With telemetry',
    note: 'Everything but the status is optional. What is not of the right form is left out, never refused.',
    code: (origin, cluster_id) => heartbeat(origin, cluster_id, TOLD),
  },
  {
    id: 'cli',
    label: 'switchyard',
    note: 'The command line that comes with the server.',
    code: (origin, cluster_id) =>
      `export SWITCHYARD_URL=${origin}
switchyard cluster heartbeat ${cluster_id} --status active`,
  },
  {
    id: 'drain',
    label: 'Drain',
    note:
      'Only the cluster sets its status. Once it reports draining, new requests go elsewhere and those under way ' +
      'finish. Change what its loop reports: a heartbeat that says active would undo it.',
    code: (origin, cluster_id) => heartbeat(origin, cluster_id, '{"status": "draining"}'),
  },
]
