// What targets are believed to hold in their prefix caches: the links of the prompts that were sent there, the least
// recent of them given up once they are more than the cache has room for. In memory only, and forgotten at any time: a
// wrong belief costs time, never an answer. Whoever holds the most gives way first, so that no project pushes out what
// is believed of another's clusters (R78).
import type { Link } from '../reuse/prefix-chain.ts'

export interface BeliefBounds {
  /** Links at targets, each as often as it is at one. */
  per_project: number
  in_all: number
}

const BOUNDS: BeliefBounds = { per_project: 100_000, in_all: 400_000 } // some 150 bytes each
/** What is given up at once where there is no room in all, so that the largest project is not looked for each time. */
const GIVEN_UP_SHARE = 8

/** The end of a hash that tells links apart. */
const KEY_CHARACTERS = 8

/** Behind so many links in a row that nobody holds, no more are looked for. */
const UNKNOWN_MOST = 8

/** A prompt that is looked for, and then sent: what was found of it need not be looked up again. */
export class Sought {
  readonly chain: readonly Link[]
  /** Of the chain's links, in its order: of no other chain. */
  readonly found: (Held | undefined)[] = []

  constructor(chain: readonly Link[]) {
    this.chain = chain
  }
}

/** A link at a target, in the order of use. */
class Held {
  readonly holding: Holding
  readonly key: number
  readonly tokens: number
  /** When it was used last; 0 once it was given up. */
  stamp = 0
  older: Held | undefined = undefined
  newer: Held | undefined = undefined
  /** The same link at another target. */
  beside: Held | undefined = undefined

  constructor(holding: Holding, key: number, tokens: number) {
    this.holding = holding
    this.key = key
    this.tokens = tokens
  }
}

/** What one target is believed to hold. */
export class Holding {
  readonly project_id: string
  /** How much its cache has room for. */
  room_tokens: number
  held_tokens = 0
  count = 0
  /** Counts uses: what has a lower stamp was used before. */
  stamp = 0
  oldest: Held | undefined = undefined
  newest: Held | undefined = undefined
  /** What `match` found last: how much of the prompt it holds, and when the end of that was used last. */
  matched_tokens = 0
  matched_stamp = 0
  /** The last match that it is looked for in, and how many links were found. */
  match = 0
  matched_links = 0

  constructor(project_id: string, room_tokens: number) {
    this.project_id = project_id
    this.room_tokens = room_tokens
  }
}

interface ProjectBelief {
  /** By key, the first of those that hold it. */
  links: Map<number, Held>
  holdings: Set<Holding>
  count: number
}

export function cacheBelief(bounds = BOUNDS) {
  const projects = new Map<string, ProjectBelief>()
  let count = 0
  let match = 0

  function ofProject(project_id: string): ProjectBelief {
    let project = projects.get(project_id)
    if (!project) {
      project = { links: new Map(), holdings: new Set(), count: 0 }
      projects.set(project_id, project)
    }
    return project
  }

  function hold(project: ProjectBelief, held: Held, first: Held | undefined): Held {
    const { holding, tokens } = held
    if (first) {
      held.beside = first.beside
      first.beside = held
    } else project.links.set(held.key, held)
    holding.held_tokens += tokens
    holding.count++
    project.count++
    count++
    return held
  }

  function giveUp(project: ProjectBelief, held: Held): void {
    const { holding, key, beside } = held
    unchain(held)
    held.stamp = 0
    const first = project.links.get(key)
    if (first !== held) unlink(first, held)
    else if (beside) project.links.set(key, beside)
    else project.links.delete(key)
    holding.held_tokens -= held.tokens
    holding.count--
    project.count--
    count--
  }

  /** The least recent of the target that holds the most. */
  function shrink(project: ProjectBelief, to: number): void {
    while (project.count > to) {
      let largest: Holding | undefined
      for (const one of project.holdings) if (!largest || one.count > largest.count) largest = one
      // A part of it at once: the next one may be as large by then.
      const least = largest ? Math.max(0, largest.count - Math.max(1, Math.ceil((project.count - to) / 2))) : 0
      if (!largest?.oldest) return
      while (largest.oldest && largest.count > least) giveUp(project, largest.oldest)
    }
  }

  function makeRoom(): void {
    let largest: ProjectBelief | undefined
    for (const one of projects.values()) if (!largest || one.count > largest.count) largest = one
    if (largest) shrink(largest, Math.floor(largest.count * (1 - 1 / GIVEN_UP_SHARE)))
  }

  function letGo(project: ProjectBelief, holding: Holding, until_stamp: number): void {
    while (holding.oldest && holding.oldest.stamp <= until_stamp) giveUp(project, holding.oldest)
  }

  return {
    open(project_id: string, room_tokens: number): Holding {
      const holding = new Holding(project_id, room_tokens)
      ofProject(project_id).holdings.add(holding)
      return holding
    },

    close(holding: Holding): void {
      const project = ofProject(holding.project_id)
      letGo(project, holding, Number.POSITIVE_INFINITY)
      project.holdings.delete(holding)
      if (project.holdings.size === 0) projects.delete(holding.project_id)
    },

    /**
     * How much of a prompt each of them holds: up to the last link that it has, where it has at least half of those
     * before it. A cache gives up the end of a prompt before its beginning, so a gap or two is ours, not the cache's.
     */
    match(project_id: string, prompt: Sought, holdings: readonly Holding[]): void {
      match++
      for (const holding of holdings) {
        holding.match = match
        holding.matched_tokens = 0
        holding.matched_links = 0
      }
      const links = projects.get(project_id)?.links
      if (!links || links.size === 0) return
      let unknown = 0
      const { chain, found } = prompt
      for (let at = 0; at < chain.length && unknown < UNKNOWN_MOST; at++) {
        const first = firstAt(links, prompt, at)
        found[at] = first
        unknown = first ? 0 : unknown + 1
        for (let held = first; held; held = held.beside) {
          const { holding } = held
          if (holding.match !== match || 2 * ++holding.matched_links <= at) continue
          holding.matched_tokens = (chain[at] as Link).tokens
          holding.matched_stamp = held.stamp
        }
      }
    },

    /** From now on it is believed to hold all of the prompt. Its beginning is the most recent: it is given up last. */
    sent(holding: Holding, prompt: Sought): void {
      const project = ofProject(holding.project_id)
      const { chain } = prompt
      for (let at = chain.length - 1; at >= 0; at--) {
        const link = chain[at] as Link
        const first = firstAt(project.links, prompt, at)
        let held = first
        while (held && held.holding !== holding) held = held.beside
        if (held) unchain(held)
        else held = hold(project, new Held(holding, keyOf(link), link.tokens - (chain[at - 1]?.tokens ?? 0)), first)
        enchain(held)
      }
      while (holding.held_tokens > holding.room_tokens && holding.oldest) giveUp(project, holding.oldest)
      if (project.count > bounds.per_project) shrink(project, bounds.per_project)
      if (count > bounds.in_all) makeRoom()
    },

    /** It no longer holds what it was last sent at this stamp or before: all of it, where none is given. */
    forget(holding: Holding, until_stamp = Number.POSITIVE_INFINITY): void {
      const project = projects.get(holding.project_id)
      if (project) letGo(project, holding, until_stamp)
    },

    size: () => count,
    sizeOf: (project_id: string) => projects.get(project_id)?.count ?? 0,
  }
}

/**
 * A part of the hash, as a number: a map of small numbers is read several times as fast as one of texts. Two links
 * with the same key are taken for one, once in millions, and a wrong belief costs little.
 */
function keyOf({ hash }: Link): number {
  let key = 0
  for (let at = Math.max(0, hash.length - KEY_CHARACTERS); at < hash.length; at++)
    key = (Math.imul(key, 61) + hash.charCodeAt(at)) | 0
  return key
}

/** The first of those that hold the link, as it was found before or by looking it up. */
function firstAt(links: ReadonlyMap<number, Held>, { chain, found }: Sought, at: number): Held | undefined {
  const before = at < found.length ? found[at] : undefined
  return before && before.stamp > 0 ? before : links.get(keyOf(chain[at] as Link))
}

function unlink(first: Held | undefined, held: Held): void {
  let before = first
  while (before && before.beside !== held) before = before.beside
  if (before) before.beside = held.beside
}

function enchain(held: Held): void {
  const { holding } = held
  held.stamp = ++holding.stamp
  held.older = holding.newest
  held.newer = undefined
  if (holding.newest) holding.newest.newer = held
  else holding.oldest = held
  holding.newest = held
}

function unchain(held: Held): void {
  const { holding, older, newer } = held
  if (older) older.newer = newer
  else holding.oldest = newer
  if (newer) newer.older = older
  else holding.newest = older
}
