// Builds the inference path out of settings and stores: the one place that knows all of its parts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Patience } from '../answers/stream-patience.ts'
import type { KeptArtifacts } from '../artifacts/kept-artifact-store.ts'
import { budgetState } from '../budgets/budget-state-store.ts'
import { budgetStore } from '../budgets/budget-store.ts'
import { ownBeats } from '../budgets/own-beats.ts'
import { slices as slicesOf } from '../budgets/slice-store.ts'
import { tagBudgetStore } from '../budgets/tag-budget-store.ts'
import { waivers } from '../budgets/waiver-store.ts'
import { openBundles } from '../bundles/open-bundle-store.ts'
import { admission } from '../capacity/admission.ts'
import { breakers, type Turned } from '../capacity/breaker.ts'
import type { Shares } from '../capacity/slot-share.ts'
import { BOUNDS, systemTimers } from '../capacity/waiting-room.ts'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { FairTurns } from '../core/fair-turns.ts'
import { liveCalls } from '../core/live-calls.ts'
import { MEDIA, type MemoryRoom, memoryRoom } from '../core/memory-room.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Credential, noAddress, settingsOf } from '../credentials/credential.ts'
import { credentialStore } from '../credentials/credential-store.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import type { KeptQuota } from '../limits/kept-quota.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import type { ProxySettings } from '../providers/outbound-proxy.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import type { Recorder } from '../recordings/recorder.ts'
import { backgroundStore } from '../responses/background-store.ts'
import { responseStore } from '../responses/response-store.ts'
import { affinity } from '../routing/affinity.ts'
import { credentialAddress } from '../routing/credential-address.ts'
import { departures } from '../routing/departures.ts'
import { dialer } from '../routing/dialer.ts'
import type { Gateway } from '../routing/gateway.ts'
import { listedModels } from '../routing/listed-models.ts'
import { neighbours as neighboursOf } from '../routing/neighbours-store.ts'
import { placement } from '../routing/placement.ts'
import { providerProbes } from '../routing/provider-probes.ts'
import { managedId } from '../routing/provider-targets.ts'
import { type ClusterAddress, routingSnapshots } from '../routing/routing-snapshot.ts'
import { type Exchange, sharedBelief } from '../routing/shared-belief.ts'
import { sessionStore } from '../sessions/session-store.ts'
import type { Db, OpenDb } from '../storage/db.ts'
import { largeBodies } from '../storage/large-bodies.ts'
import { subscriptionStore } from '../subscriptions/subscription-store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { alikeEvents } from '../usage/alike-events.ts'
import { usageStore } from '../usage/usage-store.ts'
import { backgroundJobs } from './background-jobs.ts'
import { chainSizes } from './chain-sizes.ts'
import { deferredWrites } from './deferred-writes.ts'
import { onlyCalls } from './only-target.ts'
import type { Path } from './path.ts'
import { placing } from './placing.ts'
import { promptExpansion } from './prompt-expansion.ts'
import { promptMemory } from './prompt-memory.ts'
import { running } from './running.ts'
import { charges } from './settle.ts'
import { isListed, targetStates } from './target-states.ts'
import { turnBytes } from './written-ahead.ts'

export interface PathParts {
  db: OpenDb
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  /** R78: whose request goes on. */
  turns: FairTurns
  calls_room: MemoryRoom
  expansions_room: MemoryRoom
  process_id: string
  gateway: Gateway
  policy: AddressPolicy
  proxy?: ProxySettings | undefined
  metrics: Metrics
  patience: Patience
  shares: Shares
  /** R78: rejects where a project has as many stored responses as it may. */
  mayStore(project_id: string, now: number): Promise<void>
  session_contents: KeptQuota
  idempotencyOn(db: Db): IdempotencyStore
  artifacts: KeptArtifacts
  tapes: Pick<Recorder, 'begin' | 'end'>
  /** By which replicas tell each other where prompts are; undefined where there are none. */
  exchange?: Exchange | undefined
  /** Told where a target is left alone, and where it is back. */
  onCircuit?: (turned: Turned) => void
  onBudgetRefused?: Path['onBudgetRefused']
}

export type InferencePath = ReturnType<typeof inferencePath>

export function inferencePath(parts: PathParts) {
  const {
    db,
    clock,
    logger,
    seals,
    process_id,
    gateway,
    policy,
    proxy,
    metrics,
    patience,
    shares,
    mayStore,
    session_contents,
    idempotencyOn,
  } = parts
  const beats = ownBeats()
  const budgetsOn = (on: Db) => budgetStore(on, process_id, beats)
  const slices = slicesOf(db, process_id)
  const written = db.watch && alikeEvents(ROOM_FOR_WRITTEN)
  const usageOn = (on: Db) => usageStore(on, written)
  const credentials = credentialStore(db, seals)
  const dials = dialer({ policy, proxy, clock, secretOf: credentials.secretOf })
  const deferred = deferredWrites({
    onDefer(err) {
      metrics.deferredWrites.inc()
      logger.error({ err }, 'a write must wait for the store')
    },
    probe: () => budgetsOn(db).beat(clock.now()),
  })
  const prompts = promptMemory(clock, seals)
  const places = placement()
  const sharing = parts.exchange && sharedBelief(places, parts.exchange, process_id)
  const listed_at_clusters = listedModels(clock, ({ endpoint }: ClusterAddress) => dials.listModels(endpoint))
  const snapshots = routingSnapshots({ db, gateway, listed: listed_at_clusters, onRestart: places.forget })
  const listed = listedModels(clock, ({ id }) => {
    const provider = gateway.providers.find((one) => one.id === id)
    return provider ? dials.listProviderModels(provider) : Promise.resolve([])
  })
  const neighbours = neighboursOf(db)
  const slots = admission(clock, systemTimers, BOUNDS, { shares, hasNeighbours: neighbours.has })
  const health = breakers(clock, (turned) => {
    if (turned.is_open) metrics.circuitsOpened.inc({ left_by: turned.left_by })
    parts.onCircuit?.(turned)
  })
  metrics.watchCircuits(health.count)
  const probes = providerProbes({
    clock,
    providers: () => gateway.providers,
    ask: dials.tryProvider,
    found(target_id, provider, is_there) {
      metrics.providerProbes.inc({ provider, outcome: is_there ? 'there' : 'not_there' })
      health.probed(target_id, is_there)
    },
  })
  const counts = metrics.generations
  counts.listed((provider, model) => isListed(gateway, provider, model))
  metrics.targets.watch(() => targetStates(gateway, slots, health))
  const left = departures(clock)
  const only = onlyCalls()
  const live = liveCalls(clock.now)
  const jobs = backgroundJobs({
    store: backgroundStore(db, seals),
    clock,
    onFailure: (err) => logger.error({ err }, 'a background response failed'),
  })
  const generations = running({
    clock,
    gateway,
    snapshots,
    dialer: dials,
    slots,
    breakers: health,
    affinity: affinity(clock),
    departures: left,
    slices,
    waivers: waivers(db, gateway),
    charges: charges({
      db,
      now: clock.now,
      seals,
      slices,
      budgetsOn,
      usageOn,
      subscriptionsOn: subscriptionStore,
      idempotencyOn,
      onSettled: (bill, { charged_micros, written_off_micros, overage_micros }, direct_cost_micros) => {
        const { target, outcome } = bill
        const kept_bytes = turnBytes(bill)
        if (kept_bytes > 0) session_contents.added(outcome.project_id, kept_bytes)
        const money = { charged_micros, direct_cost_micros, written_off_micros, overage_micros }
        counts.ended(target, outcome, money, clock.now())
      },
    }),
    deferred,
    counts,
    prompts,
    placing: placing({ clock, prompts, slots, places }),
    idempotency: idempotencyOn(db),
    usage: usageOn(db),
    credentials,
    responses: { ...responseStore(db, seals), mayStore },
    chains: chainSizes(),
    isClosed: sessionStore(db, seals).isClosed,
    turn_contents: { onDrop: () => metrics.sessionContentsDropped.inc(), ...session_contents },
    only,
    jobs,
    calls_room: parts.calls_room,
    media_room: memoryRoom(MEDIA, 'images and sounds'),
    bodies: largeBodies(db, seals),
    expansion: promptExpansion({
      artifacts: parts.artifacts,
      bundles: openBundles(parts.artifacts),
      room: parts.expansions_room,
    }),
    tapes: parts.tapes,
    opening: { patience, timers: systemTimers },
    turns: parts.turns,
    live,
    onBudgetRefused: parts.onBudgetRefused ?? (() => {}),
    tagBudgetsOf: tagBudgetStore(db).of,
  })
  return {
    path: generations,
    /** Calls that this process makes itself. */
    only,
    isQuiet: live.isQuiet,
    /** Responses that nobody waits for. */
    jobs,
    usageOf: ({ project_id }: Pick<Caller, 'project_id'>, trace_id: string) => usageOn(db).find(project_id, trace_id),
    probes,
    /** Targets that this process leaves alone, because they failed. */
    leftAlone: health.notClosed,
    /** R73: which calls left a project's own capacity. */
    departuresOf: left.of,
    snapshots,
    budgets: budgetsOn(db),
    budgetsOn,
    backgroundOn: (on: Db) => backgroundStore(on, seals),
    budgetState: () => budgetState(db, clock.now()),
    slices,
    neighbours,
    /** Usage that no roll-up has in it yet, where nobody else writes any. */
    written,
    verifyCredential(credential: Credential, secret: string) {
      const { provider, base_url = null } = credential
      const address = credentialAddress({ provider, base_url, settings: settingsOf(credential) }, gateway)
      if (!address) throw noAddress(provider)
      return dials.verifyCredential(address, secret)
    },
    /** R83: the providers were read again. */
    renew: dials.renew,
    /** 0343: some of them were changed. */
    retireUnused: (changed: readonly string[]) => dials.retireUnused(changed, gateway.providers),
    tryProvider: dials.tryProvider,
    /** Calls under way to a provider of the operator's, in this process. */
    runningAt: (provider_id: string) => slots.inFlight(managedId(provider_id)),
    listedAt: ({ id }: ProviderSettings) => listed.of({ id, owner: '' }),
    /** Waits for what is being generated, whoever has left meanwhile, and for what must still be written; for the
     * latter not for ever: the store may be gone for good. */
    async close(): Promise<void> {
      jobs.close()
      await generations.finished()
      await jobs.idle()
      await Promise.race([deferred.drained(), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })])
      await slices
        .giveBackUnused()
        .catch((err) => logger.warn({ err }, 'the store was away: holds return by themselves'))
      await sharing?.stop()
      await dials.close()
    },
  }
}

const CLOSE_WITHIN_MS = 10_000
const ROOM_FOR_WRITTEN = { events: 100_000, kinds: 2_000 } // some 10 MB
