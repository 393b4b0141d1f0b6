// What an upstream says it has, asked for at most once a minute: a cluster whose heartbeats name no models (R52), or
// a provider that is to be listed with what it has.
import { type Clock, MINUTE_MS } from '../core/clock.ts'

const UPSTREAMS_MAX = 10_000

export interface ListedModels {
  /** `before`: what it served last, for one that has not answered since the start. */
  of(upstream: string, before: readonly string[]): Promise<readonly string[]>
}

export function listedModels(clock: Clock, ask: (upstream: string) => Promise<string[]>): ListedModels {
  const known = new Map<string, { at: number; models: readonly string[] }>()
  return {
    async of(upstream, before) {
      const last = known.get(upstream)
      if (last && clock.now() - last.at < MINUTE_MS) return last.models
      // One that does not answer keeps what it last listed: the breaker decides whether it is still dialled.
      const models = await ask(upstream).catch(() => last?.models ?? before)
      if (known.size >= UPSTREAMS_MAX) known.clear()
      known.set(upstream, { at: clock.now(), models })
      return models
    },
  }
}
