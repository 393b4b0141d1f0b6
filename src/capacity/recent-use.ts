// R78: how many slots of a target each project had in use at once lately. So much is kept for it, up to its share,
// while others flood the target: a slot that is in use is never taken back, so who comes first would have them all.
import { MINUTE_MS } from '../core/clock.ts'

const TARGETS_MAX = 1_000
const PROJECTS_MAX = 1_000 // of one target; who has not called for longest is forgotten first

interface Use {
  /** Of which minute `peak` is. */
  minute: number
  peak: number
  /** Of the minute before. */
  before: number
}

/** What a project has had of a target within the last one to two minutes. */
export interface Recent {
  project_id: string
  peak: number
}

export function recentUse() {
  const targets = new Map<string, Map<string, Use>>()

  function usesOf(target_id: string): Map<string, Use> {
    let uses = targets.get(target_id)
    if (!uses) {
      uses = new Map()
      targets.set(target_id, uses)
      dropFirst(targets, TARGETS_MAX)
    }
    return uses
  }

  return {
    /** `in_use`: of the project now, the slot that it was just given included. */
    note(target_id: string, project_id: string, in_use: number, now: number): void {
      const uses = usesOf(target_id)
      const minute = Math.floor(now / MINUTE_MS)
      const use = uses.get(project_id)
      if (use?.minute === minute) {
        if (in_use > use.peak) use.peak = in_use
        return
      }
      uses.delete(project_id) // and in again at the end
      uses.set(project_id, { minute, peak: in_use, before: use?.minute === minute - 1 ? use.peak : 0 })
      dropFirst(uses, PROJECTS_MAX)
    },

    of(target_id: string, now: number): Recent[] {
      const uses = targets.get(target_id)
      if (!uses) return []
      const minute = Math.floor(now / MINUTE_MS)
      const recent: Recent[] = []
      for (const [project_id, use] of uses) {
        const peak = peakIn(use, minute)
        if (peak > 0) recent.push({ project_id, peak })
      }
      return recent
    },
  }
}

function peakIn({ minute, peak, before }: Use, now: number): number {
  if (minute === now) return Math.max(peak, before)
  return minute === now - 1 ? peak : 0
}

function dropFirst(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return
  for (const first of map.keys()) {
    map.delete(first)
    return
  }
}
