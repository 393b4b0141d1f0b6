// What an upstream says it has, asked for at most once a minute: a cluster whose heartbeats name no models (R52), or a
// provider that is to be listed with what it has. Each is asked for itself, whatever others have at the same address.
import { type Clock, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { lanes } from '../core/lanes.ts'

const UPSTREAMS_MAX = 10_000
/** Beyond it the lists that were used longest ago give way: until they are asked for anew, what is stored stands. */
const LISTS_MAX_BYTES = 64 * 2 ** 20
/** R78: of one owner, and for how long the others of that owner wait for those. Who is left is asked a while later. */
const AT_ONCE = 8
const WAIT_MAX_MS = 3 * SECOND_MS
/** For so long nobody waits for them again: a fleet that does not answer would hold up every reading of its routes. */
const LEFT_MS = 15 * SECOND_MS

/** `id` is nobody else's; `owner` is whose it is. */
export interface Listing {
  id: string
  owner: string
}

export interface ListedModels<Upstream extends Listing> {
  /** `before`: what is stored of what it served last. It stands where nothing is answered now. */
  of(upstream: Upstream, before?: readonly string[]): Promise<readonly string[]>
}

export function listedModels<Upstream extends Listing>(
  clock: Clock,
  ask: (upstream: Upstream) => Promise<readonly string[]>,
  lists_max_bytes = LISTS_MAX_BYTES,
): ListedModels<Upstream> {
  const asked_at = new Map<string, number>()
  const lists = new Map<string, readonly string[]>() // the one that was used longest ago is first
  const asking = new Map<string, Promise<void>>()
  const inLane = lanes({ at_once: AT_ONCE, waiting_max: UPSTREAMS_MAX })
  let bytes = 0

  function forget(id: string): void {
    bytes -= bytesOf(lists.get(id))
    lists.delete(id)
  }

  function keep(id: string, models: readonly string[]): void {
    forget(id)
    lists.set(id, models)
    bytes += bytesOf(models)
    for (const oldest of lists.keys()) {
      if (bytes <= lists_max_bytes) break
      forget(oldest)
    }
  }

  function noteAsked(id: string, at = clock.now()): void {
    asked_at.delete(id)
    asked_at.set(id, at)
    const [oldest] = asked_at.keys()
    if (asked_at.size <= UPSTREAMS_MAX || oldest === undefined) return
    asked_at.delete(oldest)
    forget(oldest)
  }

  /**
   * Of one that does not answer stands what is stored, or else what it listed last: the breaker decides whether it is
   * still dialled.
   */
  async function askInTurn(upstream: Upstream, is_stored: boolean): Promise<void> {
    const { id, owner } = upstream
    const came_at = clock.now()
    await inLane(owner, async () => {
      if (clock.now() - came_at >= WAIT_MAX_MS) return noteAsked(id, clock.now() - MINUTE_MS + LEFT_MS)
      const models = await ask(upstream).catch(() => undefined)
      noteAsked(id)
      if (models) keep(id, models)
      else if (is_stored) forget(id)
    })
  }

  function askOnce(upstream: Upstream, is_stored: boolean): Promise<void> {
    const under_way = askInTurn(upstream, is_stored).finally(() => asking.delete(upstream.id))
    asking.set(upstream.id, under_way)
    return under_way
  }

  return {
    async of(upstream, before) {
      const { id } = upstream
      const at = asked_at.get(id)
      if (at === undefined || clock.now() - at >= MINUTE_MS)
        await (asking.get(id) ?? askOnce(upstream, before !== undefined))
      const models = lists.get(id)
      if (!models) return before ?? NOTHING
      lists.delete(id)
      lists.set(id, models)
      return models
    },
  }
}

const NOTHING: readonly string[] = []
const BYTES_PER_CHARACTER = 2
const bytesOf = (models: readonly string[] = []) => models.reduce((sum, id) => sum + id.length * BYTES_PER_CHARACTER, 0)
