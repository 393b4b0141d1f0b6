// What it costs to be a cluster: whole chat answers through one process on SQLite, then through one, two and three
// replicas on one PostgreSQL. Each replica gets its own load, from a project of its own.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { globSync } from 'tinyglobby'
import { freePort, ownPostgresServer } from '../test/support/postgres-server.ts'
import { foundProjects } from '../test/torture/replica-scene.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { type Conditions, type Round, summarize, table } from './measure.ts'
import { cpuMicros, type ServerProcess, startProcess, temporaryFolder } from './processes.ts'

const run = promisify(execFile)
const KEY = `svc_live_${'b'.repeat(42)}`
const REPLICAS_MAX = 3
const ANY_CORE = '0-1' // servers, database and load share the machine: what holds is processor time, not the rate
const BODY = JSON.stringify({
  model: 'bench',
  messages: [{ role: 'user', content: 'word '.repeat(390) }],
  max_tokens: 100,
})

interface Contender {
  name: string
  servers: readonly ServerProcess[]
  keys: readonly string[]
  /** Processor time of everything but the servers that it takes. */
  storeMicros(): number
}

export async function replicas(conditions: Conditions): Promise<string> {
  const folder = temporaryFolder()
  const postgres = await ownPostgresServer()
  const upstream = await startProcess({
    name: 'upstream',
    script: 'bench/mock-upstream.ts',
    env: { PORT: String(await freePort()) },
    core: ANY_CORE,
    ready: '/',
  })
  const settings = settingsFile(folder.path, upstream)
  const start = async (name: string, env: Record<string, string>) =>
    startProcess({
      ...{ name, script: 'dist/cli/main.js', args: ['serve'], core: ANY_CORE, ready: '/readyz' },
      env: { ...settings, PORT: String(await freePort()), ...env },
    })
  const embedded = await start('embedded', { SWITCHYARD_DATA_DIR: join(folder.path, 'embedded') })
  const shared = { DATABASE_URL: postgres.url, SWITCHYARD_SECRET: 'b'.repeat(64) }
  const servers: ServerProcess[] = []
  for (let n = 1; n <= REPLICAS_MAX; n++)
    servers.push(await start(`replica ${n}`, { ...shared, SWITCHYARD_DATA_DIR: join(folder.path, `replica-${n}`) }))
  const keys = await foundProjects({ database_url: postgres.url }, REPLICAS_MAX)

  const contenders: Contender[] = [
    { name: 'one process on SQLite', servers: [embedded], keys: [KEY], storeMicros: () => 0 },
    ...servers.map((_, n) => ({
      name: `${n + 1} on PostgreSQL`,
      servers: servers.slice(0, n + 1),
      keys,
      storeMicros: () => familyMicros(postgres.pid?.()),
    })),
  ]
  const { rounds, store } = await measureAll(contenders, conditions)
  await Promise.all([upstream, embedded, ...servers].map((server) => server.stop()))
  await postgres.stop()
  folder.remove()
  const title = `Replicas, whole chat answers, ${conditions.connections} connections in all, everything on the same cores`
  return `${table(title, summarize(rounds))}\n${store}`
}

async function measureAll(contenders: readonly Contender[], conditions: Conditions) {
  const rounds: Round[][] = []
  const store = new Map<string, number[]>()
  for (let at = -1; at < conditions.rounds; at++) {
    const round: Round[] = []
    for (const contender of contenders) {
      const before = contender.storeMicros()
      const { requests, ...measured } = await oneRound(contender, at < 0 ? { ...conditions, seconds: 1 } : conditions)
      round.push(measured)
      if (at < 0) continue // warm up
      const spent = (contender.storeMicros() - before) / Math.max(1, requests)
      store.set(contender.name, [...(store.get(contender.name) ?? []), spent])
    }
    if (at >= 0) rounds.push(round)
  }
  const lines = [...store].slice(1).map(([name, spent]) => {
    const median = spent.sort((a, b) => a - b)[Math.floor(spent.length / 2)] ?? 0
    return `  ${name.padEnd(18)} ${median.toFixed(0)} µs a request beside that in PostgreSQL`
  })
  return { rounds, store: lines.join('\n') }
}

async function oneRound({ name, servers, keys }: Contender, { seconds, connections }: Conditions) {
  const before = servers.map((server) => server.cpuMicros())
  const each = Math.max(1, Math.floor(connections / servers.length))
  const loads = servers.map(async ({ url }, n) => {
    const plan: LoadPlan = {
      ...{ port: Number(new URL(url).port), path: '/v1/chat/completions', body: BODY, connections: each, seconds },
      headers: { authorization: `Bearer ${keys[n % keys.length]}`, 'content-type': 'application/json' },
    }
    const { stdout } = await run(process.execPath, ['--import', 'tsx', 'bench/load.ts', JSON.stringify(plan)])
    return JSON.parse(stdout) as LoadResult
  })
  const results = await Promise.all(loads)
  const requests = sum(results.map((one) => one.requests))
  const spent = sum(servers.map((server, n) => server.cpuMicros() - (before[n] ?? 0)))
  return {
    ...{ name, requests, cpu_us: spent / Math.max(1, requests) },
    per_second: sum(results.map((one) => one.requests / one.seconds)),
    p50_ms: Math.max(...results.map((one) => one.p50_ms)),
    p99_ms: Math.max(...results.map((one) => one.p99_ms)),
    failures: sum(results.map((one) => one.failures)),
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** A process and its children; connections are kept, so none of them ends within a round. */
function familyMicros(parent: number | undefined): number {
  if (parent === undefined) return 0
  const children = globSync('/proc/[0-9]*/stat', { absolute: true }).flatMap((file) => {
    try {
      const fields = readFileSync(file, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      return Number(fields[1]) === parent ? [Number(file.split('/')[2])] : []
    } catch {
      return [] // it ended while we looked
    }
  })
  return sum([parent, ...children].map(cpuMicros))
}

function settingsFile(folder: string, upstream: ServerProcess): Record<string, string> {
  const file = join(folder, 'switchyard.yaml')
  const price = 'input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 4096'
  const limits = `limits:
  edge: { inference_per_minute: 100000000, read_per_minute: 100000000 }
  key: { requests_per_minute: 100000000, tokens_per_minute: 1000000000, concurrent_streams: 10000 }
  project: { requests_per_minute: 100000000 }`
  writeFileSync(
    file,
    `providers:\n  - { id: mock, base_url: "${upstream.url}", max_concurrency: 256, models: [{ id: bench, ${price} }] }\n${limits}\n`,
  )
  return { SWITCHYARD_CONFIG: file, SWITCHYARD_BOOTSTRAP_KEY: KEY, LOG_LEVEL: 'warn' }
}
