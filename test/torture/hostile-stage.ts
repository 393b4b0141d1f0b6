// Where a hostile run takes place: servers with the limits that everybody has, a managed provider, a victim, an
// attacker and the attacker's cluster, each a process of its own; and what the store and /proc say of it all.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ownRedisServer } from '../support/redis-server.ts'
import { forked } from './forked.ts'
import type { AttackerTold, Order, Outcome } from './hostile-attacker.ts'
import type { Booked, VictimCall } from './hostile-checker.ts'
import { CLUSTER_NETWORK, type ClusterReady } from './hostile-cluster-place.ts'
import type { Produced } from './hostile-upstream.ts'
import { type LoopDelay, loopDelayIn } from './machine-figures.ts'
import { type Engine, openScene, type Scene } from './scene.ts'
import { BUILT, type ServerProcess } from './server-process.ts'

export const INPUT_MICROS = 10
export const OUTPUT_MICROS = 1_000

const REPLICAS = 3
const SETTLED_WITHIN_MS = 6_000
const ROLLED_WITHIN_MS = 15_000
const ANSWERS_WITHIN_MS = 30_000

export type Stage = Awaited<ReturnType<typeof openStage>>

export interface Project {
  id: string
  key: string
}

const execute = promisify(execFile)
const program = (name: string) => new URL(`./${name}.ts`, import.meta.url)

/** What an operator with little disk would set; a build of before knows no such bound. */
const KEPT = `
quotas: { kept_answers_mib: 128, responses_mib: 128 }`

/** `scene` is there to be closed by whoever reports; `close` ends what stands around it. */
export async function openStage({ engine, built = BUILT }: { engine: Engine; built?: string | undefined }) {
  const redis = engine === 'postgres' ? await ownRedisServer() : undefined
  const upstream = await forked<{ port: number }>(program('hostile-upstream'))
  const cluster = await forked<ClusterReady>(program('hostile-cluster'))
  const price = `input_usd_per_million: ${INPUT_MICROS}, output_usd_per_million: ${OUTPUT_MICROS}`
  const scene = await openScene({
    ...{ engine, built, replicas: redis ? REPLICAS : 1 },
    providers: `providers:
  - id: managed
    base_url: http://127.0.0.1:${upstream.ready.port}/v1
    models: [{ id: m, ${price}, max_output_tokens: 1000 }]`,
    limits: `networks: { allow: ["${CLUSTER_NETWORK}"] }${built === BUILT ? KEPT : ''}`,
    // R12: a proxy on the same host speaks for the world, so loopback is nobody's to dial.
    settings: { SWITCHYARD_PUBLIC_URL: 'https://switchyard.example', ...(redis && { REDIS_URL: redis.url }) },
  })
  const servers: ServerProcess[] = []
  const start = async () => {
    for (const replica of scene.ports.keys()) servers[replica] = await scene.start(replica)
  }

  return {
    ...{ scene, servers, start },
    newProject: (name: string) => createProject(scene, built, name),
    ...(await people(scene, cluster.ready)),
    made: () => untilMade(upstream.ask),
    reached: async () => ((await cluster.ask(null)) as { reached: string[] }).reached,
    async restart(): Promise<void> {
      for (const server of servers) await server.kill()
      await start()
    },
    async close(): Promise<void> {
      await Promise.all([upstream.close(), cluster.close()])
      await redis?.stop()
    },
  }
}

/** Those who speak to the servers. */
async function people({ ports }: Scene, { endpoint, internal_port }: ClusterReady) {
  const attacking: AttackerTold = { ports, endpoint, internal_port }
  const attacker = await forked(program('hostile-attacker'), attacking)
  const victim = await forked(program('hostile-victim'), ports)
  return {
    /** What a victim with this key sees in so long. */
    live: async ({ key }: Project, for_ms: number) =>
      ((await victim.ask({ key, for_ms })) as { calls: VictimCall[] }).calls,
    attack: async (orders: Order[], for_ms: number) =>
      (await attacker.ask({ orders, for_ms })) as { outcomes: Outcome[]; cpu_s: number },
    dismiss: async () => void (await Promise.all([attacker.close(), victim.close()])),
  }
}

let projects = 0

/**
 * By the command line of the build that is under attack: it knows its own tables. An attack that is tried again has
 * another one.
 */
async function createProject({ env, folder }: Scene, built: string, attack: string): Promise<Project> {
  const name = `${attack} ${++projects}`
  const owner = `owner-${projects}@example.com`
  const told = ['project', 'create', '--name', name, '--owner-email', owner, '--verified', '--json']
  const { stdout } = await execute(process.execPath, [join(built, 'cli/main.js'), ...told], {
    ...{ cwd: folder, env: { PATH: process.env.PATH ?? '', ...env } },
  })
  const { project, key } = JSON.parse(stdout)
  return { id: project.id, key }
}

/** Once nothing is being made any more, for whoever asks what was. */
async function untilMade(ask: (question: unknown) => Promise<unknown>): Promise<Produced[]> {
  const deadline_ms = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const { produced, open } = (await ask(null)) as { produced: Produced[]; open: number }
    if (open === 0 || performance.now() > deadline_ms) return produced
    await sleep(100)
  }
}

/** All generations of these projects since then, as soon as the expected ones are among them. */
export async function bookedFor(
  scene: Scene,
  { projects, since }: { projects: readonly Project[]; since: number },
  expected: readonly string[],
): Promise<Booked[]> {
  const ids = projects.map(({ id }) => `'${id}'`).join(', ')
  const deadline_ms = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const among = `FROM usage_event WHERE project_id IN (${ids}) AND created_ms >= ${since}`
    const booked = await scene
      .rows<Booked>(`SELECT trace_id, charged_micros, waived_micros ${among}`)
      // What is waived has a column only since it was bounded.
      .catch(() => scene.rows<Booked>(`SELECT trace_id, charged_micros, 0 AS waived_micros ${among}`))
    const known = new Set(booked.map(({ trace_id }) => trace_id))
    if (expected.every((trace_id) => known.has(trace_id)) || performance.now() > deadline_ms) return booked
    await sleep(250)
  }
}

/** How many events of the project no roll-up has come to, although several turns have passed. */
export async function unrolled(scene: Scene, project_id: string): Promise<number> {
  const deadline_ms = performance.now() + ROLLED_WITHIN_MS
  for (;;) {
    const [row] = await scene.rows<{ count: number }>(`
      SELECT COUNT(*) AS count FROM usage_unrolled
      WHERE trace_id IN (SELECT trace_id FROM usage_event WHERE project_id = '${project_id}')`)
    const count = Number(row?.count)
    if (count === 0 || performance.now() > deadline_ms) return count
    await sleep(500)
  }
}

/** Undefined where it answers nobody any more. */
export async function loopDelayOf(scene: Scene, server: number): Promise<LoopDelay | undefined> {
  const client = scene.clients[server] as Scene['client']
  const late = sleep(ANSWERS_WITHIN_MS).then(() => undefined)
  const scrape = client.send({ path: '/metrics' }).then(
    ({ body }) => loopDelayIn(body.toString()),
    () => undefined,
  )
  return Promise.race([scrape, late])
}
