// R52: a cluster whose heartbeats name no models is asked for its list, at most once a minute.
import { type Clock, MINUTE_MS } from '../core/clock.ts'

const ENDPOINTS_MAX = 10_000

export interface ListedModels {
  /** `before`: what it served last, for an endpoint that has not answered since the start. */
  of(endpoint: string, before: readonly string[]): Promise<readonly string[]>
}

export function listedModels(clock: Clock, ask: (endpoint: string) => Promise<string[]>): ListedModels {
  const known = new Map<string, { at: number; models: readonly string[] }>()
  return {
    async of(endpoint, before) {
      const last = known.get(endpoint)
      if (last && clock.now() - last.at < MINUTE_MS) return last.models
      // An endpoint that does not answer keeps what it last listed: the breaker decides whether it is still dialled.
      const models = await ask(endpoint).catch(() => last?.models ?? before)
      if (known.size >= ENDPOINTS_MAX) known.clear()
      known.set(endpoint, { at: clock.now(), models })
      return models
    },
  }
}
