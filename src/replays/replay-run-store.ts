// Makes the calls of replay runs, for all projects, on one replica at a time: the database that it is handed commits
// nothing once another replica has taken over. A call has the name of its item, under which its answer is kept in the
// transaction that charges it: whoever comes to an item after a crash gets that answer, and nobody pays twice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../core/caller.ts'
import { type Clock, SECOND_MS } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import { replayFinished } from '../notifications/happening.ts'
import type { Db } from '../storage/db.ts'
import { tell } from '../storage/telling.ts'
import { afterCall, itemKey, type Next, type Result, type StoredItem } from './replay-item.ts'
import { type OutputQuota, replayItemStore, replayOutputStore } from './replay-item-store.ts'
import { KEY_ENDED, mayBegin, type StoredRun } from './replay-run.ts'
import { replayStore } from './replay-store.ts'
import {
  type AnsweredCall,
  callOf,
  figuresOf,
  type ItemName,
  ownEndpoint,
  type RecordedCall,
  type RecordedCalls,
  type ReplayCalls,
  type UsedBefore,
} from './replayed-call.ts'
import { sameness } from './said-comparison.ts'

const ROUNDS_MAX = 200 // of one turn
const LOOK_MS = SECOND_MS // in a round that nothing ends in, the lease is renewed and others get their turn

export interface RunnerNeeds {
  db: Db
  clock: Clock
  seals: Sealing
  calls: ReplayCalls
  recordings: RecordedCalls
  usage: { find(project_id: string, trace_id: string): Promise<UsedBefore | undefined> }
  /** No live call has come for a while. */
  isQuiet(): boolean
  /** Whom the key of a run speaks for; undefined where it has ended. */
  callerOf(project_id: string, key_id: string, now: number): Promise<Caller | undefined>
  /** What a run has not spent goes back. */
  endKeyOn(tx: Db): (project_id: string, key_id: string, now: number) => Promise<void>
  /** Nobody asks for this kept answer any more. */
  forgetKeptOn(tx: Db): (call: { project_id: string; endpoint: string; key: string }) => Promise<void>
  /** R70: the place of a run that is forgotten. */
  giveBackOn(tx: Db): (project_id: string) => Promise<void>
  outputs: OutputQuota
  onFailure(error: unknown, replay_run_id: string): void
}

export function replayRunner(needs: RunnerNeeds) {
  const { db, clock, onFailure } = needs
  const under_way = new Map<string, { run_id: string; ended: Promise<void> }>() // by the names of items
  /** Runs whose money did not suffice for all that they asked at once: from then on they ask one at a time. */
  const tight = new Set<string>()
  let is_stopping = false

  const busyWith = (run_id: string) => [...under_way.values()].filter((one) => one.run_id === run_id).length

  function begin(fenced: Db, run: StoredRun, item: StoredItem, caller: Caller): void {
    const name = itemKey(run.id, item.trace_id, item.arm)
    const isAlone = () => busyWith(run.id) <= 1
    const onTight = () => void tight.add(run.id)
    const ended = askSurely(needs, { fenced, run, item, caller, isAlone, onTight }).finally(() => {
      under_way.delete(name)
    })
    under_way.set(name, { run_id: run.id, ended })
  }

  /** How many calls it has begun. */
  async function advance(fenced: Db, run: StoredRun): Promise<number> {
    const { id, project_id, key_id, concurrency } = run
    const caller = await needs.callerOf(project_id, key_id ?? '', clock.now())
    if (!caller) {
      if (busyWith(id) === 0) await end(needs, fenced, run, 'failed')
      return 0
    }
    await nextTurn()
    const at_once = tight.has(id) ? 1 : (concurrency ?? 1)
    const is_quiet = needs.isQuiet()
    const may_begin = mayBegin(at_once, busyWith(id), under_way.size)
    const most = is_quiet ? may_begin : Math.min(1, may_begin) // R78: one of each run in turn, and a pause is heeded
    if (caller.is_suspended || most <= 0) return 0
    const items = await fenced.transaction(async (tx) => {
      const is_alive = await replayStore(tx).turn(project_id, id, { ...AT_WORK, now: clock.now() })
      const claim = { most, busy: new Set(under_way.keys()), now: clock.now() }
      return is_alive ? replayItemStore(tx).claim(project_id, id, claim) : []
    }, UNHURRIED)
    for (const item of items) {
      await nextTurn()
      if (is_stopping) break // whoever comes next finds them begun, and asks them
      begin(fenced, run, item, caller)
      await sleep(is_quiet ? PACE_MS.alone : PACE_MS.beside_calls)
    }
    if (items.length === 0 && busyWith(id) === 0 && !(await replayItemStore(db).hasOpen(project_id, id))) {
      await end(needs, fenced, run, 'completed')
      tight.delete(id)
    }
    return items.length
  }

  return {
    /** A look that takes no lease and writes nothing. */
    isDue: async () => under_way.size > 0 || (await replayStore(db).isAnyAtWork()),

    /** One turn. What is under way at its end goes on. */
    async turn(fenced: Db): Promise<void> {
      const failed = new Set<string>() // R78: they wait for the next turn, and hold up no other
      for (let round = 0; round < ROUNDS_MAX && !is_stopping; round++) {
        const runs = (await replayStore(db).atWork()).filter(({ id }) => !failed.has(id))
        const busy = under_way.size // what ends meanwhile may be the last of its run
        let begun = 0
        for (const run of runs)
          begun += await advance(fenced, run).catch((error) => {
            onFailure(error, run.id)
            failed.add(run.id)
            return 0
          })
        if (busy + begun === 0) return
        if (begun > 0 && !needs.isQuiet()) continue // each has had its pause
        const ends = [...under_way.values()].map(({ ended }) => ended.then(() => true))
        const is_late = ends.length > 0 && !(await Promise.race([...ends, sleep(LOOK_MS, false, UNREF)]))
        if (is_late) await fenced.transaction(async () => {}, UNHURRIED) // renews the lease
      }
    },

    /** What is over and old, and what was paused until its key ended. */
    async sweep(fenced: Db): Promise<void> {
      for (const run of await replayStore(db).pausedTooLong()) await end(needs, fenced, run, 'failed')
      for (const { project_id, id } of await replayStore(db).old(clock.now())) {
        while (await forgetSome(needs, fenced, { project_id, id })); // cut off, the next sweep goes on with it
        await fenced.transaction(async (tx) => {
          await replayStore(tx).forget(project_id, id)
          await needs.giveBackOn(tx)(project_id)
        })
      }
    },

    /** Begins nothing more, and waits for what is under way. */
    async stop(): Promise<void> {
      is_stopping = true
      await Promise.all([...under_way.values()].map(({ ended }) => ended))
      await needs.calls.close()
    },
  }
}

const UNREF = { ref: false }
/**
 * Between two that are begun. An item is some milliseconds of the event loop, in a few pieces: at one a second, hardly
 * one live call in a hundred meets one. Models take seconds to answer, so that runs are seldom slower for it.
 */
const PACE_MS = { alone: 5, beside_calls: 1_000 }
/**
 * Live calls need the disk themselves: what a run notes down is brought there with what they write. A power cut may
 * take the end of an item with it, and its kept answer stays: the item is asked again, and that answer found.
 */
const UNHURRIED = { lasting: 'committed' } as const
const AT_WORK = { from: ['queued', 'running'], to: 'running' } as const

/** With its money: in one transaction, it is over and the rest has gone back. */
async function end(needs: RunnerNeeds, fenced: Db, run: StoredRun, to: 'completed' | 'failed'): Promise<void> {
  const { id, project_id, key_id } = run
  const now = needs.clock.now()
  const error = to === 'failed' ? KEY_ENDED : null
  await fenced.transaction(async (tx) => {
    if (!(await replayStore(tx).turn(project_id, id, { from: ['queued', 'running', 'paused'], to, now, error }))) return
    await replayItemStore(tx).skipAll(project_id, id, 'ended')
    if (key_id !== null) await needs.endKeyOn(tx)(project_id, key_id, now)
    await tell(tx, replayFinished(project_id, { id, status: to, error }), now)
  })
}

interface Asking {
  fenced: Db
  run: StoredRun
  item: StoredItem
  caller: Caller
  isAlone(): boolean
  /** It did not fit beside others. */
  onTight(): void
}

/** What went wrong here is tried again as if an upstream had failed; where that cannot be written, by whoever comes. */
async function askSurely(needs: RunnerNeeds, asking: Asking): Promise<void> {
  const { run, item } = asking
  try {
    await ask(needs, asking)
  } catch (error) {
    needs.onFailure(error, run.id)
    const answer = { status: 500, type: null, message: FAULT }
    const next = afterCall({ ...answer, is_completed: false }, item.attempts, {
      is_alone: true,
      now: needs.clock.now(),
    })
    const name = { project_id: run.project_id, run_id: run.id, trace_id: item.trace_id, arm: item.arm }
    await writeDown(needs, asking, name, { next, answer }).catch(() => {})
  }
}

const FAULT = 'This server failed at it; its log says why.'

/** One item: read, ask, compare, and write down what came of it, each in a turn of the event loop of its own. */
async function ask(needs: RunnerNeeds, asking: Asking): Promise<void> {
  const { fenced, run, item, caller } = asking
  const { project_id, trace_id, arm } = item
  const name = { project_id, run_id: run.id, trace_id, arm }
  const recorded = await needs.recordings.read(project_id, trace_id)
  if (!recorded) return replayItemStore(fenced).end(name, { status: 'skipped', reason: 'erased', message: null })
  const before = await needs.usage.find(project_id, trace_id)
  const call = await callOf(run, arm, { caller, recorded, bundle_id: before?.bundle_id ?? null })
  const key = itemKey(run.id, trace_id, arm)
  await nextTurn()
  const answer = await needs.calls.run(call, key)
  await nextTurn()
  const used = answer.trace_id === null ? undefined : await needs.usage.find(project_id, answer.trace_id)
  const is_completed = used?.status === 'completed'
  const next = afterCall({ ...answer, is_completed }, item.attempts, {
    ...{ is_alone: asking.isAlone(), now: needs.clock.now() },
  })
  if (next.kind === 'again' && answer.type === 'quota_exceeded') asking.onTight()
  if (next.kind !== 'done' || !used) return writeDown(needs, asking, name, { next, answer })
  const result = await resultOf(needs, recorded, answer, used)
  await nextTurn()
  await fenced.transaction(async (tx) => {
    if (await replayItemStore(tx).done(name, result)) await keepOutput(needs, asking, { tx, name, body: answer.body })
    await needs.forgetKeptOn(tx)({ project_id, endpoint: call.endpoint, key })
  }, UNHURRIED)
}

interface Answered {
  message: string | null
  body?: Uint8Array
}

async function writeDown(
  needs: RunnerNeeds,
  asking: Asking,
  name: ItemName,
  { next, answer: { message, body } }: { next: Next; answer: Answered },
): Promise<void> {
  const { fenced, item } = asking
  if (next.kind === 'over')
    return fenced.transaction(async (tx) => {
      await replayItemStore(tx).end(name, next)
      // §4.15: items outlive what was said, and do not quote it. A refusal's own words are its output.
      if (body && next.status === 'failed') await keepOutput(needs, asking, { tx, name, body })
    }, UNHURRIED)
  const items = replayItemStore(fenced)
  if (next.kind === 'again') return items.postpone(name, { ...next, message })
  // The run ends by itself, or what was answered is not in the store yet.
  await items.postpone(name, { not_before_ms: needs.clock.now() + SECOND_MS, attempts: item.attempts, message })
}

function keepOutput(
  { seals, clock, outputs }: RunnerNeeds,
  { caller }: Asking,
  { tx, name, body }: { tx: Db; name: ItemName; body: Uint8Array },
): Promise<void> {
  const of = { ...name, key_id: caller.key_id, made_under: caller.parent_id ?? null }
  return replayOutputStore(tx, seals).insert(of, body, outputs, clock.now())
}

/** True while there may be more. */
const forgetSome = ({ outputs }: RunnerNeeds, fenced: Db, { project_id, id }: Pick<StoredRun, 'project_id' | 'id'>) =>
  fenced.transaction(async (tx) => {
    const { more, bytes } = await replayStore(tx).forgetSome(project_id, id)
    if (bytes > 0) await outputs.giveBack(tx, project_id, bytes)
    return more
  })

async function resultOf(
  { calls }: RunnerNeeds,
  { endpoint: recorded_by, is_stream, answer }: RecordedCall,
  answered: AnsweredCall,
  used: UsedBefore,
): Promise<Result> {
  const endpoint = ownEndpoint(recorded_by)
  const [before, now] = [
    await calls.said(endpoint, is_stream, answer),
    await calls.said(endpoint, is_stream, answered.body),
  ]
  return {
    trace_id: used.trace_id,
    ...figuresOf(used),
    finish_reason: now.finish_reason,
    recorded_finish_reason: before.finish_reason,
    same: sameness(before, now),
  }
}
