// One connection to Redis, for as long as it is of use: it never dials again by itself and never queues what it cannot
// send. Whoever holds it decides when to give it up (counters/redis.ts); then a fresh one is dialled.
import { Redis } from 'ioredis'
import type { Script } from './redis-scripts.ts'

export interface Link {
  /** Rejects where Redis refuses, or the connection ends before the answer. */
  run(script: Script, keys: readonly string[], args: Arguments): Promise<unknown>
  /** Takes an id out of a sorted set. */
  remove(key: string, id: string): Promise<unknown>
  /** Lets what is under way end, then hangs up. */
  quit(): Promise<void>
  /** Hangs up; what is under way is rejected. */
  drop(): void
}

type Arguments = readonly (string | number)[]

/** Of a Redis Cluster. `asking`: another node sent us here, for a slot that this one is just being handed. */
export interface NodeLink extends Link {
  run(script: Script, keys: readonly string[], args: Arguments, asking?: boolean): Promise<unknown>
  remove(key: string, id: string, asking?: boolean): Promise<unknown>
  /** Who holds which slots, as far as this node knows. */
  slots(): Promise<readonly SlotRange[]>
}

export interface SlotRange {
  from: number
  to: number
  /** Of the primary, as the node writes it: a host and a port. */
  address: string
}

const KEEPALIVE_MS = 5_000

// As Redis refuses the number at the end of a URL; where a script stumbles over a value, its name follows these words.
const NO_DATABASE =
  /^ERR ((DB index is|value is not an integer or) out of range|invalid DB index|(value is out of range,|SELECT is) .*)$/
/** Redis answered, and does not want us, or not in this way: nothing that waiting would mend. */
export const isLockedOut = (error: unknown) => {
  const { message } = error as Error
  if (NO_DATABASE.test(message)) return true
  return /^(WRONGPASS|NOAUTH|NOPERM|MOVED|ERR This instance has cluster support disabled)\b/.test(message)
}

/** Resolves once Redis lets us in; rejects after `within_ms` where it does not. `onEnd`: it has hung up. */
export async function dial(url: string, within_ms: number, onEnd: (reason: Error) => void): Promise<NodeLink> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: within_ms,
    keepAlive: KEEPALIVE_MS,
    retryStrategy: () => null,
    reconnectOnError: null,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false, // the greeting asks for more: whether the scripts run and may write
    connectionName: 'switchyard',
    disableClientInfo: true,
  })
  let broken: Error | undefined
  redis.on('error', (error: Error) => {
    broken = error
  })
  await entered(redis, within_ms).catch((error) => {
    redis.disconnect()
    throw broken ?? error // what is rejected names the consequence, what was emitted before it the cause
  })
  redis.once('end', () => onEnd(broken ?? new Error('Redis hung up')))
  const oneWrite = corked(redis)

  // It holds for the one command behind it. Where it fails, that command does too.
  const askFirst = () => void redis.asking().catch(() => {})

  return {
    async run({ sha, text }, keys, args, asking = false) {
      oneWrite()
      if (asking) askFirst()
      try {
        return await redis.evalsha(sha, keys.length, ...keys, ...args)
      } catch (error) {
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
        if (asking) askFirst()
        return redis.eval(text, keys.length, ...keys, ...args)
      }
    },
    remove(key, id, asking = false) {
      oneWrite()
      if (asking) askFirst()
      return redis.zrem(key, id)
    },
    async slots() {
      const ranges = await redis.cluster('SLOTS')
      return ranges.map(([from, to, primary]) => ({ from, to, address: `${primary?.[0] ?? ''}:${primary?.[1]}` }))
    },
    quit: async () => {
      await redis.quit().catch(() => redis.disconnect())
    },
    drop: () => redis.disconnect(),
  }
}

/**
 * A server that is stopped still accepts connections, by its kernel; only an answer counts. The database is selected
 * here, since ioredis goes on in database 0 where its own SELECT is refused.
 */
async function entered(redis: Redis, within_ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not answer within ${within_ms} ms`)), within_ms)
  })
  try {
    const { db } = redis.options
    await Promise.race([redis.connect().then(() => (db ? redis.select(db) : redis.ping())), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What is asked for in one turn of the event loop goes out in one write. */
function corked(redis: Redis): () => void {
  let is_corked = false
  return () => {
    if (is_corked) return
    is_corked = true
    const { stream } = redis
    stream.cork()
    process.nextTick(() => {
      is_corked = false
      stream.uncork()
    })
  }
}
