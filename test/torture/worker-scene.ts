// One server of several workers over a PostgreSQL and a Redis of its own, and what can be seen of the workers outside.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ownRedisServer } from '../support/redis-server.ts'
import { startUpstream } from '../support/upstream.ts'
import type { Plant } from './plants.ts'
import { client } from './recording-client.ts'
import { query } from './replica-scene.ts'
import { openScene } from './scene.ts'

export const MODEL = 'm'
export const CHAT = '/v1/chat/completions'
export const chatBody = (more: object = {}) =>
  JSON.stringify({ model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...more })

export interface WorkerPlace {
  workers?: number
  plant?: Plant
  drain_ms?: number
  /** The `limits:` of its file; without them, limits that nobody meets. */
  limits?: string
}

export type WorkerScene = Awaited<ReturnType<typeof openWorkerScene>>

export async function openWorkerScene({ workers = 2, plant, drain_ms = 0, limits }: WorkerPlace = {}) {
  const redis = await ownRedisServer()
  const upstream = await startUpstream({ usage: { input: 10, output: 50 } })
  const price = 'input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100'
  const scene = await openScene({
    ...{ engine: 'postgres', plant, log_level: 'info', ...(limits !== undefined && { limits }) },
    providers: `providers:\n  - { id: mock, base_url: "${upstream.base_url}", models: [{ id: ${MODEL}, ${price} }] }`,
    settings: {
      REDIS_URL: redis.url,
      SWITCHYARD_WORKERS: String(workers),
      SWITCHYARD_DRAIN_MS: String(drain_ms),
    },
  })
  const server = await scene.start()
  await untilAll(scene, workers)

  return {
    ...{ scene, server, upstream },
    workers: () => childrenOf(server.pid),
    /** Over a connection of its own, which some worker or other is given. */
    fresh: () => client(scene.port, scene.token),
    log: () => readFileSync(scene.log_file, 'utf8'),
    rows: <Row>(statement: string) => query<Row>(scene, statement),
    async close(): Promise<void> {
      if (server.isRunning()) await server.stop() // its workers use the schema until they have ended
      await scene.close()
      await upstream.close()
      await redis.stop()
    },
  }
}

export const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** Until so many have said in the store that they live. */
async function untilAll(scene: Awaited<ReturnType<typeof openScene>>, workers: number): Promise<void> {
  for (;;) {
    const [living] = await query<{ n: string }>(scene, 'SELECT count(*) AS n FROM live_process')
    if (Number(living?.n) >= workers) return
    await sleep(20)
  }
}
