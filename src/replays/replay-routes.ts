// /v2/replay-runs: plan, execute, pause, resume, cancel, read.
import { Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { lanes } from '../core/lanes.ts'
import { listOf } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import { replayItemStore } from './replay-item-store.ts'
import { chosenCalls, type PlanNeeds, plannedItems, planOf } from './replay-plan.ts'
import {
  checkedRun,
  Execution,
  executionOf,
  hasStatus,
  NewReplayRun,
  newReplayRun,
  nothingToRun,
  otherUnderWay,
  ReplayRun,
  STEPS,
  type Step,
  type StoredRun,
} from './replay-run.ts'
import { checkSource } from './replay-source.ts'
import { replayStore } from './replay-store.ts'
import type { ReplayTarget, TestedRelease } from './replay-target.ts'

const Params = Type.Object({ replay_run_id: Type.String({ description: 'Begins `rpl_`.' }) })
const admin = { scope: 'admin', class: 'admin' } as const
const tags = ['Replay runs']
const WAITING_MAX = 4 // R78: plans of a project, behind the one that is made

/** R70: places for runs, taken and given back in the transactions of what is added and goes. */
export interface ReplayQuota {
  take(tx: Db, project_id: string): Promise<void>
  giveBack(tx: Db, project_id: string): Promise<void>
}

export interface ReplayNeeds extends PlanNeeds {
  clock: Clock
  quota: ReplayQuota
  /** The release that is to be asked, where it is one; refuses what the project does not have. */
  targetOf(db: Db, caller: Caller, target: ReplayTarget): Promise<TestedRelease | null>
  /** Sets this money aside of the project, and of the key that asks; the id of a key that has it. */
  carveOn(tx: Db): (caller: Caller, run_id: string, micros: number, now: number) => Promise<string>
  /** What a run has not spent goes back. */
  endKeyOn(tx: Db): (project_id: string, key_id: string, now: number) => Promise<void>
}

export const replayRoutes: Routes<ReplayNeeds> = async (app, needs) => {
  const { clock } = needs
  const inTurn = lanes({ at_once: 1, waiting_max: WAITING_MAX })
  const shown = async (db: Db, project_id: string, id: string) =>
    found(await replayStore(db).show(project_id, id), 'replay run', id)

  app.post(
    '/v2/replay-runs',
    {
      // Routes are read past any transaction, and a thousand recorded calls are read one by one.
      config: { ...admin, idempotency: 'outside' },
      schema: {
        tags,
        summary: 'Plan a replay',
        description:
          'Recorded calls that are to be asked again at `target`, with `overrides`, and with `control: true` also as ' +
          'they were recorded. Nobody is called: each item gets its route or the reason why it is skipped, ' +
          'and what it would cost. Beside live calls a thousand items take some twenty seconds. ' +
          '`POST …/execute` makes the calls.',
        body: NewReplayRun,
        response: { 200: ReplayRun },
      },
    },
    async ({ caller, body, db }) => {
      const { project_id } = caller
      const asked = checkedRun(body)
      const source = checkSource(asked.source, clock.now())
      const release = await needs.targetOf(db, caller, asked.target)
      const { run, items } = await inTurn(project_id, async () => {
        const { trace_ids, matched } = await chosenCalls(needs, project_id, source)
        const run = newReplayRun(asked, { project_id, release, matched }, clock.now())
        return { run, items: await plannedItems(needs, { ...run, replay_run_id: run.id, caller }, trace_ids) }
      })
      await db.transaction(async (tx) => {
        await needs.quota.take(tx, project_id)
        await replayStore(tx).insert(run, planOf(items), clock.now())
        await replayItemStore(tx).insert(items)
      })
      return shown(db, project_id, run.id)
    },
  )

  app.get(
    '/v2/replay-runs',
    {
      config: admin,
      schema: { tags, summary: 'List replay runs, newest first', response: { 200: listOf(ReplayRun) } },
    },
    async ({ caller, db }, reply) => sendList(reply, replayStore(db).list(caller.project_id), ReplayRun),
  )

  app.get(
    '/v2/replay-runs/:replay_run_id',
    { config: admin, schema: { tags, summary: 'Retrieve a replay run', params: Params, response: { 200: ReplayRun } } },
    async ({ caller, params, db }) => shown(db, caller.project_id, params.replay_run_id),
  )

  app.post(
    '/v2/replay-runs/:replay_run_id/execute',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Carry out a plan',
        description:
          '`max_cost_usd` is set aside of the project, and of the key that asks, at once: all calls together cost no ' +
          'more, to the micro, and the rest goes back when the run ends. Calls are of the class `background`. Of a ' +
          'project one run at a time is under way.',
        params: Params,
        body: Execution,
        response: { 200: ReplayRun },
      },
    },
    async ({ caller, params: { replay_run_id: id }, body, db }) => {
      const { project_id } = caller
      const terms = executionOf(body)
      await db.transaction(async (tx) => {
        const run = await startable(tx, project_id, id)
        const key_id = await needs.carveOn(tx)(caller, run.id, terms.max_cost_micros, clock.now())
        const store = replayStore(tx)
        const other = await store.underWay(project_id) // the project's row is ours by now: nobody else begins one
        if (other !== undefined) throw otherUnderWay(other)
        if (!(await store.turn(project_id, id, { ...STEPS.execute, now: clock.now() }))) throw hasStatus(run, 'execute')
        await store.noteExecuted(project_id, id, { key_id, ...terms, now: clock.now() })
      })
      return shown(db, project_id, id)
    },
  )

  for (const [step, summary, description] of [
    ['pause', 'Pause a replay run', 'Nothing further is asked until it is resumed; calls under way come to their end.'],
    ['resume', 'Resume a replay run', 'Goes on where it was paused.'],
    [
      'cancel',
      'Cancel a replay run',
      'Nothing further is asked, and what is left of its money goes back; calls under way come to their end.',
    ],
  ] as const)
    app.post(
      `/v2/replay-runs/:replay_run_id/${step}`,
      { config: admin, schema: { tags, summary, description, params: Params, response: { 200: ReplayRun } } },
      async ({ caller: { project_id }, params: { replay_run_id: id }, db }) => {
        await db.transaction((tx) => take(tx, { project_id, id, step }))
        return shown(db, project_id, id)
      },
    )

  async function take(
    tx: Db,
    { project_id, id, step }: { project_id: string; id: string; step: Exclude<Step, 'execute'> },
  ) {
    const store = replayStore(tx)
    const run = found(await store.find(project_id, id), 'replay run', id)
    if (!(await store.turn(project_id, id, { ...STEPS[step], now: clock.now() }))) throw hasStatus(run, step)
    if (step !== 'cancel') return
    await replayItemStore(tx).skipAll(project_id, id, 'cancelled')
    if (run.key_id !== null) await needs.endKeyOn(tx)(project_id, run.key_id, clock.now())
  }
}

async function startable(tx: Db, project_id: string, id: string): Promise<StoredRun> {
  const run = found(await replayStore(tx).find(project_id, id), 'replay run', id)
  if (run.status !== 'planned') throw hasStatus(run, 'execute')
  if (!(await replayItemStore(tx).hasOpen(project_id, id))) throw nothingToRun(id)
  return run
}
