// R50: Redis paused, killed, flushed, refusing or never there. Each replica keeps to its share, at once; what it let
// through is told to Redis when that is back; and what all let through together stays within the limit.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask, leftOf, streamAsk } from '../../test/support/counters-suite.ts'
import { freePort } from '../../test/support/free-port.ts'
import { networkTo } from '../../test/support/redis-network.ts'
import { passing, replicaOn, replicasOn, untilAll } from '../../test/support/redis-replicas.ts'
import { onServer, ownRedisServer, type RedisServer } from '../../test/support/redis-server.ts'
import { systemClock } from '../core/clock.ts'
import type { SharedCounters, Verdict } from './counters.ts'
import { ANSWER_MS, SETTLING_MS } from './redis-session.ts'

let server: RedisServer
beforeEach(async () => {
  server = await ownRedisServer()
})
afterEach(async () => {
  server.resume()
  await server.stop()
})

const now = () => systemClock.now()
const LIMIT = 90
const one = ask({ limit: LIMIT })

/** A busy machine is no Redis that is away: where every call counts, nobody must take it for one. */
const patient = () => ({ answer_ms: 2_500 })

/** The ways in which Redis can leave, and how it comes back. */
const LEAVING = {
  paused: { leave: async () => server.pause(), back: async () => server.resume() },
  killed: { leave: () => server.kill(), back: () => server.start() },
}

describe.each(Object.entries(LEAVING))('%s', (_way, { leave, back }) => {
  test('R50 the first decision waits less than 100 ms for an answer, those behind it do not wait at all', async () => {
    // Replicas that fall back one after the other: the quickest shows how long we wait, not how busy the machine is.
    const { all } = await replicasOn(server.url, 5)
    await passing(all, 10, one)
    await untilAll(all, false)
    await leave()
    let took_ms = Number.POSITIVE_INFINITY
    for (const replica of all) {
      const started_ms = performance.now()
      expect((await replica.take([one], now())).kind).toBe('taken')
      took_ms = Math.min(took_ms, performance.now() - started_ms)
      expect(replica.take([one], now())).not.toBeInstanceOf(Promise)
    }
    process.stdout.write(`R50 decided without Redis after ${took_ms.toFixed(1)} ms\n`)
    expect(ANSWER_MS).toBeLessThan(100)
    expect(took_ms).toBeLessThan(2_000) // and the machine's own time
  })

  test('R50 what all let through stays within the limit: before, while it is away, and after it is back', async () => {
    const { all } = await replicasOn(server.url, 3, patient)
    const before = await passing(all, 60, one)
    await leave()
    const away = await passing(all, 120, one)
    await back()
    const took_ms = await untilAll(all, false)
    const after = await passing(all, 120, one)
    process.stdout.write(`R50 ${before} + ${away} + ${after} of ${LIMIT}, back after ${took_ms.toFixed(0)} ms\n`)
    expect([before, away, after]).toEqual([60, 30, 0])
    expect(await Promise.all(all.map((replica) => leftOf(replica, one)))).toEqual([0, 0, 0])
  })

  test('R50 what was not used while it was away can be used when it is back', async () => {
    const { all } = await replicasOn(server.url, 3, patient)
    await passing(all, 30, one)
    await leave()
    expect(await passing(all, 9, one)).toBe(9)
    await back()
    await untilAll(all, false)
    expect(await passing(all, 120, one)).toBe(LIMIT - 39)
  })

  test('planted: replicas that do not know of each other are caught, each lets the whole rest through', async () => {
    const { all } = await replicasOn(server.url, 3)
    for (const [n, replica] of all.entries()) replica.shareAmong([`replica ${n}`])
    const before = await passing(all, 30, one)
    await leave()
    expect(before + (await passing(all, 300, one))).toBeGreaterThan(1.5 * LIMIT)
  })

  test('R50 streams: a share while it is away; open ones are on record when it is back, ended ones are not', async () => {
    const { all } = await replicasOn(server.url, 3, patient)
    const [a, b] = all as [SharedCounters, SharedCounters]
    const open = (replica: SharedCounters, id: string) => replica.take([], now(), [streamAsk(id, 6)])
    expect((await open(a, 'one')).kind).toBe('taken')
    expect((await open(b, 'two')).kind).toBe('taken')
    await leave()
    expect([(await open(a, 'three')).kind, (await open(a, 'four')).kind]).toEqual(['taken', 'refused'])
    await b.release(streamAsk('two', 6).lease)
    await passing(all, 3, one)
    await back()
    await untilAll(all, false)
    const kinds: string[] = []
    for (let n = 0; n < 5; n++) kinds.push((await open(b, `later ${n}`)).kind)
    expect(kinds).toEqual(['taken', 'taken', 'taken', 'taken', 'refused'])
  })

  test('F10 tokens that are settled while it is away, or after, come back to the last one', async () => {
    const { all } = await replicasOn(server.url, 3, patient)
    const [a] = all as [SharedCounters]
    const tokens = (amount: number) => ask({ name: 'tokens_per_minute', limit: 3_000, amount })
    const settle = (verdict: Verdict, by: number) => a.correct([{ ...tokens(0), second: secondOf(verdict), by }])
    const before = await a.take([tokens(300)], now())
    await leave()
    const away = [await a.take([tokens(200)], now()), await a.take([tokens(200)], now())] as const
    await settle(before, -200)
    await settle(away[0], -150)
    await passing(all, 3, one)
    await back()
    await untilAll(all, false)
    await settle(away[1], -150)
    expect(await leftOf(a, tokens(0))).toBe(3_000 - 100 - 50 - 50)
  })
})

const secondOf = (verdict: Verdict) => (verdict.kind === 'taken' ? verdict.second : Number.NaN)

describe('flushed', () => {
  test('R50 what was let through is told to it again: no window has more than the limit', async () => {
    const { all } = await replicasOn(server.url, 3)
    const before = await passing(all, 60, one)
    await server.flush()
    let passed = before + (await passing(all, 60, one))
    await untilAll(all, false)
    passed += await passing(all, 60, one)
    expect(passed).toBe(LIMIT)
  })

  /** Sixty over three replicas, a flush, and from then on only the first of them is asked, until it says no for good. */
  async function passedAlone(settling_ms: number): Promise<number> {
    const { all } = await replicasOn(server.url, 3, () => ({ settling_ms }))
    const [first] = all as [SharedCounters]
    let passed = await passing(all, 60, one)
    await server.flush()
    passed += await passing([first], 60, one)
    await untilAll([first], false)
    return passed + (await passing([first], 120, one))
  }

  test('R50 replicas that nobody asks tell it as well, before anybody believes it', async () => {
    expect(await passedAlone(SETTLING_MS)).toBe(LIMIT)
  })

  test('planted: a replica that believes it at once is caught', async () => {
    expect(await passedAlone(0)).toBeGreaterThan(LIMIT)
  })

  test('planted: a Redis that nobody tells again is caught', async () => {
    const { all } = await replicasOn(server.url, 3)
    await passing(all, 60, one)
    const fresh = await replicasOn(server.url, 3)
    expect(60 + (await passing(fresh.all, 120, one))).toBeGreaterThan(1.5 * LIMIT)
  })
})

describe('started again from an old dump', () => {
  test.each([
    ['R50 what was let through since is told to it again: the limit stays used up', [30, 60, 0]],
    ['R50 what the dump has is not counted twice when all is told again', [30, 0, 60]],
  ])('%s', async (_what, [before, since, after] = []) => {
    const { all } = await replicasOn(server.url, 3, patient)
    const passed = [await passing(all, before as number, one)]
    await onServer(server.url, (redis) => redis.save())
    passed.push(await passing(all, since as number, one))
    await server.kill()
    await untilAll(all, true)
    await server.start()
    await untilAll(all, false)
    passed.push(await passing(all, 120, one))
    expect(passed).toEqual([before, since, after])
  })
})

describe('shares', () => {
  test('R50 what is more than a share but not than the limit is refused with a time, and the limit as it is', async () => {
    const { all } = await replicasOn(server.url, 3)
    await server.kill()
    await passing(all, 3, one)
    const big = ask({ name: 'tokens_per_minute', limit: 300, amount: 150 })
    expect(await all[0]?.take([big], now())).toMatchObject({ kind: 'refused', wait_s: 5, readings: [{ left: 100 }] })
    expect(await all[0]?.take([{ ...big, amount: 301 }], now())).toMatchObject({ wait_s: undefined })
  })

  test('R50 what does not divide goes to the first: a limit of one is one, not none and not three', async () => {
    const { all } = await replicasOn(server.url, 3)
    await server.kill()
    expect(await passing(all, 30, ask({ limit: 1, subject: 'a' }))).toBe(1)
    expect(await passing(all, 30, ask({ limit: 5, subject: 'b' }))).toBe(5)
  })
})

describe('at the start', () => {
  test('R50 one that is not there yet keeps nobody from starting, and is found when it comes', async () => {
    await server.kill()
    const counters = await replicaOn(server.url, { clock: systemClock })
    expect(counters.isAway()).toBe(true)
    expect((counters.take([one], now()) as Verdict).kind).toBe('taken')
    await server.start()
    await untilAll([counters], false)
    expect(await leftOf(counters, one)).toBe(LIMIT - 1)
  })

  test('R50 who has let something through by then tells it, and believes no count before all others have told theirs', async () => {
    await server.kill()
    const { all } = await replicasOn(server.url, 3, () => ({ ...patient(), settling_ms: SETTLING_MS }))
    let passed = await passing(all, 120, one)
    expect(passed).toBe(LIMIT)
    await server.start()
    while (all.some((replica) => replica.isAway())) {
      passed += await passing(all, 3, one)
      await new Promise((turn) => setImmediate(turn))
    }
    passed += await passing(all, 120, one)
    expect(passed).toBe(LIMIT)
  })

  test('R50 nothing at the address at all', async () => {
    const counters = await replicaOn(`redis://127.0.0.1:${await freePort()}`, { clock: systemClock })
    expect(counters.isAway()).toBe(true)
  })

  test('R50 one that wants another password stops the start', async () => {
    await onServer(server.url, (redis) => redis.config('SET', 'requirepass', 'open sesame'))
    await expect(replicaOn(server.url)).rejects.toThrow(/NOAUTH/)
    await expect(replicaOn(server.url.replace('://', '://:wrong@'))).rejects.toThrow(/WRONGPASS/)
    const counters = await replicaOn(server.url.replace('://', '://:open%20sesame@'))
    expect(counters.isAway()).toBe(false)
  })
})

// It would count in database 0 without a word, together with whoever else counts there.
test.each([
  ['that it does not have', '16', 'ERR DB index is out of range'],
  ['that nobody has', '99999999999', 'ERR value is out of range'],
])('R50 a database %s stops the start, and nothing is counted elsewhere', async (_which, database, reason) => {
  await expect(replicaOn(`${server.url}/${database}`)).rejects.toThrow(reason)
  expect(await onServer(server.url, (redis) => redis.dbsize())).toBe(0)
  const last = await replicaOn(`${server.url}/15`, patient())
  expect([(await last.take([one], now())).kind, last.isAway()]).toEqual(['taken', false])
  expect(await onServer(server.url, (redis) => redis.dbsize())).toBe(0)
})

test('R50 one that may not be written to is away, until it may', async () => {
  const { all } = await replicasOn(server.url, 2)
  await passing(all, 10, one)
  const set = (value: string) => onServer(server.url, (redis) => redis.config('SET', 'maxmemory', value))
  await set('1')
  expect(await passing(all, 10, one)).toBe(10)
  expect(all.map((replica) => replica.isAway())).toEqual([true, true])
  await set('0')
  await untilAll(all, false)
  expect(await leftOf(all[0] as SharedCounters, one)).toBe(LIMIT - 20)
})

test('R50 a connection that goes silent while Redis is told what ended is given up, and what ended is told again', async () => {
  const network = await networkTo(server.url)
  const { all, prefix } = await replicasOn(network.url, 1, () => ({ settling_ms: 500 }))
  const [counters] = all as [SharedCounters]
  const { lease } = streamAsk('ended', 1)
  expect((await counters.take([], now(), [streamAsk('ended', 1)])).kind).toBe('taken')
  network.swallowFrom('zrem')
  network.cut()
  await untilAll(all, true)
  await counters.release(lease)
  await expect.poll(network.hasSwallowed).toBe(true)
  await untilAll(all, false)
  const another = await replicaOn(server.url, { prefix, clock: systemClock })
  expect((await another.take([], now(), [streamAsk('next', 1)])).kind).toBe('taken')
})
