// R73: a project's own clusters and credentials, and what it means to leave them. Pure.
import type { Attempt, Route, Target } from './target.ts'

/** How far from the project's own: its cluster, its account at a provider, or the account of whoever runs this. */
export type Reach = 'cluster' | 'credential' | 'elsewhere'

const FAR: Record<Reach, number> = { cluster: 0, credential: 1, elsewhere: 2 }

export const isNearer = (one: Reach, other: Reach) => FAR[one] < FAR[other]

export function reachOf({ cluster_id, credential_id }: Target): Reach {
  if (cluster_id !== undefined) return 'cluster'
  return credential_id === undefined ? 'elsewhere' : 'credential'
}

/** R47, R73: the first choice, also when asked again, with nothing of the project's own passed over, is none. */
export const isFallback = ({ candidates, passed_over }: Route, { target, attempts }: Tried): boolean =>
  target !== candidates[0] || passed_over.length > 0 || attempts.some(({ kind }) => kind === 'provider_failover')

/** Where a call went in the end, and where it was tried. */
interface Tried {
  target: Target
  attempts: readonly Attempt[]
}

/** A cluster or credential that a call did not go to, or not with success, and why. */
export interface LeftBehind {
  target: string
  reason: string
}

/** All of the project's own that is nearer than where the call went in the end. */
export function leftBehind(route: Route, went: Tried): LeftBehind[] {
  if (!isFallback(route, went)) return []
  const { target, attempts } = went
  const reach = reachOf(target)
  const tried = route.candidates.slice(0, route.candidates.indexOf(target))
  const failed = tried
    .filter((one) => isNearer(reachOf(one), reach))
    .map(({ id }) => ({ target: id, reason: reasonOf(attempts.find((attempt) => attempt.target === id)) }))
  return [...route.passed_over.map(({ target: id, reason }) => ({ target: id, reason })), ...failed]
}

const reasonOf = (attempt: Attempt | undefined) =>
  attempt?.failure === undefined ? 'it had no room for the call' : `a call failed there: ${attempt.failure}`
