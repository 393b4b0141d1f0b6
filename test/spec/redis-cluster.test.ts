// R50 over HTTP: replicas of one service on one Redis, and what clients, operators and balancers see of it when it goes.
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/start/config.ts'
import { openCounters } from '../../src/start/open-counters.ts'
import { limitSettings } from '../support/limit-scene.ts'
import { replicasOn, untilAll } from '../support/redis-replicas.ts'
import { ownRedisServer, type RedisServer } from '../support/redis-server.ts'
import { type Answer, startService } from '../support/service.ts'

const KEYS = '/v2/api-keys'

let redis: RedisServer
beforeEach(async () => {
  redis = await ownRedisServer()
})
afterEach(() => redis.stop())

test('F7b R49 replicas answer for one limit, not for one each; the headers of both tell the same', async () => {
  const settings = limitSettings({ key: { requests_per_minute: 6 } })
  const { startProcess, key, get } = await startService({ parts: { settings } })
  const other = (await startProcess('other')).as(key)
  const answers: Answer[] = []
  for (let n = 0; n < 5; n++) answers.push(await get(KEYS), await other.get(KEYS))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 429, 429, 429, 429])
  expect(answers.slice(0, 3).map(({ headers }) => headers.ratelimit)).toEqual([
    '"key-requests";r=5;t=61',
    '"key-requests";r=4;t=61',
    '"key-requests";r=3;t=61',
  ])
})

test('R50 Redis gone: requests go on, /readyz is 200 and says so, one line is logged, and it is over by itself', async () => {
  const { all } = await replicasOn(redis.url, 1)
  const [counters] = all
  const log: string[] = []
  const { get, as, metrics } = await startService({ log, parts: { ...(counters && { counters }) } })
  const lines = (text: string) => log.filter((line) => line.includes(text))
  const value = async (name: string) => (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value
  expect((await as().get('/readyz')).body).toEqual({ status: 'ready' })
  expect(await value('switchyard_counters_shared')).toBe(1)

  await redis.kill()
  for (let n = 0; n < 5; n++) expect((await get(KEYS)).status).toBe(200)
  expect(await as().get('/readyz')).toMatchObject({
    status: 200,
    body: { status: 'ready', degraded: ['Redis is away: rates are kept by share'] },
  })
  expect(await value('switchyard_counters_shared')).toBe(0)
  expect(await value('switchyard_counters_local_decisions_total')).toBeGreaterThanOrEqual(10)
  expect(lines('Redis is away')).toHaveLength(1)

  await redis.start()
  await untilAll(all, false)
  expect((await as().get('/readyz')).body).toEqual({ status: 'ready' })
  expect(await value('switchyard_counters_shared')).toBe(1)
  expect(lines('Redis is there').length).toBeGreaterThanOrEqual(1)
})

test('R50 what the settings say: a cluster, one replica that is told so, or a refusal', async () => {
  const told: string[] = []
  const logger = { info: (text: string) => void told.push(text) } as never
  const open = (env: Record<string, string>) => openCounters(readConfig(env), systemClock, 'one', logger)
  expect(await open({})).toBeUndefined()
  expect(told).toEqual([])
  expect(await open({ DATABASE_URL: 'postgres://db/switchyard' })).toBeUndefined()
  expect(told).toEqual(['without REDIS_URL this must be the only replica: others would count rates apart'])
  await expect(open({ REDIS_URL: redis.url })).rejects.toThrow(/^REDIS_URL needs DATABASE_URL: /)
  const counters = await open({ DATABASE_URL: 'postgres://db/switchyard', REDIS_URL: redis.url })
  onTestFinished(async () => void (await counters?.close()))
  expect(counters?.isAway()).toBe(false)
})

test('R50 a stop ends the connection, whether Redis answers or not', async () => {
  const { all } = await replicasOn(redis.url, 2)
  await all[0]?.close()
  redis.pause()
  const started_ms = performance.now()
  await all[1]?.close()
  expect(performance.now() - started_ms).toBeLessThan(2_000)
  redis.resume()
})
