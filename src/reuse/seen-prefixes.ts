// Which prefixes a project has sent lately, and where to. In memory, bounded, and good for a day: forgetting only makes
// the estimate of repeated work too low, and a target is believed to hold less than it does.
import { HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import type { Link } from './prefix-chain.ts'

const REMEMBERED_MS = 24 * HOUR_MS
/** R84: for so long a target is believed to hold what it was sent; providers promise five to ten minutes. */
export const HELD_MS = 10 * MINUTE_MS
const PER_PROJECT_MAX = 50_000
const PROJECTS_MAX = 1_000
const LINKS_MAX = 1_000_000 // over all projects: some 200 MB

interface Sent {
  at: number
  /** The last that it was sent to. */
  target_id: string
}

/** What is believed of a prompt before it is noted, in tokens. */
export interface Belief {
  /** Of this prompt, so much was sent before, to whomever. */
  known_tokens: number
  /** So much is with the target. */
  held_tokens: number
}

export interface Sending {
  project_id: string
  target_id: string
  chain: readonly Link[]
}

export function seenPrefixes(links_max = LINKS_MAX) {
  const projects = new Map<string, Map<string, Sent>>() // by hash; the least recent first, at both levels
  let links = 0

  function ofProject(project_id: string): Map<string, Sent> {
    let seen = projects.get(project_id)
    if (seen) projects.delete(project_id)
    else seen = new Map()
    projects.set(project_id, seen) // now the most recent
    return seen
  }

  /** Whoever was quiet for the longest is forgotten first; the last one left keeps what a single project may have. */
  function forget(): void {
    for (const [project_id, seen] of projects) {
      if (projects.size === 1 || (projects.size <= PROJECTS_MAX && links <= links_max)) return
      projects.delete(project_id)
      links -= seen.size
    }
  }

  return {
    believe({ project_id, target_id, chain }: Sending, now: number): Belief {
      const seen = projects.get(project_id)
      const belief = { known_tokens: 0, held_tokens: 0 }
      for (const { hash, tokens } of chain) {
        const before = seen?.get(hash)
        if (!before || now - before.at >= HELD_MS) continue
        belief.known_tokens = tokens
        if (before.target_id === target_id) belief.held_tokens = tokens
      }
      return belief
    },

    /** How many tokens of this prompt were seen before; from now on, all of them have been, and are with the target. */
    note({ project_id, target_id, chain }: Sending, now: number): number {
      const seen = ofProject(project_id)
      const had = seen.size
      let repeated = 0
      for (const { hash, tokens } of chain) {
        const before = seen.get(hash)
        if (before !== undefined && now - before.at < REMEMBERED_MS) repeated = tokens
        seen.delete(hash)
        seen.set(hash, { at: now, target_id })
      }
      for (const hash of seen.keys()) {
        if (seen.size <= PER_PROJECT_MAX) break
        seen.delete(hash)
      }
      links += seen.size - had
      forget()
      return repeated
    },

    /** All that is known of a project. */
    drop(project_id: string): void {
      links -= projects.get(project_id)?.size ?? 0
      projects.delete(project_id)
    },

    size: () => links,
  }
}
