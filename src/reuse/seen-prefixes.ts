// Which prefixes a project has sent lately. In memory, bounded, and good for a day: forgetting only makes the estimate
// of repeated work too low.
import { HOUR_MS } from '../core/clock.ts'
import type { Link } from './prefix-chain.ts'

const REMEMBERED_MS = 24 * HOUR_MS
const PER_PROJECT_MAX = 50_000
const PROJECTS_MAX = 1_000

export type SeenPrefixes = ReturnType<typeof seenPrefixes>

export function seenPrefixes() {
  const projects = new Map<string, Map<string, number>>() // hash → when it was last seen; oldest first

  function ofProject(project_id: string): Map<string, number> {
    let seen = projects.get(project_id)
    if (seen) projects.delete(project_id)
    else seen = new Map()
    projects.set(project_id, seen) // now the most recent
    const [oldest] = projects.keys()
    if (projects.size > PROJECTS_MAX && oldest !== undefined) projects.delete(oldest)
    return seen
  }

  return {
    /** How many tokens of this prompt were seen before; from now on, all of them have been. */
    note(project_id: string, chain: readonly Link[], now: number): number {
      const seen = ofProject(project_id)
      let repeated = 0
      for (const { hash, tokens } of chain) {
        const before = seen.get(hash)
        if (before !== undefined && now - before < REMEMBERED_MS) repeated = tokens
        seen.delete(hash)
        seen.set(hash, now)
      }
      for (const hash of seen.keys()) {
        if (seen.size <= PER_PROJECT_MAX) break
        seen.delete(hash)
      }
      return repeated
    },
  }
}
