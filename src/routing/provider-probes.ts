// Providers that are asked, outside of calls, whether they are there (0360): one that is not is left alone before calls
// find out, and one that is back is known at once. Each process asks for itself, since each has its own connections.
import type { Clock } from '../core/clock.ts'
import { SECOND_MS } from '../core/clock.ts'
import type { ModelList } from '../providers/model-list.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import { lotOf } from './prefix-score.ts'
import { managedId } from './provider-targets.ts'

interface Needs {
  clock: Clock
  providers(): readonly ProviderSettings[]
  /** The cheapest question there is. Throws where nobody answers. */
  ask(provider: ProviderSettings): Promise<ModelList>
  /** What was found, of the target by this id. */
  found(target_id: string, provider_id: string, is_there: boolean): void
}

interface Probed {
  due_at: number
  is_asked: boolean
}

export function providerProbes({ clock, providers, ask, found }: Needs) {
  const known = new Map<string, Probed>()

  async function probe(provider: ProviderSettings, probed: Probed): Promise<void> {
    probed.is_asked = true
    const is_there = await ask(provider).then(isThere, () => false)
    probed.is_asked = false
    if (known.get(provider.id) === probed) found(managedId(provider.id), provider.id, is_there)
  }

  return {
    /** Asks those whose time has come; who is being asked is not asked again. Resolves once all have answered. */
    async turn(): Promise<void> {
      const now = clock.now()
      const asked = providers().filter(({ probe_every_s, is_draining }) => probe_every_s !== undefined && !is_draining)
      for (const id of known.keys()) if (!asked.some((one) => one.id === id)) known.delete(id)
      await Promise.all(
        asked.map((provider) => {
          const every_ms = (provider.probe_every_s ?? 0) * SECOND_MS
          const probed = known.get(provider.id) ?? { due_at: now + firstAfter(provider.id, every_ms), is_asked: false }
          known.set(provider.id, probed)
          if (probed.is_asked || probed.due_at > now) return undefined
          probed.due_at = now + every_ms
          return probe(provider, probed)
        }),
      )
    },
  }
}

/** Not all at once after a start. */
const firstAfter = (id: string, every_ms: number) => (lotOf(id) >>> 0) % every_ms

/** A refusal is an answer too: only what every call would meet counts against it. */
const isThere = (list: ModelList) => list.kind === 'models' || list.status < 500
