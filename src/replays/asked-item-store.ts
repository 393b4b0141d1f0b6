// One item of a replay run, under way: its recording is read, the call made, its answer compared, and what came of it
// written down.
import type { Caller } from '../core/caller.ts'
import { type Clock, SECOND_MS } from '../core/clock.ts'
import type { Taking } from '../core/memory-room.ts'
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import type { Db } from '../storage/db.ts'
import { afterCall, itemKey, type Next, type Result, type StoredItem } from './replay-item.ts'
import { type OutputQuota, replayItemStore, replayOutputStore } from './replay-item-store.ts'
import type { StoredRun } from './replay-run.ts'
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

export interface AskingNeeds {
  clock: Clock
  seals: Sealing
  calls: ReplayCalls
  recordings: RecordedCalls
  usage: { find(project_id: string, trace_id: string): Promise<UsedBefore | undefined> }
  /** Nobody asks for this kept answer any more. */
  forgetKeptOn(tx: Db): (call: { project_id: string; endpoint: string; key: string }) => Promise<void>
  outputs: OutputQuota
  onFailure(error: unknown, replay_run_id: string): void
}

/**
 * Live calls need the disk themselves: what a run notes down is brought there with what they write. A power cut may
 * take the end of an item with it, and its kept answer stays: the item is asked again, and that answer found.
 */
export const UNHURRIED = { lasting: 'committed' } as const

export interface Asking {
  fenced: Db
  run: StoredRun
  item: StoredItem
  caller: Caller
  isAlone(): boolean
  /** It did not fit beside others. */
  onTight(): void
}

/** What went wrong here is tried again as if an upstream had failed; where that cannot be written, by whoever comes. */
export async function askSurely(needs: AskingNeeds, asking: Asking): Promise<void> {
  const { fenced, run, item } = asking
  const name = { project_id: run.project_id, run_id: run.id, trace_id: item.trace_id, arm: item.arm }
  const place = needs.recordings.room.place(run.project_id)
  try {
    await ask(needs, asking, orLater(place))
  } catch (error) {
    const now = needs.clock.now()
    if (error instanceof NoRoomYet) {
      const later = { not_before_ms: now + SECOND_MS, attempts: item.attempts, message: null }
      return await replayItemStore(fenced)
        .postpone(name, later)
        .catch(() => {})
    }
    needs.onFailure(error, run.id)
    const answer = { status: 500, type: null, message: FAULT }
    const next = afterCall({ ...answer, is_completed: false }, item.attempts, { is_alone: true, now })
    await writeDown(needs, asking, name, { next, answer }).catch(() => {})
  } finally {
    place.giveBack()
  }
}

/** R78: others read so much right now; nothing went wrong, and nothing was asked. */
class NoRoomYet extends Error {}

const orLater = (place: Taking): Taking => ({
  take(bytes) {
    try {
      place.take(bytes)
    } catch (cause) {
      throw new NoRoomYet('no room for the recording', { cause })
    }
  },
})

const FAULT = 'This server failed at it; its log says why.'

/** One item: read, ask, compare, and write down what came of it, each in a turn of the event loop of its own. */
async function ask(needs: AskingNeeds, asking: Asking, place: Taking): Promise<void> {
  const { fenced, run, item, caller } = asking
  const { project_id, trace_id, arm } = item
  const name = { project_id, run_id: run.id, trace_id, arm }
  const recorded = await needs.recordings.read(project_id, trace_id, place)
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
  needs: AskingNeeds,
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
  { seals, clock, outputs }: AskingNeeds,
  { caller }: Asking,
  { tx, name, body }: { tx: Db; name: ItemName; body: Uint8Array },
): Promise<void> {
  const of = { ...name, key_id: caller.key_id, made_under: caller.parent_id ?? null }
  return replayOutputStore(tx, seals).insert(of, body, outputs, clock.now())
}

async function resultOf(
  { calls }: AskingNeeds,
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
