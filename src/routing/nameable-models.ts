// R53: what requests of a project may name, in order, each name under its first owner. Put together once for what is
// known of the project's routes, however many ask, and once at a time (R78).
import type { Caller } from '../core/caller.ts'
import { sortedInSteps } from '../core/sorted-in-steps.ts'
import { inTurns } from '../core/turns.ts'
import { mayNameModel } from '../keys/key-terms.ts'
import type { PriceBook } from '../models/price-book.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import type { Snapshot } from './choose-route.ts'
import { oneUnderWay } from './one-under-way.ts'
import type { Snapshots } from './routing-snapshot.ts'

/** By code point; whose each is stands at the same place. */
export interface Names {
  ids: readonly string[]
  owners: readonly string[]
  /** What is held of the memory by whoever tells them. */
  bytes: number
}

interface Needs {
  snapshots: Pick<Snapshots, 'of'>
  /** What a provider that is listed with what it has says it has. */
  listedAt(provider: ProviderSettings): Promise<readonly string[]>
}

/** What they are put together from. */
interface Sources {
  snapshot: Snapshot
  providers: readonly ProviderSettings[]
  prices: PriceBook
  /** Of each of the providers, what it says it has. */
  listed: readonly (readonly string[])[]
}

export type ModelsFor = ReturnType<typeof modelsOfCaller>

/** What a caller may name: only what its key may (R62). */
export function modelsOfCaller({ snapshots, listedAt }: Needs) {
  const made = new WeakMap<Snapshot, { from: Sources; names: Names }>()
  const makeOnce = oneUnderWay<Sources, Names>({
    async make(_project_id, from) {
      const names = await inTurns(namesFrom(from))
      made.set(from.snapshot, { from, names })
      return names
    },
    serves: areSame,
    newer: (_waiting, came_since) => came_since,
  })

  async function sourcesFor(caller: Caller): Promise<Sources> {
    const snapshot = await snapshots.of(caller)
    const { providers, prices } = snapshot.gateway
    const listed = await Promise.all(providers.map((one) => (one.list_models ? listedAt(one) : NOTHING)))
    return { snapshot, providers, prices, listed }
  }

  async function namesOf(caller: Caller): Promise<{ names: Names; aliases: Snapshot['aliases'] }> {
    const sources = await sourcesFor(caller)
    const known = made.get(sources.snapshot)
    const is_known = known && areSame(known.from, sources)
    const names = is_known ? known.names : await makeOnce(caller.project_id, sources)
    return { names, aliases: sources.snapshot.aliases }
  }

  return {
    async all(caller: Caller): Promise<Names> {
      const { allowed_models } = caller
      const { names, aliases } = await namesOf(caller)
      return allowed_models ? inTurns(namedBy(names, (id) => mayNameModel(allowed_models, id, aliases.has(id)))) : names
    },

    /** Whose it is; undefined where this caller may not name it. */
    async ownerOf(caller: Caller, id: string): Promise<string | undefined> {
      const { names, aliases } = await namesOf(caller)
      return mayNameModel(caller.allowed_models, id, aliases.has(id)) ? names.owners[placeIn(names, id)] : undefined
    },
  }
}

const NOTHING: readonly string[] = []
const STEP_IDS = 2_000

const areSame = (one: Sources, other: Sources) =>
  one.snapshot === other.snapshot &&
  one.providers === other.providers &&
  one.prices === other.prices &&
  one.listed.every((ids, at) => ids === other.listed[at])

/** Where a name stands; -1 where it is none of them. */
export function placeIn({ ids }: Names, id: string): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ids[middle] as string) < id) low = middle + 1
    else high = middle
  }
  return ids[low] === id ? low : -1
}

/** The first to claim a name is its owner. R77: there may be very many, so it is done in steps. */
function* namesFrom(sources: Sources): Generator<void, Names> {
  const owner_of = new Map<string, string>()
  let claims = 0
  for (const [id, owner] of claimsIn(sources)) {
    if (!owner_of.has(id)) owner_of.set(id, owner)
    if (++claims % STEP_IDS === 0) yield
  }
  const names = new NamesToBe()
  for (const id of yield* sortedInSteps([...owner_of.keys()]))
    if (names.add(id, owner_of.get(id) ?? '') % STEP_IDS === 0) yield
  return names
}

/** In the order of R40. */
function* claimsIn({ snapshot, providers, prices, listed }: Sources): Generator<[id: string, owner: string]> {
  const { aliases, serving, credentials } = snapshot
  for (const id of aliases.keys()) yield [id, 'alias']
  for (const [id, [first]] of serving) yield [id, first?.name ?? '']
  for (const { settings, provider } of credentials)
    for (const id of Object.keys(settings?.models ?? {})) yield [id, provider]
  for (const { models, id: provider } of providers) for (const { id } of models) yield [id, provider]
  for (const [at, ids] of listed.entries()) for (const id of ids) yield [id, providers[at]?.id ?? '']
  if (providers.length === 0) for (const { id, provider } of prices.values()) yield [id, provider]
}

function* namedBy({ ids, owners }: Names, mayName: (id: string) => boolean): Generator<void, Names> {
  const named = new NamesToBe()
  for (const [at, id] of ids.entries()) {
    if (mayName(id)) named.add(id, owners[at] ?? '')
    if (at % STEP_IDS === 0) yield
  }
  return named
}

const REFERENCES_BYTES = 16

class NamesToBe implements Names {
  readonly ids: string[] = []
  readonly owners: string[] = []
  bytes = 0

  add(id: string, owner: string): number {
    this.ids.push(id)
    this.bytes += id.length + REFERENCES_BYTES
    return this.owners.push(owner)
  }
}
