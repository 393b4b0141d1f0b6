// Makes the calls of replay runs, for all projects, on one replica at a time: the database that it is handed commits
// nothing once another replica has taken over. A call has the name of its item, under which its answer is kept in the
// transaction that charges it: whoever comes to an item after a crash gets that answer, and nobody pays twice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../core/caller.ts'
import { SECOND_MS } from '../core/clock.ts'
import { nextTurn } from '../core/turns.ts'
import { replayFinished } from '../notifications/happening.ts'
import type { Db } from '../storage/db.ts'
import { tell } from '../storage/telling.ts'
import { type AskingNeeds, askSurely, UNHURRIED } from './asked-item-store.ts'
import { itemKey, type StoredItem } from './replay-item.ts'
import { replayItemStore } from './replay-item-store.ts'
import { CONCURRENCY_MAX, KEY_ENDED, mayBegin, type StoredRun } from './replay-run.ts'
import { replayStore } from './replay-store.ts'

const ROUNDS_MAX = 200 // of one turn
const LOOK_MS = SECOND_MS // in a round that nothing ends in, the lease is renewed and others get their turn

interface UnderWay {
  run_id: string
  project_id: string
  ended: Promise<void>
}

export interface RunnerNeeds extends AskingNeeds {
  db: Db
  /** No live call has come for a while. */
  isQuiet(): boolean
  /** Whom the key of a run speaks for; undefined where it has ended. */
  callerOf(project_id: string, key_id: string, now: number): Promise<Caller | undefined>
  /** What a run has not spent goes back. */
  endKeyOn(tx: Db): (project_id: string, key_id: string, now: number) => Promise<void>
  /** R70: the place of a run that is forgotten. */
  giveBackOn(tx: Db): (project_id: string) => Promise<void>
}

export function replayRunner(needs: RunnerNeeds) {
  const { db, clock, onFailure } = needs
  const under_way = new Map<string, UnderWay>() // by the names of items
  /** Runs whose money did not suffice for all that they asked at once: from then on they ask one at a time. */
  const tight = new Set<string>()
  let is_stopping = false

  const countOf = (isMeant: (one: UnderWay) => boolean) => [...under_way.values()].filter(isMeant).length
  const busyWith = (id: string) => countOf(({ run_id }) => run_id === id)

  function begin(fenced: Db, run: StoredRun, item: StoredItem, caller: Caller): void {
    const name = itemKey(run.id, item.trace_id, item.arm)
    const isAlone = () => busyWith(run.id) <= 1
    const onTight = () => void tight.add(run.id)
    const ended = askSurely(needs, { fenced, run, item, caller, isAlone, onTight }).finally(() => {
      under_way.delete(name)
    })
    under_way.set(name, { run_id: run.id, project_id: run.project_id, ended })
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
    const busy = countOf((one) => one.project_id === project_id)
    // Calls of a run that was cancelled take none of this run's own, but count among the most of the project.
    const of_project = Math.min(at_once + busy - busyWith(id), CONCURRENCY_MAX)
    const may_begin = mayBegin(of_project, busy, under_way.size)
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

/** True while there may be more. */
const forgetSome = ({ outputs }: RunnerNeeds, fenced: Db, { project_id, id }: Pick<StoredRun, 'project_id' | 'id'>) =>
  fenced.transaction(async (tx) => {
    const { more, bytes } = await replayStore(tx).forgetSome(project_id, id)
    if (bytes > 0) await outputs.giveBack(tx, project_id, bytes)
    return more
  })
