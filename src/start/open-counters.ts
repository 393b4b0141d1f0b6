// What rates are counted in, as the settings say: with DATABASE_URL and REDIS_URL a cluster counts together; without
// REDIS_URL each process counts by itself, in memory.
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { SharedCounters } from '../counters/counters.ts'
import { slidingWindow } from '../limits/sliding-window.ts'
import { type Config, SettingError } from './config.ts'

/** Undefined where this process is to count by itself. */
export async function openCounters(
  { database_url, redis_url: url }: Config,
  clock: Clock,
  process_id: string,
  logger: FastifyBaseLogger,
): Promise<SharedCounters | undefined> {
  if (url && !database_url)
    throw new SettingError('REDIS_URL needs DATABASE_URL: the embedded store has one server, which counts by itself.')
  if (url) {
    const { redisCounters } = await import('../counters/redis.ts') // a client that the embedded mode need not load
    return redisCounters({ url, rule: slidingWindow, process_id, clock }).catch((error) => {
      const hint = error.message.startsWith('MOVED') ? ' It is a node of a cluster: write redis+cluster://.' : ''
      throw new SettingError(`REDIS_URL is refused by Redis: ${error.message}.${hint}`)
    })
  }
  if (database_url) logger.info('without REDIS_URL this must be the only replica: others would count rates apart')
  return undefined
}
