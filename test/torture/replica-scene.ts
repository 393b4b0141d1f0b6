// Several servers over one PostgreSQL behind a balancer, and a steady load that does not wait for answers.
import { Client as PostgresClient } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import { foundProject } from '../../src/start/bootstrap.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { forked } from './forked.ts'
import { type Client, client } from './recording-client.ts'
import { openScene, type Place, type Scene } from './scene.ts'
import type { ServerProcess } from './server-process.ts'

export const REPLICAS = 3
const BALANCER = new URL('./balancer-process.ts', import.meta.url)

export interface Replicas {
  scene: Scene
  servers: ServerProcess[]
  /** Speaks to the balancer. */
  balanced: Client
  /** Through each server in turn, past the balancer. */
  inTurn(): Client
  /** Stops one as an orchestrator would, and starts it again; the exit code of the stop. */
  restart(replica: number): Promise<number | null>
  close(): Promise<void>
}

export type ReplicaPlace = Omit<Place, 'engine' | 'replicas'> & { replicas?: number }

/** The scene alone: `report` closes it, also where starting the servers fails. */
export const openReplicaScene = ({ replicas = REPLICAS, ...place }: ReplicaPlace) =>
  openScene({ ...place, engine: 'postgres', replicas })

/** Starts them all, and lets go of the balancer however the work ends. */
export async function withReplicas<T>(scene: Scene, work: (replicas: Replicas) => Promise<T>): Promise<T> {
  const replicas = await startReplicas(scene)
  return work(replicas).finally(() => replicas.close())
}

async function startReplicas(scene: Scene): Promise<Replicas> {
  const servers = await Promise.all(scene.ports.map((_, replica) => scene.start(replica)))
  const balancer = await forked<{ port: number }>(BALANCER, scene.ports)
  await balancer.ask(servers.length)
  const balanced = client(balancer.ready.port, scene.token)
  let turn = 0
  return {
    ...{ scene, servers, balanced },
    inTurn: () => scene.clients[turn++ % scene.clients.length] as Client,
    async restart(replica) {
      const code = await (servers[replica] as ServerProcess).stop()
      servers[replica] = await scene.start(replica)
      await balancer.ask(servers.length)
      return code
    },
    async close() {
      balanced.close()
      await balancer.close()
    },
  }
}

/** Rows of the servers' own schema, for what no endpoint tells. */
export async function query<Row>({ database_url }: Scene, statement: string): Promise<Row[]> {
  const connection = new PostgresClient(database_url)
  await connection.connect()
  try {
    return (await connection.query(statement)).rows
  } finally {
    await connection.end()
  }
}

/** Further projects, straight in the store: the admin key of each. */
export async function foundProjects(
  { database_url = '' }: Pick<Scene, 'database_url'>,
  count: number,
): Promise<string[]> {
  const db = openPostgres(database_url, { pool_max: 1 })
  const keys: string[] = []
  for (let n = 1; n <= count; n++) {
    const founding = { name: `project ${n}`, owner_email: `owner${n}@example.com`, verified: true }
    const { key } = await foundProject(db, founding, systemClock.now())
    keys.push(key.raw)
  }
  await db.close()
  return keys
}

const TICK_MS = 10

/**
 * Sends so many a second whatever becomes of them, a rate that it comes to over `rising_ms`. `stop` resolves once the
 * last one has come to something.
 */
export function steadily(per_second: number, send: (n: number) => Promise<void>, rising_ms = 0) {
  const underway = new Set<Promise<void>>()
  const started_ms = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const since_ms = performance.now() - started_ms
    const at_full_rate_ms = since_ms < rising_ms ? since_ms ** 2 / (2 * rising_ms) : since_ms - rising_ms / 2
    const due = (at_full_rate_ms / 1_000) * per_second
    while (sent < due) {
      const one = send(sent++).finally(() => underway.delete(one))
      underway.add(one)
    }
  }, TICK_MS)
  return {
    sent: () => sent,
    async stop(): Promise<{ per_second: number }> {
      clearInterval(timer)
      const took_s = (performance.now() - started_ms - rising_ms / 2) / 1_000
      await Promise.all(underway)
      return { per_second: Math.round(sent / took_s) }
    },
  }
}
