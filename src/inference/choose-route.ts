// R40: where a request goes. Filter, rank, pick over a snapshot; pure, so that route-explain can tell the same story
// without calling anyone.
import { type AliasTarget, pickTarget } from '../models/alias.ts'
import { hasAllowance, isActive, type Subscription } from '../subscriptions/subscription.ts'
import { type ClusterFacts, clusterTarget, isSuspect, reasonAgainstCluster, servesModel } from './byoc-targets.ts'
import type { Gateway } from './gateway.ts'
import {
  type CredentialFacts,
  credentialServes,
  credentialTarget,
  managedTarget,
  managedTargets,
  modelAt,
  placeholderTargets,
  subscriptionTargets,
} from './provider-targets.ts'
import type { Dropped, Route, Target } from './target.ts'

/** Everything that is known of a project's routes at one moment. */
export interface Snapshot {
  gateway: Gateway
  aliases: ReadonlyMap<string, { release_id: string; targets: readonly AliasTarget[] }>
  clusters: readonly ClusterFacts[]
  credentials: readonly CredentialFacts[]
  /** All of the project's: whether one runs is a question of the moment. */
  subscriptions: readonly Subscription[]
  allowed_regions: readonly string[] | undefined
}

export interface Question {
  model: string
  /** Makes a weighted pick reproducible. */
  seed: string
  now: number
  /** The target that served this conversation last, and so has its cache. */
  affine_to: string | undefined
  breakerAllows(target_id: string): boolean
  inFlight(target_id: string): number
}

export type Answer =
  | { kind: 'route'; route: Route }
  | { kind: 'unknown_model' }
  | { kind: 'none_fit'; dropped: readonly Dropped[] }

/** A place that was thought of, with the reason against it where there is one. */
interface Thought {
  target: Target
  reason: string | undefined
}

export function chooseRoute(question: Question, snapshot: Snapshot): Answer {
  const alias = snapshot.aliases.get(question.model)
  const thoughts = alias ? ofRelease(alias.targets, question, snapshot) : ofProfiles(question, snapshot)
  if (thoughts.length === 0) return { kind: 'unknown_model' }
  const judged = thoughts.map(({ target, reason }) => ({
    target,
    reason: reason ?? reasonAgainst(target, question, snapshot),
  }))
  const dropped = judged.flatMap(({ target, reason }) => (reason ? [{ target: target.id, reason }] : []))
  const fit = judged.filter(({ reason }) => !reason).map(({ target }) => target)
  if (fit.length === 0) return { kind: 'none_fit', dropped }
  return {
    kind: 'route',
    route: { candidates: affineFirst(fit, question), dropped, alias_release_id: alias?.release_id },
  }
}

function ofRelease(targets: readonly AliasTarget[], { seed }: Question, snapshot: Snapshot): Thought[] {
  const first = pickTarget(targets, seed)
  const others = targets.filter((target) => target !== first && target.weight > 0).sort((a, b) => b.weight - a.weight)
  return [first ?? [], ...others].flat().flatMap((wanted) => thoughtOf(wanted, snapshot))
}

function thoughtOf({ provider, cluster_id, credential_id, model }: AliasTarget, snapshot: Snapshot): Thought[] {
  const { gateway, clusters, credentials } = snapshot
  if (cluster_id) {
    const cluster = clusters.find((one) => one.id === cluster_id)
    return cluster ? [{ target: clusterTarget(cluster, model, gateway), reason: reasonAgainstCluster(cluster) }] : []
  }
  if (credential_id) {
    const credential = credentials.find((one) => one.id === credential_id)
    const target = credential && credentialTarget(credential, gateway, model)
    return target ? [{ target, reason: undefined }] : []
  }
  const settings = gateway.providers.find((one) => one.id === provider)
  const entry = settings && modelAt(settings, model)
  return settings && entry ? [{ target: managedTarget(settings, entry), reason: undefined }] : []
}

/**
 * The order of R40: own clusters, own credentials, a subscription, managed providers; a cluster that has fallen silent
 * only after all of them; else the placeholder.
 */
function ofProfiles(question: Question, { gateway, clusters, credentials, subscriptions }: Snapshot): Thought[] {
  const { model, now, inFlight } = question
  const own = clusters
    .filter((cluster) => servesModel(cluster, model))
    .map((cluster) => ({
      target: clusterTarget(cluster, model, gateway),
      reason: reasonAgainstCluster(cluster),
      suspect: isSuspect(cluster, now),
    }))
    .sort((a, b) => load(a.target) - load(b.target))
  const byok = credentials
    .filter((credential) => credentialServes(credential, gateway, model))
    .flatMap((credential) => credentialTarget(credential, gateway, model) ?? [])
  const running = subscriptions.filter((one) => isActive(one, now) && hasAllowance(one))
  const prepaid = running.flatMap((subscription) => subscriptionTargets(subscription, gateway, model))
  const paid = [...prepaid, ...managedTargets(gateway, model)]
  const others = [...byok, ...paid].map((target) => ({ target, reason: undefined }))
  const real = [...own.filter(({ suspect }) => !suspect), ...others, ...own.filter(({ suspect }) => suspect)]
  if (real.length > 0) return real
  return placeholderTargets(gateway, model).map((target) => ({ target, reason: undefined }))

  function load(target: Target): number {
    return inFlight(target.id) / target.dialling.max_concurrency
  }
}

export const LEFT_ALONE = 'it failed repeatedly and is left alone for a while'

function reasonAgainst(target: Target, { breakerAllows }: Question, { allowed_regions }: Snapshot): string | undefined {
  if (allowed_regions && !allowed_regions.includes(target.region))
    return `the project does not allow region '${target.region}'`
  if (!breakerAllows(target.id)) return LEFT_ALONE
  return undefined
}

/** A conversation stays where its cache is, but never at the price of another profile. */
function affineFirst(fit: readonly Target[], { affine_to }: Question): readonly Target[] {
  const affine = fit.find((target) => target.id === affine_to)
  if (!affine || affine.profile !== fit[0]?.profile) return fit
  return [affine, ...fit.filter((target) => target !== affine)]
}
