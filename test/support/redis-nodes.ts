// A real Redis Cluster for tests: three primaries of our own on loopback, put together by the package's own tool.
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { shardOf, shardTags, slotOf } from '../../src/counters/hash-slot.ts'
import { freePort } from './free-port.ts'
import { need } from './provision.ts'
import { onServer, type RedisServer, startRedis } from './redis-server.ts'

export interface RedisNodes extends RedisServer {
  nodes: readonly RedisServer[]
  /** Resolves once every node knows of every slot and takes writes: they may have lost each other in between. */
  untilWhole(): Promise<void>
  /** The node that counts for a home, of the replicas with this prefix. */
  holderOf(prefix: string, home: string): Promise<RedisServer>
  /** Hands a slot over, with its keys; `midway` runs when this part of them has gone. */
  move(slot: number, to: RedisServer, part: number, midway: () => Promise<void>): Promise<void>
  /** A further node, with all that `of` has, ready to take its place. */
  addReplica(of: RedisServer): Promise<RedisServer>
}

const NODES = 3
const NODE_TIMEOUT_MS = 1_000
const run = promisify(execFile)

export const portOf = ({ url }: RedisServer) => new URL(url).port
const hostPort = (node: RedisServer) => `127.0.0.1:${portOf(node)}`
const all = async (nodes: readonly RedisServer[], work: (node: RedisServer) => Promise<unknown> | unknown) =>
  void (await Promise.all(nodes.map(work)))

export async function redisNodes(): Promise<RedisNodes> {
  const binary = await need('Redis')
  const nodes: RedisServer[] = []
  for (let n = 0; n < NODES; n++) nodes.push(await startNode(binary)) // one after the other: each needs two free ports
  const cli = binary.replace(/-server$/, '-cli')
  await run(cli, ['--cluster', 'create', ...nodes.map(hostPort), '--cluster-yes'])
  await untilWhole(nodes)
  const extra: RedisServer[] = []
  const every = () => [...nodes, ...extra]

  async function holder(slot: number): Promise<RedisServer> {
    const { address } = await onServer((nodes[0] as RedisServer).url, (redis) => rangeOf(redis.cluster('SLOTS'), slot))
    const found = every().find((node) => hostPort(node) === address)
    if (!found) throw new Error(`no node of ours holds slot ${slot}`)
    return found
  }

  return {
    url: `redis+cluster://${nodes.map(hostPort).join(',')}`,
    nodes,
    untilWhole: () => untilWhole(nodes),
    kill: () => all(nodes, (node) => node.kill()),
    async start() {
      await all(nodes, (node) => node.start())
      await untilWhole(nodes)
    },
    pause: () => nodes.forEach((node) => void node.pause()),
    resume: () => nodes.forEach((node) => void node.resume()),
    flush: () => all(nodes, (node) => node.flush()),
    stop: () => all(every(), (node) => node.stop()),
    holderOf: (prefix, home) => holder(slotOf(tagOf(prefix, home))),

    async move(slot, to, part, midway) {
      const from = await holder(slot)
      const [from_id, to_id] = [await idOf(from), await idOf(to)]
      await onServer(to.url, (redis) => redis.cluster('SETSLOT', slot, 'IMPORTING', from_id))
      await onServer(from.url, (redis) => redis.cluster('SETSLOT', slot, 'MIGRATING', to_id))
      const keys = await onServer(from.url, (redis) => redis.cluster('GETKEYSINSLOT', slot, 1_000))
      await handOver(from, to, keys.slice(0, Math.ceil(keys.length * part)))
      await midway()
      await handOver(from, to, await onServer(from.url, (redis) => redis.cluster('GETKEYSINSLOT', slot, 1_000)))
      for (const node of [to, from, ...nodes])
        await onServer(node.url, (redis) => redis.cluster('SETSLOT', slot, 'NODE', to_id))
    },

    async addReplica(of) {
      const node = await startNode(binary)
      extra.push(node)
      const primary = await idOf(of)
      await run(cli, [
        '--cluster',
        'add-node',
        hostPort(node),
        hostPort(of),
        '--cluster-slave',
        '--cluster-master-id',
        primary,
      ])
      await until('a replica to be in step', () =>
        onServer(node.url, async (redis) => (await redis.info('replication')).includes('master_link_status:up')),
      )
      return node
    },
  }
}

export const tagOf = (prefix: string, home: string) => shardTags(prefix.slice(1, -1))[shardOf(home)] as string

/** Another program may take a port that was free: then it is tried again with others. */
async function startNode(binary: string, tries = 3): Promise<RedisServer> {
  const bus = ['--cluster-port', String(await freePort()), '--cluster-node-timeout', String(NODE_TIMEOUT_MS)]
  try {
    return await startRedis(binary, ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no', ...bus])
  } catch (error) {
    if (tries === 1) throw error
    return startNode(binary, tries - 1)
  }
}

type Slots = Promise<[number, number, ...[string, number, ...unknown[]][]][]>

async function rangeOf(slots: Slots, slot: number): Promise<{ address: string }> {
  const found = (await slots).find(([from, to]) => from <= slot && slot <= to)
  return { address: `${found?.[2]?.[0]}:${found?.[2]?.[1]}` }
}

const idOf = ({ url }: RedisServer) => onServer(url, async (redis) => String(await redis.cluster('MYID')))

async function handOver(from: RedisServer, to: RedisServer, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const call = ['127.0.0.1', portOf(to), '', '0', '5000', 'KEYS', ...keys]
  await onServer(from.url, (redis) => redis.call('MIGRATE', ...call))
}

/** Every node knows of every slot, and takes writes. */
async function untilWhole(nodes: readonly RedisServer[]): Promise<void> {
  for (const { url } of nodes)
    await until('the cluster', () =>
      onServer(url, async (redis) => /cluster_state:ok.*cluster_slots_ok:16384/s.test(await redis.cluster('INFO'))),
    )
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await isSo()) return
    await sleep(50)
  }
  throw new Error(`${what} took more than 20 s`)
}
