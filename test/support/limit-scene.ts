// A service whose limits a test chooses, and whose counters it can read. It stands behind a proxy at 127.0.0.1, so that
// a test may come from any address.
import { onTestFinished } from 'vitest'
import { type Cidr, parseCidr } from '../../src/core/ip-address.ts'
import { type Ask, type Counters, isShared, type Layer } from '../../src/counters/counters.ts'
import { memoryCounters } from '../../src/counters/memory.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'
import { parseConfig } from '../../src/start/config-file.ts'
import { type GatewaySettings, noGateway } from '../../src/start/gateway-settings.ts'
import { freshPrefix } from './redis-replicas.ts'
import { type Answer, sharedCounters, startService } from './service.ts'

export interface ChosenLimits {
  edge?: Record<string, number>
  key?: Record<string, number>
  project?: Record<string, number>
  shadow?: Layer[]
}

export const limitSettings = (limits: ChosenLimits): GatewaySettings => ({
  ...noGateway(),
  limits: parseConfig(JSON.stringify({ limits }), 'the test', {}).limits,
  trusted_proxies: [parseCidr('127.0.0.1/32') as Cidr],
})

/** What is used of a limit just now. */
export function usedOf(counters: Counters, now: number) {
  return async (layer: Layer, name: string, subject: string): Promise<number> => {
    const look: Ask = { layer, name, subject, home: subject, limit: 1_000_000_000, amount: 0, shadow: false }
    const { readings } = await counters.take([look], now)
    return look.limit - (readings[0]?.left ?? 0)
  }
}

/** As counters are that must ask somebody else first. */
export const late = (counters: Counters): Counters => ({
  take: async (...asked) => counters.take(...asked),
  correct: async (...asked) => counters.correct(...asked),
  renew: async (...asked) => counters.renew(...asked),
  release: async (...asked) => counters.release(...asked),
})

/** `behind`: what stands between the service and its counters. */
export async function startLimited(limits: ChosenLimits, behind = (counters: Counters) => counters) {
  const { counters = memoryCounters(slidingWindow) } = await sharedCounters(freshPrefix(), 'test')
  const service = await startService({ parts: { settings: limitSettings(limits), counters: behind(counters) } })
  onTestFinished(async () => void (isShared(counters) && (await counters.close())))
  const metric = async (name: string) => (await service.metrics.registry.getSingleMetric(name)?.get())?.values ?? []
  return {
    ...service,
    used: (layer: Layer, name: string, subject: string) => usedOf(counters, service.clock.now())(layer, name, subject),
    /** By its labels, what a metric counts. */
    counted: async (name: string) =>
      Object.fromEntries((await metric(name)).map(({ labels, value }) => [Object.values(labels).join(' '), value])),
  }
}

export const from = (address: string) => ({ 'x-forwarded-for': address })

/** What a refusal for the rate must have, whatever the layer; and what it said. */
export function refusalOf({ status, headers, body }: Answer) {
  return {
    status,
    type: body.error?.type,
    code: body.error?.code,
    retry_after_s: Number(headers['retry-after']),
    message: body.error?.message as string,
  }
}

export const REFUSED = { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' }
