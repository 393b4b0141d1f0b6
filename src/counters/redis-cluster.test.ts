// 0351: the counters of replicas on a real Redis Cluster of three nodes. All that holds on one Redis holds here; besides,
// every script stays within one slot, slots may move, and a node that fails takes with it only what it counted.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, countersSuite, leftOf, streamAsk } from '../../test/support/counters-suite.ts'
import { type RedisNodes, redisNodes, tagOf } from '../../test/support/redis-nodes.ts'
import { freshPrefix, passing, replicaOn, replicasOn, untilAll } from '../../test/support/redis-replicas.ts'
import { onServer, type RedisServer, redisServer } from '../../test/support/redis-server.ts'
import { systemClock } from '../core/clock.ts'
import type { Ask, SharedCounters } from './counters.ts'
import { SHARDS, shardOf, shardTags, slotOf } from './hash-slot.ts'
import { cellOf, namesIn } from './take-call.ts'

let cluster: RedisNodes
beforeAll(async () => {
  cluster = await redisNodes()
})
afterAll(() => cluster.stop())

const PATIENT = { answer_ms: 20_000 }
/** Long enough for a busy machine, short enough that a node which is gone is noticed. */
const SOON = { answer_ms: 2_500 }
const now = () => systemClock.now()
const LIMIT = 90

countersSuite(() => replicaOn(cluster.url, PATIENT))

/** A home for every shard, so that whatever is asked of all of them is asked of every node. */
function homes(): string[] {
  const found: string[] = []
  for (let n = 0; found.filter(Boolean).length < SHARDS; n++) found[shardOf(`prj_${n}`)] ??= `prj_${n}`
  return found
}

describe('slots', () => {
  test('0351 a slot is what Redis says it is, and tags are spread evenly over the nodes', async () => {
    const keys = ['', 'a', '{b}c', 'x{}y', '{{b}c', 'ü€', ...shardTags('switchyard')]
    const told = await onServer((cluster.nodes[0] as RedisServer).url, (redis) =>
      Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key))),
    )
    expect(keys.map(slotOf)).toEqual(told)
    const held = await Promise.all(homes().map((home) => cluster.holderOf('{switchyard}', home)))
    const counts = cluster.nodes.map((node) => held.filter((one) => one === node).length)
    expect(counts.toSorted()).toEqual([5, 5, 6])
  })

  test('0351 all that a decision, a correction, a stream or an exchange touches is in the slot of its shard', async () => {
    const prefix = freshPrefix()
    const counters = await replicaOn(cluster.url, { ...PATIENT, prefix, clock: systemClock })
    for (const home of homes()) {
      const asks = [
        ask({ layer: 'edge', name: 'read_per_minute', subject: '203.0.113.7', home }),
        ask({ subject: 'key_{1}', home }),
        ask({ layer: 'project', subject: home, home }),
      ]
      const lease = { lease: { subject: 'key_{1}', home, id: 's' }, limit: 3, shadow: false }
      const verdict = await counters.take(asks, now(), [lease])
      expect(verdict.kind).toBe('taken')
      await counters.renew([lease.lease], now())
    }
    await counters.exchange('said', '')
    expect(counters.isAway()).toBe(false)
    const slots = new Set(shardTags(prefix.slice(1, -1)).map(slotOf))
    const kept = (
      await Promise.all(
        cluster.nodes.map(({ url }) => onServer(url, (redis) => redis.keys(`{${prefix.slice(1, -1)}*`))),
      )
    ).flat()
    expect(kept).toHaveLength(SHARDS * 5 + 1)
    expect(kept.filter((key) => !slots.has(slotOf(key)))).toEqual([])
  })

  test('0351 every name of a shard carries its tag; Redis refuses a decision in which one does not', async () => {
    const [tag = ''] = shardTags('switchyard')
    const names = namesIn(tag)
    const some = { layer: 'key' as const, name: 'requests_per_minute', subject: '{other}key' }
    const all = [names.era, names.said, names.cell('era', cellOf(some)), names.leases('{other}key')]
    expect(new Set(all.map(slotOf))).toEqual(new Set([slotOf(tag)]))
    const holder = await cluster.holderOf('{switchyard}', homes()[0] as string)
    const planted = onServer(holder.url, (redis) => redis.eval('return 1', 2, names.era, 'streams:key'))
    await expect(planted).rejects.toThrow('CROSSSLOT')
  })

  test('0351 corrections, renewals and releases of several homes reach each its own shard', async () => {
    const counters = await replicaOn(cluster.url, PATIENT)
    const asks = homes().map((home) => ask({ subject: home, home, limit: 5, amount: 3 }))
    const taken = await Promise.all(asks.map((one) => counters.take([one], 1_000_000)))
    await counters.correct(
      asks.map((one, n) => ({ ...one, second: taken[n]?.kind === 'taken' ? taken[n].second : 0, by: -2 })),
    )
    expect(await Promise.all(asks.map((one) => leftOf(counters, one, 1_000_000)))).toEqual(asks.map(() => 4))
    expect(counters.isAway()).toBe(false)
  })
})

describe('between replicas', () => {
  test('F7b of 600 for each of 16 projects, over three replicas at once, exactly the limit passes', async () => {
    const { all } = await replicasOn(cluster.url, 3, () => PATIENT)
    const limited = homes().map((home) => ask({ subject: home, home, limit: 50 }))
    const passed = new Map<string, number>()
    for (let wave = 0; wave < 10; wave++) {
      const tries = limited.flatMap((one) =>
        all.flatMap((replica) => Array.from({ length: 20 }, () => ({ one, replica }))),
      )
      await Promise.all(
        tries.map(async ({ one, replica }) => {
          if ((await replica.take([one], 0)).kind === 'taken') passed.set(one.home, (passed.get(one.home) ?? 0) + 1)
        }),
      )
    }
    expect([...passed.values()]).toEqual(limited.map(() => 50))
    expect(all.map((one) => one.isAway())).toEqual([false, false, false])
  })

  test('R84 what one says the others hear', async () => {
    const { all } = await replicasOn(cluster.url, 2, () => PATIENT)
    const [a, b] = all as [SharedCounters, SharedCounters]
    const begun = await b.exchange('', '')
    await a.exchange('hello', '')
    expect(await b.exchange('', begun?.last ?? '')).toMatchObject({ heard: ['hello'] })
  })
})

describe('slots that move', () => {
  const anotherNode = async (prefix: string, home: string) => {
    const holder = await cluster.holderOf(prefix, home)
    return cluster.nodes.find((node) => node !== holder) as RedisServer
  }

  test('0351 ASK and MOVED are followed: no decision is lost or counted twice, and nobody falls back', async () => {
    const { all, prefix } = await replicasOn(cluster.url, 3, () => PATIENT)
    const one = ask({ limit: LIMIT })
    const passed = [await passing(all, 30, one)]
    const to = await anotherNode(prefix, one.home)
    await cluster.move(slotOf(tagOf(prefix, one.home)), to, 1, async () => {
      passed.push(await passing(all, 30, one))
    })
    expect(await cluster.holderOf(prefix, one.home)).toBe(to)
    passed.push(await passing(all, 120, one))
    expect(passed).toEqual([30, 30, 30])
    expect(all.map((replica) => replica.isAway())).toEqual([false, false, false])
  })

  test('0351 a decision whose keys are on both sides is made by share, and told afterwards', async () => {
    const { all, prefix } = await replicasOn(cluster.url, 3, () => SOON)
    const one = ask({ limit: LIMIT })
    let passed = await passing(all, 30, one)
    const to = await anotherNode(prefix, one.home)
    await cluster.move(slotOf(tagOf(prefix, one.home)), to, 0.5, async () => {
      passed += await passing(all, 30, one)
    })
    await untilAll(all, false)
    passed += await passing(all, 120, one)
    expect(passed).toBe(LIMIT)
  })
})

describe('a node fails', () => {
  const elsewhere = async (prefix: string, gone: RedisServer): Promise<Ask> => {
    for (const home of homes())
      if ((await cluster.holderOf(prefix, home)) !== gone) return ask({ subject: home, home, limit: LIMIT })
    throw new Error('no home is elsewhere')
  }

  test.each(['paused', 'killed'] as const)(
    'R50 one node %s: its counts go by share, those of others stay exact',
    async (way) => {
      const { all, prefix } = await replicasOn(cluster.url, 3, () => SOON)
      const one = ask({ limit: LIMIT })
      const node = await cluster.holderOf(prefix, one.home)
      const other = await elsewhere(prefix, node)
      const before = await passing(all, 60, one)
      await (way === 'paused' ? node.pause() : node.kill())
      const away = await passing(all, 120, one)
      const decisions = { shared: 0, local: 0 }
      all[0]?.watch({ onChange() {}, onDecision: ({ shared }) => void decisions[shared ? 'shared' : 'local']++ })
      expect(await passing(all, 120, other)).toBe(LIMIT)
      expect(decisions).toEqual({ shared: 40, local: 0 })
      expect(all.map((replica) => replica.isAway())).toEqual([true, true, true])
      await (way === 'paused' ? node.resume() : node.start())
      await untilAll(all, false)
      const after = await passing(all, 120, one)
      expect([before, away, after]).toEqual([60, 30, 0])
    },
  )

  test('R50 all nodes flushed: what was let through is told again', async () => {
    const { all } = await replicasOn(cluster.url, 3)
    const one = ask({ limit: LIMIT })
    let passed = await passing(all, 60, one)
    await cluster.flush()
    passed += await passing(all, 60, one)
    await untilAll(all, false)
    passed += await passing(all, 60, one)
    expect(passed).toBe(LIMIT)
  })

  test('R50 a replica of Redis takes the place of a node that is gone for good, and is found', async () => {
    const { all, prefix } = await replicasOn(cluster.url, 3, () => SOON)
    const one = ask({ limit: LIMIT })
    const node = await cluster.holderOf(prefix, one.home)
    const spare = await cluster.addReplica(node)
    const before = await passing(all, 60, one)
    await onServer(node.url, (redis) => redis.wait(1, 2_000))
    await node.kill()
    const away = await passing(all, 120, one)
    const took_ms = await untilAll(all, false)
    process.stdout.write(`R50 counted by the replica of a node that was killed after ${took_ms.toFixed(0)} ms\n`)
    expect(await onServer(spare.url, (redis) => redis.info('replication'))).toContain('role:master')
    expect([before, away, await passing(all, 120, one)]).toEqual([60, 30, 0])
    await node.start()
  })
})

describe('what REDIS_URL says', () => {
  test('0351 a node of a cluster as one Redis, or one Redis as a cluster, stops the start and says why', async () => {
    const slot = slotOf('{switchyard}')
    const outcomes = await Promise.allSettled(
      cluster.nodes.map(({ url }) => replicaOn(url, { prefix: '{switchyard}', ...PATIENT })),
    )
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))
    expect(refused.length).toBeGreaterThanOrEqual(2)
    for (const reason of refused) expect(reason).toMatch(new RegExp(`^MOVED ${slot} 127`))
    const single = await redisServer()
    await expect(replicaOn(single.url.replace('redis:', 'redis+cluster:'))).rejects.toThrow('cluster support disabled')
    await single.stop()
  })

  test('0351 nodes that are not there keep nobody from starting where one is', async () => {
    const [node] = cluster.nodes as [RedisServer]
    const counters = await replicaOn(`redis+cluster://127.0.0.1:1,${new URL(node.url).host}`, PATIENT)
    expect(counters.isAway()).toBe(false)
    expect((await counters.take([], 1, [streamAsk('s', 1)])).kind).toBe('taken')
  })
})
