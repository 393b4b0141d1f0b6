// §8.1 put together: the limits, what counts for them, and who hears of a refusal.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { type Counters, isShared, type SharedCounters } from '../counters/counters.ts'
import { leaseRenewal } from '../counters/lease-renewal.ts'
import { memoryCounters } from '../counters/memory.ts'
import { limitGenerations } from '../limits/generation-hooks.ts'
import { type LimitNeeds, limiting } from '../limits/limit-hooks.ts'
import { slidingWindow } from '../limits/sliding-window.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { GatewaySettings } from './gateway-settings.ts'

export interface RateLimitParts {
  clock: Clock
  logger: FastifyBaseLogger
  settings: Pick<GatewaySettings, 'limits' | 'trusted_proxies'>
  metrics: Pick<
    Metrics,
    | 'limitRefusals'
    | 'limitsSpared'
    | 'openStreams'
    | 'parallelRequests'
    | 'countersShared'
    | 'localDecisions'
    | 'sharedDecisions'
  >
  counters?: Counters | undefined
}

export function rateLimits(app: FastifyInstance, parts: RateLimitParts) {
  const { clock, logger, settings, metrics, counters = memoryCounters(slidingWindow) } = parts
  const { limits, trusted_proxies = [] } = settings
  const logSpared = sparedLog(clock, logger)
  if (isShared(counters)) watchShared(counters, parts)
  const limited = limiting(app, {
    counters,
    clock,
    limits,
    trusted_proxies,
    onRefusal: (refused) => metrics.limitRefusals.inc(refused),
    onSpared(spared) {
      metrics.limitsSpared.inc({ layer: spared.layer, limit: spared.limit })
      logSpared(spared)
    },
  })
  const streams = leaseRenewal(counters, clock, (open) => metrics.openStreams.set(open))
  const running = leaseRenewal(counters, clock, (held) => metrics.parallelRequests.set(held))
  limitGenerations(app, limited, { streams, running })
  return { ...limited, streams }
}

/** R50: who operates it hears once of every change, and can count what was decided meanwhile. */
function watchShared(counters: SharedCounters, { logger, metrics }: RateLimitParts): void {
  counters.watch({
    onChange({ away, reason }) {
      metrics.countersShared.set(away ? 0 : 1)
      if (away) logger.warn({ err: reason }, 'Redis is away: this replica keeps to its share of every rate')
      else logger.info('Redis is there: rates are counted together with the other replicas')
    },
    onDecision({ shared, seconds }) {
      if (shared) metrics.sharedDecisions.observe(seconds)
      else metrics.localDecisions.inc()
    },
  })
}

/** One line a second for each limit at the most: whoever floods a layer in shadow must not flood the log with it. */
function sparedLog(clock: Clock, logger: FastifyBaseLogger): LimitNeeds['onSpared'] {
  const told = new Map<string, { at: number; since: number }>()
  return ({ layer, limit, subject }) => {
    const name = `${layer} ${limit}`
    const last = told.get(name) ?? { at: Number.NEGATIVE_INFINITY, since: 0 }
    told.set(name, last)
    last.since++
    if (clock.now() - last.at < SECOND_MS) return
    logger.warn({ layer, limit, subject, times: last.since }, 'a limit in shadow would have refused')
    Object.assign(last, { at: clock.now(), since: 0 })
  }
}
