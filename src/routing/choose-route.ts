// R40, R73: where a request goes. Filter, rank, pick over a snapshot; pure, so that route-explain can tell the same
// story without calling anyone.
import { type AliasTarget, pickTarget } from '../models/alias.ts'
import type { Boundary } from '../models/boundary.ts'
import { hasAllowance, isActive, type Subscription } from '../subscriptions/subscription.ts'
import { type ClusterFacts, maybeServed, type Serving, SILENT } from './byoc-targets.ts'
import { type Against, type Candidate, candidateOf, elsewhere, ofCluster, ofCredential } from './candidate.ts'
import type { CredentialFacts } from './credential-address.ts'
import { type Gateway, isConfigured } from './gateway.ts'
import { isNearer, reachOf } from './own-capacity.ts'
import type { Placing } from './placement.ts'
import { credentialServes, managedTargets, placeholderTargets, subscriptionTargets } from './provider-targets.ts'
import { DRAINING, type Dropped, type Route, type Target } from './target.ts'

/** Everything that is known of a project's routes at one moment. */
export interface Snapshot {
  gateway: Gateway
  aliases: ReadonlyMap<string, CurrentRelease>
  clusters: readonly ClusterFacts[]
  serving: Serving
  credentials: readonly CredentialFacts[]
  /** All of the project's: whether one runs is a question of the moment. */
  subscriptions: readonly Subscription[]
  allowed_regions: readonly string[] | undefined
  boundary: Boundary
}

export interface CurrentRelease {
  release_id: string
  targets: readonly AliasTarget[]
  /** Undefined where the alias leaves it to the project. */
  boundary: Boundary | undefined
}

export interface Question {
  model: string
  /** Makes a weighted pick reproducible. */
  seed: string
  now: number
  /** The target that served this conversation last, and so has its cache. */
  affine_to: string | undefined
  /** R78: why calls like this one leave a target alone, and for how long still. */
  leftAlone(target_id: string): { reason: string; wait_ms: number } | undefined
  inFlight(target_id: string): number
  /** Which of several clusters gets it, by what their caches hold (decision 0240). */
  place(targets: readonly Target[]): Placed
}

export interface Placed {
  /** Best first. */
  targets: readonly Target[]
  placing: Placing
}

export type Answer =
  | { kind: 'route'; route: Route }
  | { kind: 'unknown_model' }
  | { kind: 'none_fit'; dropped: readonly Dropped[] }

export function chooseRoute(question: Question, snapshot: Snapshot): Answer {
  const alias = snapshot.aliases.get(question.model)
  const considered = alias ? ofRelease(alias.targets, question, snapshot) : ofProfiles(question, snapshot)
  if (considered.length === 0) return { kind: 'unknown_model' }
  const kept = keptBy(alias, considered, snapshot)
  for (const candidate of considered) candidate.against = against(candidate, kept, question, snapshot)
  const fit = [...fitting(considered, false), ...fitting(considered, true)]
  const dropped = droppedOf(considered)
  if (fit.length === 0) return { kind: 'none_fit', dropped }
  const { targets: candidates, placing } = placed(fit, considered, question)
  const passed_over = passedOver(considered, candidates[0] as Target)
  return { kind: 'route', route: { candidates, dropped, passed_over, alias_release_id: alias?.release_id, placing } }
}

/** Clusters among which nobody has a preference are ordered by their caches and queues; all else by affinity. */
function placed(fit: readonly Target[], considered: readonly Candidate[], question: Question): Order {
  const alike = considered.find(({ target }) => target === fit[0])?.alike
  const group = considered.filter((one) => alike !== undefined && one.alike === alike)
  const open = fitting(group, false)
  if (group.length < 2 || open.length === 0) return { targets: affineFirst(fit, question) }
  const { targets, placing } = question.place(open)
  const first = new Set(targets)
  return { targets: [...targets, ...fit.filter((target) => !first.has(target))], placing }
}

type Order = Pick<Placed, 'targets'> & Partial<Placed>

// These run for every call: a loop takes a tenth of the time of flatMap.
function fitting(considered: readonly Candidate[], is_last: boolean): Target[] {
  const fit: Target[] = []
  for (const one of considered) if (one.target && !one.against && one.is_last === is_last) fit.push(one.target)
  return fit
}

function droppedOf(considered: readonly Candidate[]): Dropped[] {
  const dropped: Dropped[] = []
  for (const { id, against } of considered) if (against) dropped.push({ target: id, ...against })
  return dropped
}

/** R83: those of weight 0 stand by: they come last, when nothing else can take the call. */
function ofRelease(targets: readonly AliasTarget[], { seed, now }: Question, snapshot: Snapshot): Candidate[] {
  const first = pickTarget(targets, seed)
  const others = targets.filter((target) => target !== first).sort((a, b) => b.weight - a.weight)
  return [first ?? [], ...others].flat().map((wanted) => {
    const candidate = candidateOf(wanted, snapshot, now)
    if (wanted.weight > 0 && candidate.reach === 'cluster') candidate.alike = `${wanted.model} ${wanted.weight}`
    return candidate
  })
}

/**
 * The order of R40: own clusters, own credentials, a subscription, managed providers; a cluster that has fallen silent
 * only after all of them; else the placeholder.
 */
function ofProfiles(question: Question, snapshot: Snapshot): Candidate[] {
  const { gateway, serving, credentials } = snapshot
  const { model, now, inFlight } = question
  const own = (serving.get(model) ?? [])
    .map((cluster) => {
      const candidate = ofCluster(cluster, { model, gateway, now })
      candidate.alike = model
      return candidate
    })
    .sort((a, b) => load(a) - load(b))
  const byok = credentials
    .filter((credential) => credentialServes(credential, gateway, model))
    .map((credential) => ofCredential(credential, model, gateway))
  const real = [...own, ...byok, ...paidFor(question, snapshot)]
  if (real.length > 0 || isConfigured(gateway)) return real
  return placeholderTargets(gateway, model).map((target) => elsewhere(target, model))

  function load({ id, target }: Candidate): number {
    return target ? inFlight(id) / target.dialling.max_concurrency : 0
  }
}

/**
 * R72: under a subscription while it has allowance, then managed. One that is used up without overage keeps its model
 * from being billed: then only what another subscription allows is left.
 */
function paidFor({ model, now }: Question, { gateway, subscriptions }: Snapshot): Candidate[] {
  const managed = managedTargets(gateway, model)
  if (subscriptions.length === 0) return managed.map((target) => elsewhere(target, model))
  const running = subscriptions.filter(
    (one) => isActive(one, now) && managed.some(({ provider }) => provider === one.provider),
  )
  const prepaid = running
    .filter(hasAllowance)
    .flatMap((subscription) => subscriptionTargets(subscription, managed))
    .map((target) => elsewhere(target, model))
  const spent = running.find((one) => !hasAllowance(one) && !one.overage_enabled)
  const open = running.filter((one) => hasAllowance(one) || one.overage_enabled).map(({ provider }) => provider)
  const used_up: Against | undefined = spent && { kind: 'allowance', reason: usedUp(spent) }
  const billed = managed.map((target) => elsewhere(target, model, open.includes(target.provider) ? undefined : used_up))
  return [...prepaid, ...billed]
}

const usedUp = ({ id, plan }: Subscription) =>
  `the allowance of the subscription '${plan}' (${id}) is used up, and it has no overage`

/** R73: which places the boundary keeps calls from; told by their reason. */
function keptBy(alias: CurrentRelease | undefined, considered: readonly Candidate[], snapshot: Snapshot): Keeping {
  const boundary = alias?.boundary ?? snapshot.boundary
  if (boundary !== 'own_only') return () => false
  if (considered.some(({ reach }) => reach !== 'elsewhere')) return ({ reach }) => reach === 'elsewhere'
  const { serving, credentials, gateway } = snapshot
  return ({ model }) =>
    serving.has(model) ||
    maybeServed(serving) ||
    credentials.some((credential) => credentialServes(credential, gateway, model))
}

type Keeping = (candidate: Candidate) => boolean

const KEPT = 'the boundary is own_only: the model is served by the project’s own clusters and credentials alone'

/** What lasts is told before what may pass. */
function against(candidate: Candidate, isKept: Keeping, question: Question, snapshot: Snapshot): Against | undefined {
  const { target } = candidate
  const { allowed_regions } = snapshot
  if (target && allowed_regions && !allowed_regions.includes(target.region))
    return { kind: 'region', reason: `the project does not allow region '${target.region}'` }
  if (isKept(candidate)) return { kind: 'boundary', reason: KEPT }
  if (candidate.against || target?.is_draining) return candidate.against ?? DRAINING
  const left_alone = question.leftAlone(candidate.id)
  return left_alone && { kind: 'now', ...left_alone }
}

/** R73: own capacity that would have come first, and does not get the call; but for regions that the project chose. */
function passedOver(considered: readonly Candidate[], first: Target): Dropped[] {
  const reach = reachOf(first)
  const at = considered.findIndex(({ target }) => target === first)
  const passed: Dropped[] = []
  for (const { id, reach: nearer, against, is_last } of considered.slice(0, at)) {
    if (!isNearer(nearer, reach) || (against && against.kind !== 'now')) continue
    if (against) passed.push({ target: id, ...against })
    else if (is_last) passed.push({ target: id, kind: 'now', reason: SILENT })
  }
  return passed
}

/** A conversation stays where its cache is, but never at the price of another profile. */
function affineFirst(fit: readonly Target[], { affine_to }: Question): readonly Target[] {
  const affine = fit.find((target) => target.id === affine_to)
  if (!affine || affine.profile !== fit[0]?.profile) return fit
  return [affine, ...fit.filter((target) => target !== affine)]
}
