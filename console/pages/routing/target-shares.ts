// §9.4: of a release's targets, which share of the requests each gets; and what moves when another one is activated.
import type { AliasTarget, Destinations } from '../../api/routing-calls.ts'

export interface TargetShare {
  target: AliasTarget
  /** Of the requests, 0 to 1. */
  share: number
}

export function sharesOf(targets: readonly AliasTarget[]): TargetShare[] {
  const total = targets.reduce((sum, { weight }) => sum + weight, 0)
  return targets.map((target) => ({ target, share: total === 0 ? 0 : target.weight / total }))
}

export interface Move {
  target: AliasTarget
  before: number
  after: number
}

const placeOf = ({ provider, cluster_id, credential_id, model }: AliasTarget) =>
  JSON.stringify([provider, cluster_id, credential_id, model])

/** Every place that either release names, with its share before and after; those that gain most come first. */
export function movesBetween(before: readonly AliasTarget[], after: readonly AliasTarget[]): Move[] {
  const moves = new Map<string, Move>()
  const at = (target: AliasTarget) => {
    const known = moves.get(placeOf(target)) ?? { target, before: 0, after: 0 }
    moves.set(placeOf(target), known)
    return known
  }
  for (const { target, share } of sharesOf(before)) at(target).before += share
  for (const { target, share } of sharesOf(after)) at(target).after += share
  return [...moves.values()].sort((a, b) => b.after - b.before - (a.after - a.before))
}

/** A destination as people call it. An id stands for itself where nobody knows its name any more. */
export function placeName(target: AliasTarget, known: Destinations | undefined): string {
  const { provider, cluster_id, credential_id } = target
  if (cluster_id !== undefined) return known?.clusters.find(({ id }) => id === cluster_id)?.name ?? cluster_id
  if (credential_id !== undefined)
    return known?.credentials.find(({ id }) => id === credential_id)?.name ?? credential_id
  return provider ?? ''
}

export function placeKind({ cluster_id, credential_id }: AliasTarget): 'provider' | 'cluster' | 'credential' {
  if (cluster_id !== undefined) return 'cluster'
  return credential_id !== undefined ? 'credential' : 'provider'
}
