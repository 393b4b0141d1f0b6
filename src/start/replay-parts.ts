// What replay runs need of the other rooms, put together: targets, money, and the calls that were recorded.

import type { FastifyBaseLogger } from 'fastify'
import { carveStore } from '../budgets/carve-store.ts'
import { clusterStore } from '../clusters/cluster-store.ts'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import type { InferencePath } from '../generations/assembly.ts'
import { replayedCalls } from '../generations/replayed-calls.ts'
import type { Generations } from '../generations/running.ts'
import { found, type Routes } from '../http/routes.ts'
import { digest } from '../idempotency/idempotency.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import { bornOf, CHILDREN_MAX, createRunKey } from '../keys/child-key.ts'
import { keyStore } from '../keys/key-store.ts'
import { unknownModel } from '../keys/key-terms.ts'
import type { AliasTarget } from '../models/alias.ts'
import { aliasStore } from '../models/alias-store.ts'
import { evidenceOf } from '../replays/replay-evidence.ts'
import { comparisonOf, replayItemRoutes } from '../replays/replay-item-routes.ts'
import type { OutputQuota } from '../replays/replay-item-store.ts'
import { type ReplayNeeds, type ReplayQuota, replayRoutes } from '../replays/replay-routes.ts'
import { RUN_TTL_MS } from '../replays/replay-run.ts'
import { type RunnerNeeds, replayRunner } from '../replays/replay-run-store.ts'
import { replayStore } from '../replays/replay-store.ts'
import type { ReplayTarget, TestedRelease } from '../replays/replay-target.ts'
import type { RecordedCalls } from '../replays/replayed-call.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { Db } from '../storage/db.ts'
import { usageStore } from '../usage/usage-store.ts'

export interface ReplayParts {
  db: Db
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  gateway: Gateway
  inference: Pick<InferencePath, 'path' | 'only' | 'isQuiet'>
  idempotencyOn(db: Db): IdempotencyStore
  recordings: RecordedCalls
  kept: { replays: ReplayQuota; replay_outputs: OutputQuota }
}

export function replaying({ db, clock, logger, seals, gateway, inference, idempotencyOn, ...parts }: ReplayParts) {
  const { path, only, isQuiet } = inference
  const { recordings, kept } = parts
  const { replays: quota, replay_outputs: outputs } = kept
  const calls = replayedCalls({ db, clock, logger, seals, gateway, path, only, idempotencyOn })
  const shared = { clock, calls, recordings, usage: usageStore(db), endKeyOn: endRunKey, isQuiet }
  const runner = replayRunner({
    ...{
      ...shared,
      db,
      seals,
      forgetKeptOn: forgetKept(idempotencyOn, clock.now),
      callerOf: keyStore(db).findHolderById,
    },
    giveBackOn: (tx) => (project_id) => quota.giveBack(tx, project_id),
    outputs,
    onFailure: (err, replay_run_id) => logger.error({ err, replay_run_id }, 'a step of a replay run failed'),
  })
  const routes: Routes = async (app) => {
    const targetOf = replayTargets(path, clock.now)
    await app.register(replayRoutes, { ...shared, targetOf, carveOn: carveForRun, quota })
    await app.register(replayItemRoutes, { seals })
  }
  return { runner, routes }
}

/** 404 for what the project does not have. */
const replayTargets =
  (path: Generations, now: () => number): ReplayNeeds['targetOf'] =>
  async (db: Db, caller: Caller, { model, alias_release_id, cluster_id }: ReplayTarget) => {
    const { project_id } = caller
    if (cluster_id !== undefined) found(await clusterStore(db).find(project_id, cluster_id), 'cluster', cluster_id)
    if (model !== undefined) await assertKnown(path, { caller, model }, now())
    if (alias_release_id === undefined) return null
    const release = found(
      await aliasStore(db).findRelease(project_id, alias_release_id),
      'alias release',
      alias_release_id,
    )
    const { id, alias_name, targets } = release
    return { id, alias_name, targets } satisfies TestedRelease
  }

async function assertKnown(path: Generations, { caller, model }: { caller: Caller; model: string }, now: number) {
  const asking = { model, kind: 'chat', session_id: undefined, hints: undefined, caller } as const
  const answer = await path.explain({ trace_id: newTraceId(now), ...asking })
  if (answer.kind === 'unknown_model') throw unknownModel(model, caller)
}

/** R64: as a child key of whoever asks; of somebody who signed in, of the project alone. */
const carveForRun: ReplayNeeds['carveOn'] = (tx) => async (caller, run_id, budget_micros, now) => {
  const { project_id, key_id, person_id } = caller
  const child = createRunKey(
    {
      ...{ project_id, parent_id: person_id ?? key_id, name: `replay run ${run_id}`, budget_micros },
      expires_ms: now + RUN_TTL_MS,
    },
    now,
  )
  const carving = carveStore(tx)
  if (person_id === undefined) {
    const carved = await carving.carve({ project_id, key_id, children_max: CHILDREN_MAX }, budget_micros, now)
    return (await keyStore(tx).insert(bornOf(child, carved), now)).api_key.id
  }
  await carving.carveOfProject(project_id, budget_micros, now)
  return (await keyStore(tx).insert(child, now)).api_key.id
}

const endRunKey: RunnerNeeds['endKeyOn'] = (tx) => (project_id, key_id, now) =>
  carveStore(tx).revokeFamily(project_id, key_id, now)

const forgetKept =
  (idempotencyOn: (db: Db) => Pick<IdempotencyStore, 'expire'>, now: () => number): RunnerNeeds['forgetKeptOn'] =>
  (tx) =>
  ({ project_id, endpoint, key }) =>
    idempotencyOn(tx).expire({ project_id, digest: digest({ project_id, route: endpoint, params: {}, key }) }, now())

/** §9.4: what a run says of a release that is about to be. */
export async function replayEvidence(db: Db, project_id: string, id: string, targets: readonly AliasTarget[]) {
  const run = await replayStore(db).find(project_id, id)
  if (!run) throw new Refusal('invalid_request', `'replay_run_id' must name a replay run of this project.`)
  return evidenceOf(run, await comparisonOf(db, run), targets)
}
