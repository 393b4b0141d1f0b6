// §5.4, F15, T-50: on any replica, no request is accepted whose first byte was sent after the revocation was answered.
// On the embedded store, which has one server, callers are remembered: there it is the memory that is tried.
import { ownRedisServer, type RedisServer } from '../support/redis-server.ts'
import { inLanes } from './asks.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import type { Client, Reply } from './recording-client.ts'
import { REPLICAS, type Replicas, steadily, withReplicas } from './replica-scene.ts'
import { type Report, report } from './report.ts'
import { type Engine, openScene } from './scene.ts'

export const REDIS_STATES = ['healthy', 'down', 'paused'] as const
export type RedisState = (typeof REDIS_STATES)[number]

export interface Revoke {
  engine?: Engine
  revocations: number
  per_second: number
  /** In which state Redis is meanwhile; without it, there is none. */
  redis?: RedisState | undefined
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const LANES = 24
const EACH_SIDE = 2 // uses on every replica before its revocation, and after

interface Use {
  key: string
  status: number
  /** Before the first byte can have been sent. */
  invoked_ms: number
}

export async function revoke(run: Revoke): Promise<Report> {
  const { revocations, plant, seed, redis, engine = 'postgres' } = run
  const server = redis && (await ownRedisServer())
  const replicas = engine === 'postgres' ? REPLICAS : 1
  const scene = await openScene({ engine, replicas, plant, ...(server && { settings: { REDIS_URL: server.url } }) })
  const command = redis ? `revoke, Redis ${redis}` : 'revoke'
  return report(scene, { command, engine, plant, seed }, () =>
    withReplicas(scene, async (servers) => {
      if (server && redis) await bring(server, redis)
      const made = await revokeAll(servers, run)
      const { uses, revoked } = made
      const late = uses.filter(({ key, invoked_ms }) => invoked_ms > (revoked.get(key) ?? Number.POSITIVE_INFINITY))
      const accepted = late.filter(({ status }) => status === 200)
      const odd = uses.filter(({ status }) => status !== 200 && status !== 401)
      const early = uses.filter(
        ({ key, status, invoked_ms }) => status === 401 && invoked_ms < (made.asked.get(key) ?? 0),
      )
      return {
        figures: {
          replicas,
          revocations: revoked.size,
          'requests with the keys': uses.length,
          'all requests a second': made.per_second,
          'accepted before': uses.filter(({ status }) => status === 200).length,
          'sent after the answer': late.length,
          'soonest after the answer, ms': soonest(late, revoked),
          'refused after the answer': late.length - accepted.length,
        },
        checks: [
          { name: 'accepted after the answer', found: accepted.map((use) => told(use, revoked)) },
          { name: 'refused before anybody revoked', found: early.map(({ key }) => key.slice(0, 20)) },
          { name: 'answers other than 200 and 401', found: odd.map(({ status }) => String(status)) },
          { name: 'revocations that failed', found: made.failed },
          {
            name: 'too few requests after an answer to tell',
            found: late.length >= revocations * replicas ? [] : [`${late.length}`],
          },
        ],
      }
    }),
  ).finally(async () => {
    server?.resume()
    await server?.stop()
  })
}

async function bring(server: RedisServer, to: RedisState): Promise<void> {
  if (to === 'down') await server.kill()
  if (to === 'paused') server.pause()
}

async function revokeAll({ scene, inTurn }: Replicas, { revocations, per_second, seed, note = () => {} }: Revoke) {
  const random = chance(seed)
  const uses: Use[] = []
  const asked = new Map<string, number>()
  const revoked = new Map<string, number>()
  const failed: string[] = []
  const live: string[] = [] // used by the background load while they are about to be revoked

  async function use(client: Client, key: string): Promise<void> {
    const invoked_ms = performance.now()
    const { status } = await client.send({ path: '/v1/models', headers: { authorization: `Bearer ${key}` } })
    uses.push({ key, status, invoked_ms })
  }
  const onEach = (key: string) => Promise.all(scene.clients.map((client) => use(client, key)))

  const background = steadily(per_second, async () => {
    const key = live[random.below(Math.max(1, live.length))]
    await (key
      ? use(inTurn(), key)
      : inTurn()
          .send({ path: '/v1/models' })
          .then(() => {}))
  })
  await inLanes(LANES, Array.from({ length: revocations }), async () => {
    const minted = await mint(inTurn())
    for (let round = 0; round < EACH_SIDE; round++) await onEach(minted.key)
    live.push(minted.key)
    asked.set(minted.key, performance.now())
    const asking = { method: 'DELETE', path: `/v2/api-keys/${minted.id}` }
    const { status } = await patiently(anyOf(random, scene.clients), asking)
    if (status === 200) revoked.set(minted.key, performance.now())
    else failed.push(`${minted.id}: ${status}`)
    for (let round = 0; round < EACH_SIDE; round++) await onEach(minted.key)
    live.splice(live.indexOf(minted.key), 1)
    if (revoked.size % 100 === 0) note(`${revoked.size} of ${revocations} revoked`)
  })
  const { per_second: reached } = await background.stop()
  return { uses, asked, revoked, failed, per_second: reached }
}

const BUSY = 503
const TRIES = 10

/** On a machine without time a write may be given up behind the locks of others: whoever asks is told to retry. */
async function patiently(client: Client, asked: Parameters<Client['send']>[0]): Promise<Reply> {
  let reply = await client.send(asked)
  for (let tries = 1; reply.status === BUSY && tries < TRIES; tries++) reply = await client.send(asked)
  return reply
}

async function mint(client: Client): Promise<{ id: string; key: string }> {
  const asked = { method: 'POST', path: '/v2/api-keys', body: '{"name":"short-lived"}' }
  const { status, body } = await patiently(client, asked)
  if (status !== 200) throw new Error(`POST /v2/api-keys answered ${status}: ${body.toString()}`)
  return JSON.parse(body.toString())
}

const anyOf = <T>(random: Chance, items: readonly T[]) => items[random.below(items.length)] as T

const after = ({ key, invoked_ms }: Use, revoked: Map<string, number>) => invoked_ms - (revoked.get(key) ?? 0)

const soonest = (late: readonly Use[], revoked: Map<string, number>) =>
  late.length === 0 ? 'none' : Math.min(...late.map((use) => after(use, revoked))).toFixed(3)

const told = (use: Use, revoked: Map<string, number>) =>
  `${use.key.slice(0, 13)}… ${after(use, revoked).toFixed(1)} ms after`
