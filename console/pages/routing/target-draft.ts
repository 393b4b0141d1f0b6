// §9.4: the targets of a release as they are typed.
import type { AliasTarget, Destinations, NewAliasRelease } from '../../api/routing-calls.ts'
import { typedNumber } from '../../parts/typed-number.ts'
import { placeKind } from './target-shares.ts'

export type PlaceKind = ReturnType<typeof placeKind>

export interface TargetDraft {
  id: number
  kind: PlaceKind
  /** The id of the provider, the cluster or the credential. */
  place: string
  model: string
  weight: string
}

export const TARGETS_MAX = 32

let ids = 0

export const newTarget = (known: Destinations): TargetDraft => {
  const kind: PlaceKind = known.providers.length === 0 && known.clusters.length > 0 ? 'cluster' : 'provider'
  return { id: ++ids, kind, place: firstPlace(kind, known), model: '', weight: '1' }
}

/** What stands in a choice before anybody chose. */
export function firstPlace(kind: PlaceKind, known: Destinations): string {
  if (kind === 'cluster') return known.clusters[0]?.id ?? ''
  if (kind === 'credential') return usable(known)[0]?.id ?? ''
  return known.providers[0]?.id ?? ''
}

/** A revoked credential has no secret left to call with. */
export const usable = ({ credentials }: Destinations) => credentials.filter(({ status }) => status !== 'revoked')

export const draftsOf = (targets: readonly AliasTarget[]): TargetDraft[] =>
  targets.map((target) => ({
    id: ++ids,
    kind: placeKind(target),
    place: target.provider ?? target.cluster_id ?? target.credential_id ?? '',
    model: target.model,
    weight: String(target.weight),
  }))

const FIELD: Record<PlaceKind, 'provider' | 'cluster_id' | 'credential_id'> = {
  provider: 'provider',
  cluster: 'cluster_id',
  credential: 'credential_id',
}

export const fieldsAt = (at: number, kind: PlaceKind) => ({
  place: `targets[${at}].${FIELD[kind]}`,
  model: `targets[${at}].model`,
  weight: `targets[${at}].weight`,
})

export const readTargets = (drafts: readonly TargetDraft[]): NewAliasRelease['targets'] =>
  drafts.map(({ kind, place, model, weight }, at) => {
    const number = typedNumber(fieldsAt(at, kind).weight, weight)
    return { [FIELD[kind]]: place, model, ...(number !== undefined && { weight: number }) }
  })

export const fieldsOf = (drafts: readonly TargetDraft[]): string[] =>
  drafts.flatMap(({ kind }, at) => Object.values(fieldsAt(at, kind)))
