// `npm run bench -- reuse`: agents whose conversations grow and interleave, behind the running service and eight fake
// clusters with real caches. By policy: the service's own, and two that the client forces by naming a cluster's own model;
// then the service on three replicas with PostgreSQL and Redis.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { ownPostgresServer } from '../test/support/postgres-server.ts'
import { quantile } from './figures.ts'
import { type ServerProcess, startProcess, temporaryFolder } from './processes.ts'
import { record } from './report.ts'
import { seeded } from './routing.ts'
import { ADMIN_KEY, as, CHAT, post, settingsWith, startRedis } from './service-under-test.ts'
import { textTable } from './text-table.ts'

const CLUSTERS = 8
const ANY_CORE = '0-1'

export interface ReuseConditions {
  calls: number
  seed: number
}

interface AgentCall {
  agent: number
  messages: { role: string; content: string }[]
}

interface Told {
  cached: number
  tokens: number
  first_token_ms: number
}

export async function reuse({ calls, seed }: ReuseConditions): Promise<string> {
  const script = agentsOf(calls, seed)
  const rows: [string, Told[]][] = []
  const one = { DATABASE_URL: '', REDIS_URL: '' }
  rows.push(['round robin', await onFresh([one], script, (n) => n % CLUSTERS)])
  rows.push(['least loaded', await onFresh([one], script, leastLoaded())])
  rows.push(['Switchyard, one process', await onFresh([one], script)])
  const redis = await startRedis()
  if (typeof redis !== 'string') {
    const postgres = await ownPostgresServer()
    const shared = { DATABASE_URL: postgres.url, SWITCHYARD_SECRET: 'b'.repeat(64), ...redis }
    rows.push(['Switchyard, three replicas', await onFresh([shared, shared, shared], script)])
    await postgres.stop()
  }
  record('Reuse', { calls, seed, rows: rows.map(([name, told]) => ({ name, ...figuresOf(told) })) })
  return textTable(
    `Reuse: ${calls} calls of interleaved agents, ${CLUSTERS} clusters with real caches`,
    ['', 'hits', 'first token p50 ms', 'p90 ms', 'p99 ms', 'failed'],
    rows.map(([name, told]) => {
      const { hits, p50, p90, p99 } = figuresOf(told)
      const figures = [p50, p90, p99].map((value) => value.toFixed(0))
      return [name, `${(hits * 100).toFixed(1)} %`, ...figures, String(calls - told.length)]
    }),
  )
}

function figuresOf(told: readonly Told[]) {
  const sum = (field: keyof Told) => told.reduce((total, one) => total + one[field], 0)
  const times = told.map(({ first_token_ms }) => first_token_ms)
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => quantile(times, share)) as [number, number, number]
  return { hits: sum('cached') / Math.max(1, sum('tokens')), p50, p90, p99 }
}

/** Where the client itself says where; undefined: the service decides. */
type Choice = (n: number, running: readonly number[]) => number

const leastLoaded = (): Choice => (_n, running) => running.indexOf(Math.min(...running))

/** Fresh clusters and fresh servers, so that no policy finds what another left. */
async function onFresh(envs: Record<string, string>[], script: readonly AgentCall[], choose?: Choice): Promise<Told[]> {
  const clusters = await startProcess({
    ...{ name: 'clusters', script: 'bench/fake-clusters.ts', core: ANY_CORE, ready: '/' },
    env: { PORT: String(await freePort()), CLUSTERS: String(CLUSTERS) },
  })
  const servers: ServerProcess[] = []
  const folder = temporaryFolder()
  for (const [at, env] of envs.entries()) servers.push(await startServer(join(folder.path, `${at}`), env))
  await registerClusters(servers[0] as ServerProcess, clusters)
  const told = await run(servers, script, choose)
  await Promise.all([clusters, ...servers].map((server) => server.stop()))
  folder.remove()
  return told
}

async function startServer(folder: string, env: Record<string, string>): Promise<ServerProcess> {
  const file = `${folder}.yaml`
  writeFileSync(file, `${settingsWith(undefined)}networks: { allow: [127.0.0.0/8] }\n`)
  return startProcess({
    ...{ name: 'service', script: 'dist/cli/main.js', args: ['serve'], core: ANY_CORE, ready: '/readyz' },
    env: {
      ...env,
      ...{ PORT: String(await freePort()), SWITCHYARD_DATA_DIR: folder, SWITCHYARD_BOOTSTRAP_KEY: ADMIN_KEY },
      ...{ SWITCHYARD_CONFIG: file, SWITCHYARD_DRAIN_MS: '0', LOG_LEVEL: 'warn', OPENAI_API_KEY: '' },
    },
  })
}

async function registerClusters(server: ServerProcess, clusters: ServerProcess): Promise<void> {
  for (let at = 0; at < CLUSTERS; at++) {
    const endpoint = `${clusters.url}/${at}/v1`
    const asked = { name: `cluster ${at}`, region: 'local', endpoint, orchestrator: 'none' }
    const { id } = await post(server, '/v2/byoc/clusters', asked)
    await post(server, `/v2/byoc/clusters/${id}/heartbeat`, {
      status: 'active',
      models: [{ id: 'agent', kv_bytes_per_token: 1 }, { id: `agent-${at}` }],
      cache_tiers: [{ name: 'gpu_hbm', capacity_bytes: 200_000 }],
    })
  }
}

const AT_ONCE = 24

/** So many calls at once; an agent's next turn waits for its last. Calls go to the replicas in turn. */
async function run(servers: readonly ServerProcess[], script: readonly AgentCall[], choose?: Choice): Promise<Told[]> {
  const told: Told[] = []
  const running = Array.from({ length: CLUSTERS }, () => 0)
  const busy = new Set<number>()
  const waiting = [...script]
  let sent = 0
  const worker = async (): Promise<void> => {
    while (waiting.length > 0) {
      const at = waiting.findIndex(({ agent }) => !busy.has(agent))
      if (at < 0) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        continue
      }
      const [call] = waiting.splice(at, 1) as [AgentCall]
      const n = sent++
      const cluster = choose?.(n, running)
      busy.add(call.agent)
      if (cluster !== undefined) running[cluster] = (running[cluster] ?? 0) + 1
      const model = cluster === undefined ? 'agent' : `agent-${cluster}`
      const answer = await callOnce(servers[n % servers.length] as ServerProcess, model, call)
      if (answer) told.push(answer)
      if (cluster !== undefined) running[cluster] = (running[cluster] ?? 1) - 1
      busy.delete(call.agent)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return told
}

async function callOnce({ url }: ServerProcess, model: string, { messages }: AgentCall): Promise<Told | undefined> {
  const body = JSON.stringify({ model, messages, stream: true, stream_options: { include_usage: true } })
  const started = performance.now()
  const answer = await fetch(url + CHAT, { method: 'POST', headers: as(ADMIN_KEY), body })
  if (!answer.ok || !answer.body) return undefined
  let first_token_ms = 0
  let text = ''
  for await (const part of answer.body) {
    if (first_token_ms === 0) first_token_ms = performance.now() - started
    text += Buffer.from(part).toString()
  }
  const usage = /"usage":(\{.*?\}\})/.exec(text)?.[1]
  if (usage === undefined) return undefined
  const { prompt_tokens: tokens, prompt_tokens_details } = JSON.parse(usage)
  return { tokens, cached: prompt_tokens_details.cached_tokens, first_token_ms }
}

const AGENTS = 120
const KINDS = 6

/** Agents of a few kinds, each kind with its long instructions; every turn adds what a tool said. */
function agentsOf(calls: number, seed: number): AgentCall[] {
  const random = seeded(seed)
  const text = (bytes: number) => {
    let words = ''
    while (words.length < bytes) words += `${Math.floor(random() * 1e9).toString(36)} `
    return words
  }
  const kinds = Array.from({ length: KINDS }, () => text(6_000))
  const agents = Array.from({ length: AGENTS }, (_, at) => [{ role: 'system', content: kinds[at % KINDS] as string }])
  return Array.from({ length: calls }, () => {
    const agent = Math.floor(random() * AGENTS)
    const said = agents[agent] as AgentCall['messages']
    said.push({ role: 'user', content: text(500 + random() * 4_000) })
    const messages = [...said]
    said.push({ role: 'assistant', content: 'word ' })
    if (said.length > 40) said.length = 1
    return { agent, messages }
  })
}
