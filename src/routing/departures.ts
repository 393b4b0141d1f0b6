// R73: which calls left a project's own capacity, and why, as this process saw it; forgotten an hour after the last.
import { type Clock, HOUR_MS } from '../core/clock.ts'
import type { LeftBehind } from './own-capacity.ts'

const PROJECTS_MAX = 10_000
const TARGETS_MAX = 100 // of one project

export interface Departure extends LeftBehind {
  /** Where the last of them went instead. */
  went_to: string
  calls: number
  since: number
  last_at: number
}

export type Departures = ReturnType<typeof departures>

export function departures(clock: Clock) {
  const projects = new Map<string, Map<string, Departure>>()

  const isRecent = ({ last_at }: Departure) => clock.now() - last_at < HOUR_MS

  return {
    note(project_id: string, left: readonly LeftBehind[], went_to: string): void {
      if (left.length === 0) return
      const of_project = projects.get(project_id) ?? new Map<string, Departure>()
      projects.delete(project_id) // to be the newest
      dropOldest(projects, PROJECTS_MAX)
      projects.set(project_id, of_project)
      for (const { target, reason } of left) {
        const known = of_project.get(target)
        const { calls, since } = known && isRecent(known) ? known : { calls: 0, since: clock.now() }
        of_project.delete(target)
        dropOldest(of_project, TARGETS_MAX)
        of_project.set(target, { target, reason, went_to, calls: calls + 1, since, last_at: clock.now() })
      }
    },

    of: (project_id: string): Departure[] => [...(projects.get(project_id)?.values() ?? [])].filter(isRecent),
  }
}

function dropOldest(all: Map<string, unknown>, max: number): void {
  for (const oldest of all.keys()) {
    if (all.size < max) return
    all.delete(oldest)
  }
}
