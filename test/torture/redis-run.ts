// R50, F20: three servers on one PostgreSQL and one Redis or Redis Cluster, which is paused, killed and flushed under
// load. Every request is answered, no limit is passed, no money is lost, and all is as before within 5 s of Redis' return.
import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisNodes, redisNodes } from '../support/redis-nodes.ts'
import { ownRedisServer, type RedisServer } from '../support/redis-server.ts'
import { startUpstream } from '../support/upstream.ts'
import { count, highest } from './asks.ts'
import { measureDecisions } from './redis-decision.ts'
import { type Heard, percentile, steadyLoad, surelyWithin60s } from './redis-load.ts'
import { type Check, type Report, report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

export interface RedisRun {
  pause_s: number
  per_second: number
  seed: number
  /** A Redis Cluster of three nodes in place of one Redis. */
  cluster?: boolean | undefined
  /** Servers that each count for themselves, as without Redis. */
  plant?: 'alone' | undefined
  /** Also measures the decision itself, which needs a machine that does nothing else. */
  measure?: boolean
}

const REPLICAS = 3
const BACK_WITHIN_MS = 5_000
const LIMIT_USD = 0.04
const CALL_MICROS = 2_000
const OUTPUT_TOKENS = 100
const ALLOWED_CODES = [200, 429]

export async function redis(run: RedisRun): Promise<Report> {
  const { pause_s, per_second, seed, cluster, plant, measure = false } = run
  const server = cluster ? await redisNodes() : await ownRedisServer()
  const upstream = await startUpstream({ text: 'ok', usage: { input: 10, output: OUTPUT_TOKENS } })
  const usd_per_million = (CALL_MICROS / OUTPUT_TOKENS).toFixed(0)
  const price = `input_usd_per_million: 0, output_usd_per_million: ${usd_per_million}, max_output_tokens: ${OUTPUT_TOKENS}`
  const providers = `providers:
  - { id: mock, base_url: "${upstream.base_url}", max_concurrency: 20000, models: [{ id: m, ${price} }] }`
  const settings = plant ? {} : { REDIS_URL: server.url }
  const scene = await openScene({ engine: 'postgres', replicas: REPLICAS, providers, settings })
  return report(
    scene,
    { command: `redis${cluster ? ' cluster' : ''}${plant ? `, planted ${plant}` : ''}`, engine: 'postgres', seed },
    async () => {
      const decision = measure && !cluster ? await measureDecisions(server.url) : undefined
      for (const replica of scene.clients.keys()) await scene.start(replica)
      // Used up after a quarter of a minute: whatever is forgotten from then on shows as more than the limit.
      const limit = Math.ceil((per_second / 2) * 15)
      const keys = {
        busy: await newKey(scene, { limit }),
        late: await newKey(scene, { limit }),
        ...(await payingKey(scene)),
      }
      const returns: Returns = { after: {}, nodes_ms: undefined }
      const heard = await underLoad(scene, keys, per_second, () => phases(scene, server, pause_s, returns))
      const { spent_micros } = await keyNamed(scene, keys.paying.id)
      return findings({ heard, limit, returns, spent_micros, decision })
    },
  ).finally(async () => {
    await upstream.close()
    server.resume()
    await server.stop()
  })
}

interface Key {
  id: string
  key: string
}

const post = async (scene: Scene, path: string, body: object) =>
  JSON.parse((await scene.client.send({ method: 'POST', path, body: JSON.stringify(body) })).body.toString())

async function newKey(scene: Scene, { limit }: { limit: number }): Promise<Key> {
  const made: Key = await post(scene, '/v2/api-keys', { name: 'limited' })
  await post(scene, `/v2/api-keys/${made.id}/limits`, { requests_per_minute: limit })
  return made
}

async function payingKey(scene: Scene): Promise<{ paying: Key }> {
  const paying: Key = await post(scene, '/v2/api-keys', { name: 'paying' })
  await post(scene, `/v2/api-keys/${paying.id}/budget`, { limit_usd: LIMIT_USD })
  return { paying }
}

async function keyNamed(scene: Scene, id: string): Promise<{ spent_micros: number }> {
  const { status, body } = await scene.client.send({ path: '/v2/api-keys' })
  if (status !== 200) throw new Error(`keys cannot be read: ${status} ${body}`)
  return JSON.parse(body.toString()).data.find((key: Key) => key.id === id)
}

type Keys = Record<'busy' | 'late' | 'paying', Key>

async function underLoad(scene: Scene, keys: Keys, per_second: number, work: () => Promise<void>): Promise<Heard[]> {
  const servers = scene.clients.map(({ send }) => send)
  const as = ({ key }: Key) => ({ authorization: `Bearer ${key}` })
  const chat = JSON.stringify({ model: 'm', max_tokens: OUTPUT_TOKENS, messages: [{ role: 'user', content: 'hi' }] })
  const reading = (what: 'busy' | 'late') => {
    const sending = { path: '/v2/project', headers: as(keys[what]) }
    return { what, every_ms: 2_000 / per_second, sending }
  }
  const paying = {
    what: 'paying',
    every_ms: 500,
    sending: { method: 'POST', path: '/v1/chat/completions', body: chat, headers: as(keys.paying) },
  }
  const load = steadyLoad(servers, [reading('busy'), paying])
  // The second key comes when Redis has left already: there nothing was used before.
  const late = { run: undefined as ReturnType<typeof steadyLoad> | undefined }
  const starting = sleep(LATE_AFTER_MS).then(() => {
    late.run = steadyLoad(servers, [reading('late')])
  })
  await work()
  await starting
  await Promise.all([load.stop(), late.run?.stop()])
  return [...load.heard, ...(late.run?.heard ?? [])]
}

const SETTLE_MS = 5_000
const LATE_AFTER_MS = SETTLE_MS + 500

/**
 * Each failure of Redis, and how long after its end all servers count together again. Nodes of a cluster that were paused
 * have to find each other first: until then they refuse whoever asks.
 */
async function phases(scene: Scene, server: RedisServer | RedisNodes, pause_s: number, returns: Returns) {
  await sleep(SETTLE_MS)
  server.pause()
  await sleep(pause_s * 1_000)
  server.resume()
  if ('untilWhole' in server) returns.nodes_ms = await timed(server.untilWhole())
  returns.after.pause = await untilTogether(scene)
  await sleep(SETTLE_MS)
  await server.kill()
  await sleep(Math.min(pause_s, 10) * 1_000)
  await server.start()
  returns.after.kill = await untilTogether(scene)
  for (let n = 1; n <= 3; n++) {
    await sleep(SETTLE_MS / 2)
    await server.flush()
    returns.after[`flush ${n}`] = await untilTogether(scene)
  }
  await sleep(SETTLE_MS)
}

/** How long servers took after each return, and the nodes of a cluster to be one again. */
interface Returns {
  after: Record<string, number>
  nodes_ms: number | undefined
}

async function timed(work: Promise<unknown>): Promise<number> {
  const started_ms = performance.now()
  await work
  return performance.now() - started_ms
}

/**
 * Until the last of the servers has come back. One that a busy machine makes wait for an answer leaves Redis again, and
 * comes back again; that is no part of this return.
 */
async function untilTogether({ clients }: Scene): Promise<number> {
  const started_ms = performance.now()
  const untilBack = async ({ send }: Scene['client']) => {
    await sleep(100)
    while ((await send({ path: '/readyz' })).body.includes('degraded')) {
      if (performance.now() - started_ms > 2 * BACK_WITHIN_MS) return Number.POSITIVE_INFINITY
      await sleep(50)
    }
    return performance.now() - started_ms
  }
  return highest(await Promise.all(clients.map(untilBack)))
}

interface Found {
  heard: readonly Heard[]
  limit: number
  returns: Returns
  spent_micros: number
  decision: Awaited<ReturnType<typeof measureDecisions>> | undefined
}

function findings({ heard, limit, returns, spent_micros, decision }: Found) {
  const limit_micros = LIMIT_USD * 1_000_000
  const passed = (what: string) => heard.filter((one) => one.what === what && one.status === 200)
  const peaks = { busy: surelyWithin60s(passed('busy')), late: surelyWithin60s(passed('late')) }
  const failed = heard.filter(({ status }) => !ALLOWED_CODES.includes(status))
  const late_returns = Object.entries(returns.after).filter(([, took_ms]) => took_ms > BACK_WITHIN_MS)
  const times_ms = heard.map(({ sent_ms, heard_ms }) => heard_ms - sent_ms)
  const check = (name: string, found: readonly string[]): Check => ({ name, found })
  return {
    figures: {
      requests: heard.length,
      'the limit, a minute': limit,
      'most in 60 s, key that was busy before': peaks.busy,
      'most in 60 s, key that came while Redis was away': peaks.late,
      'refused with 429': count(heard, ({ status }) => status === 429),
      'answer p50, ms': round(percentile(times_ms, 0.5)),
      'answer p99, ms': round(percentile(times_ms, 0.99)),
      ...(returns.nodes_ms !== undefined && { 'nodes one again after pause, ms': round(returns.nodes_ms) }),
      ...Object.fromEntries(Object.entries(returns.after).map(([what, ms]) => [`back after ${what}, ms`, round(ms)])),
      'spent, micro-USD': spent_micros,
      'overshoot, micro-USD': Math.max(0, spent_micros - limit_micros),
      ...(decision && {
        'decision on Redis p50, ms': round(decision.redis_p50_ms, 3),
        'decision on Redis p99, ms': round(decision.redis_p99_ms, 3),
        'decision in memory p99, ms': round(decision.memory_p99_ms, 3),
        'bare round trip to Redis p99, ms': round(decision.ping_p99_ms, 3),
        'decisions that Redis was late for': decision.late,
      }),
    },
    checks: [
      check(
        'answers other than 200 and 429',
        failed.map(({ what, status }) => `${what}: ${status}`),
      ),
      check(
        'keys with more than the limit in 60 s',
        Object.entries(peaks).flatMap(([key, peak]) => (peak > limit ? [`${key}: ${peak} of ${limit}`] : [])),
      ),
      check('nobody was let through while Redis was away', peaks.late > 0 ? [] : ['0']),
      check(
        'not back within 5 s',
        late_returns.map(([what, took_ms]) => `after ${what}: ${round(took_ms)} ms`),
      ),
      check('spent more than the limit', spent_micros > limit_micros ? [`${spent_micros}`] : []),
      check('spent nothing', spent_micros > 0 ? [] : ['0']),
      ...(decision ? [check('decision p99 more than 2 ms above memory', slow(decision))] : []),
    ],
  }
}

/** Where a bare round trip takes as long, the machine is too busy to tell; then only what we add to it counts. */
const slow = ({ redis_p99_ms, memory_p99_ms, ping_p99_ms }: NonNullable<Found['decision']>) =>
  redis_p99_ms - Math.max(memory_p99_ms, ping_p99_ms > 2 ? ping_p99_ms * 1.5 : 0) > 2
    ? [`${round(redis_p99_ms, 3)} ms against ${round(memory_p99_ms, 3)} ms`]
    : []

const round = (value: number, places = 0) => Number(value.toFixed(places))
