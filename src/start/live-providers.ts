// 0343: the providers that calls go by: those of switchyard.yaml, then those that the operator added over the API.
// Every process looks for changes several times a second, and takes them over in one turn of the event loop (R83):
// calls that begin afterwards go by the new ones, calls under way end with the old.
import type { FastifyBaseLogger } from 'fastify'
import type { Sealing } from '../core/sealing.ts'
import type { PriceBook } from '../models/price-book.ts'
import {
  hintsOf,
  type OperatorProvider,
  shownSettings,
  type WorkedOut,
  workedOut,
} from '../providers/operator-provider.ts'
import { operatorProviderStore, type StoredProvider } from '../providers/operator-provider-store.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import { wholeOf } from '../providers/provider-deeds.ts'
import type { TryProvider } from '../providers/provider-test.ts'
import type { Db } from '../storage/db.ts'
import type { GatewaySettings } from './gateway-settings.ts'

/** How often a process looks. A change is everywhere well within a second. */
export const LOOK_EVERY_MS = 200

interface Needs {
  db: Db
  seals: Sealing
  settings: GatewaySettings
  logger: FastifyBaseLogger
}

interface Live {
  stored: StoredProvider
  out: WorkedOut
}

/** What the path to the upstreams tells of them. */
interface Reached {
  runningAt(id: string): number
  tryProvider: TryProvider
}

export async function liveProviders({ db, seals, settings, logger }: Needs) {
  const { gateway } = settings
  const store = operatorProviderStore(db, seals)
  let source = settings.providers_from ?? 'file'
  let file = gateway.providers
  let live: ReadonlyMap<string, Live> = new Map()
  let revision: number | undefined
  let reading: Promise<void> = Promise.resolve()
  let onSwap = (_changed: readonly string[]) => {}

  const isInFile = (id: string) => file.some((one) => one.id === id)

  function composed(): readonly ProviderSettings[] {
    const added = [...live].flatMap(([id, { out }]) => (out.problems || isInFile(id) ? [] : [out.settings]))
    return [...file, ...added]
  }

  async function look(): Promise<void> {
    const now = await store.revision()
    if (now === revision) return
    const stored = await store.list()
    const before = live
    live = new Map(stored.map((one) => [one.id, liveOf(one, before.get(one.id))]))
    revision = now
    gateway.providers = composed()
    const ids = new Set([...before.keys(), ...live.keys()])
    const changed = [...ids].filter((id) => before.get(id)?.out !== live.get(id)?.out)
    onSwap(changed)
    if (changed.length > 0) logger.info({ revision, providers: changed }, 'providers were changed over the API')
  }

  /** The same object for the same version: whoever remembers how to dial it need not begin anew. */
  function liveOf(stored: StoredProvider, before: Live | undefined, prices = gateway.prices): Live {
    const { id, version, status } = stored
    if (before?.stored.version === version && !before.out.problems) return before
    const out = workedOut(wholeOf(stored), prices)
    if (!out.problems) {
      if (status === 'draining') out.settings.is_draining = true
      return { stored, out }
    }
    logger.error({ provider: id, problems: out.problems }, 'a provider cannot be used as it is stored')
    return { stored, out }
  }

  /** One after the other: what somebody wrote before they asked is seen, whoever else is looking. */
  function lookAgain(): Promise<void> {
    reading = reading.catch(() => {}).then(look)
    return reading
  }

  const inFile = {
    all: () => file,
    has: isInFile,
    count: () => file.length,
    source: () => source,
    place: () => (source === 'file' ? 'switchyard.yaml' : 'the environment'),
    prices: () => gateway.prices,
  }

  await look()
  return {
    /** Who is told, once it has happened, which were changed. */
    watch(told: (changed: readonly string[]) => void): void {
      onSwap = told
    },

    look: lookAgain,

    /** R83: the file was read again, and prices with it. These settings hold for both. */
    withFile(next: GatewaySettings): GatewaySettings {
      file = next.gateway.providers
      source = next.providers_from ?? 'file'
      live = new Map([...live].map(([id, one]) => [id, repriced(one, next.gateway.prices)]))
      return { ...next, gateway: { ...next.gateway, providers: composed() } }
    },

    /** What the routes of /v2/operator/providers need. */
    offered: ({ runningAt, tryProvider }: Reached) => ({
      ...{ seals, file: inFile, runningAt, tryProvider },
      shown: (stored: StoredProvider) => shown(stored, gateway.prices, runningAt(stored.id)),
      /** Where it fails, the change is stored all the same, and is found at the next look. */
      learn: () =>
        lookAgain().catch((err) =>
          logger.warn({ err }, 'changed providers could not be read; tried again within a second'),
        ),
    }),
  }

  /** One that the new price file makes unusable goes on as it was, and says so. */
  function repriced(before: Live, prices: PriceBook): Live {
    const fresh = liveOf(before.stored, undefined, prices)
    return fresh.out.problems ? before : fresh
  }
}

/** One of the store's as answers tell it. */
function shown(stored: StoredProvider, prices: PriceBook, running: number): OperatorProvider {
  const { id, version, status, entered, secrets, created_at, updated_at, updated_by } = stored
  const out = workedOut(wholeOf(stored), prices)
  return {
    id,
    object: 'provider',
    source: 'api',
    status: out.problems ? 'invalid' : status,
    ...(out.problems && { problem: out.problems.join(' ') }),
    version,
    ...(!out.problems && { settings: shownSettings(out.settings) }),
    entered: { ...entered },
    secrets: hintsOf(secrets),
    running,
    created_at,
    updated_at,
    updated_by,
  }
}
