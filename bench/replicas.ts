// What it costs to be a cluster: whole chat answers through one process on SQLite, then through one, two and three
// replicas on one PostgreSQL and one Redis. Each replica gets its own load, from a project of its own.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'
import { freePort } from '../test/support/free-port.ts'
import { ownPostgresServer } from '../test/support/postgres-server.ts'
import { foundProjects } from '../test/torture/replica-scene.ts'
import { median } from './figures.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { type Load, startLoad } from './load-process.ts'
import type { Conditions } from './measure.ts'
import { type ServerProcess, startProcess, temporaryFolder, watch } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, settingsWith, startRedis } from './service-under-test.ts'
import { textTable } from './text-table.ts'

const REPLICAS_MAX = 3
const ANY_CORE = '0-1' // servers, database and load share the machine: what holds is processor time, not the rate

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
  const redis = await startRedis()
  if (typeof redis === 'string') throw new Error(redis)
  const shared = { DATABASE_URL: postgres.url, SWITCHYARD_SECRET: 'b'.repeat(64), ...redis }
  const servers: ServerProcess[] = []
  for (let n = 1; n <= REPLICAS_MAX; n++)
    servers.push(await start(`replica ${n}`, { ...shared, SWITCHYARD_DATA_DIR: join(folder.path, `replica-${n}`) }))
  const keys = await foundProjects({ database_url: postgres.url }, REPLICAS_MAX)

  const contenders: Contender[] = [
    { name: 'one process on SQLite', servers: [embedded], keys: [ADMIN_KEY], storeMicros: () => 0 },
    ...servers.map((_, n) => ({
      name: n === 0 ? 'one on PostgreSQL and Redis' : `${n + 1} replicas`,
      servers: servers.slice(0, n + 1),
      keys,
      storeMicros: () => familyMicros(postgres.pid?.()),
    })),
  ]
  const rows = await measureAll(contenders, conditions)
  await Promise.all([upstream, embedded, ...servers].map((server) => server.stop()))
  await postgres.stop()
  folder.remove()
  const title = `Replicas, whole chat answers, ${conditions.connections} connections in all, everything on the same cores`
  return textTable(title, COLUMNS, rows)
}

interface Round {
  cpu_us: number
  store_us: number
  per_second: number
  p50_ms: number
  p99_ms: number
  failures: number
}

const WARM_UP_SECONDS = 8

const COLUMNS = ['', 'CPU µs/request', '× one process', 'in PostgreSQL, µs', 'req/s', 'p50 ms', 'p99 ms', 'failed']

async function measureAll(contenders: readonly Contender[], conditions: Conditions): Promise<string[][]> {
  const loads = Array.from({ length: REPLICAS_MAX }, startLoad)
  const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]))
  for (const contender of contenders) await oneRound(contender, loads, { ...conditions, seconds: WARM_UP_SECONDS })
  for (let at = 0; at < conditions.rounds; at++)
    for (const contender of contenders) rounds.get(contender.name)?.push(await oneRound(contender, loads, conditions))
  record('Replicas', { conditions, rounds: Object.fromEntries(rounds) })
  const middle = (own: readonly Round[], value: keyof Round) => median(own.map((round) => round[value]))
  const base = middle([...rounds.values()][0] ?? [], 'cpu_us')
  return [...rounds].map(([name, own]) => [
    name,
    middle(own, 'cpu_us').toFixed(0),
    (middle(own, 'cpu_us') / base).toFixed(2),
    middle(own, 'store_us').toFixed(0),
    middle(own, 'per_second').toFixed(0),
    middle(own, 'p50_ms').toFixed(1),
    middle(own, 'p99_ms').toFixed(1),
    String(sum(own.map((round) => round.failures))),
  ])
}

async function oneRound(contender: Contender, loads: readonly Load[], conditions: Conditions): Promise<Round> {
  const { servers, keys, storeMicros } = contender
  const before = servers.map((server) => server.cpuMicros())
  const store_before = storeMicros()
  const connections = Math.max(1, Math.floor(conditions.connections / servers.length))
  const results: LoadResult[] = await Promise.all(
    servers.map(({ url }, n) => {
      const plan: LoadPlan = {
        ...{ port: Number(new URL(url).port), path: CHAT, body: chat(), connections },
        seconds: conditions.seconds,
        headers: as(keys[n % keys.length] as string),
      }
      return (loads[n] as Load).run(plan)
    }),
  )
  const requests = Math.max(1, sum(results.map((one) => one.requests)))
  const spent = sum(servers.map((server, n) => server.cpuMicros() - (before[n] ?? 0)))
  return {
    cpu_us: spent / requests,
    store_us: (storeMicros() - store_before) / requests,
    per_second: sum(results.map((one) => one.requests / one.seconds)),
    p50_ms: Math.max(...results.map((one) => one.p50_ms)),
    p99_ms: Math.max(...results.map((one) => one.p99_ms)),
    failures: sum(results.map((one) => one.failures)),
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** A process and its children, those that have ended included: the store ends some of its own while it runs. */
function familyMicros(parent: number | undefined): number {
  if (parent === undefined) return 0
  const children = globSync('/proc/[0-9]*/stat', { absolute: true }).flatMap((file) => {
    try {
      return Number(statOf(file)[1]) === parent ? [Number(file.split('/')[2])] : []
    } catch {
      return [] // it ended while we looked
    }
  })
  const [user = 0, system = 0] = statOf(`/proc/${parent}/stat`).slice(13, 15).map(Number) // of children that ended
  return (user + system) * TICK_US + sum([parent, ...children].map((pid) => watch(pid).cpuMicros()))
}

const TICK_US = 10_000

/** From the state on: names may have spaces in them. */
const statOf = (file: string) =>
  readFileSync(file, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')

function settingsFile(folder: string, upstream: ServerProcess): Record<string, string> {
  const file = join(folder, 'switchyard.yaml')
  writeFileSync(file, settingsWith(upstream))
  return { SWITCHYARD_CONFIG: file, SWITCHYARD_BOOTSTRAP_KEY: ADMIN_KEY, LOG_LEVEL: 'warn' }
}
