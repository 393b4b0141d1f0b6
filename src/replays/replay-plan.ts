// The plan of a replay run: each call with its route or the reason why it cannot be asked, and what it would cost.
// Nobody is called.
import type { Caller } from '../core/caller.ts'
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { lanes } from '../core/lanes.ts'
import type { Taking } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import { restingTurn } from '../core/turns.ts'
import { ARMS, type Arm, NOTHING_PLANNED, type Reason, type StoredItem } from './replay-item.ts'
import { CALLS_MAX, type CheckedSource, MATCHED_MAX, nothingMatched, sampleOf, tooMany } from './replay-source.ts'
import {
  type Asked,
  callOf,
  figuresOf,
  ownEndpoint,
  type RecordedCall,
  type RecordedCalls,
  type ReplayCalls,
  type UsedBefore,
  type UsedCalls,
} from './replayed-call.ts'

export interface PlanNeeds {
  calls: ReplayCalls
  recordings: RecordedCalls
  usage: UsedCalls
  /** No live call has come for a while. */
  isQuiet(): boolean
}

export interface Chosen {
  trace_ids: readonly string[]
  matched: number
}

const ASKED_AT_ONCE = 500
const PLANNED_MS = 4 // what one takes of the event loop
const RESTS = 3 // as long as each, beside live calls

/** Which calls a run is about. A sample is drawn among those that were recorded. */
export async function chosenCalls(needs: PlanNeeds, project_id: string, source: CheckedSource): Promise<Chosen> {
  if (source.kind === 'named') return { trace_ids: source.trace_ids, matched: source.trace_ids.length }
  const { filter, sample } = source
  const matching = await needs.usage.traceIds(project_id, filter, MATCHED_MAX + 1)
  if (matching.length === 0) throw nothingMatched()
  if (matching.length > MATCHED_MAX) throw tooMany(MATCHED_MAX, 'Narrow its filter.')
  if (!sample && matching.length > CALLS_MAX)
    throw tooMany(CALLS_MAX, `It matches ${matching.length}: narrow it, or draw a 'sample'.`)
  if (!sample) return { trace_ids: [...matching].reverse(), matched: matching.length }
  const recorded: string[] = []
  for (let at = 0; at < matching.length; at += ASKED_AT_ONCE) {
    const some = matching.slice(at, at + ASKED_AT_ONCE)
    const known = await needs.recordings.recorded(project_id, some)
    recorded.push(...some.filter((id) => known.has(id)))
  }
  if (recorded.length === 0) throw noneRecorded(matching.length)
  return { trace_ids: await sampleOf(recorded, sample), matched: matching.length }
}

const noneRecorded = (matched: number) =>
  new Refusal('invalid_request', `'source' must match a recorded call; of the ${matched} that match none was recorded.`)

interface Planning extends Asked {
  replay_run_id: string
  project_id: string
  control: boolean
  caller: Caller
}

/** One after the other: each may be large. */
export async function plannedItems(
  needs: PlanNeeds,
  run: Planning,
  trace_ids: readonly string[],
): Promise<StoredItem[]> {
  const items: StoredItem[] = []
  for (const trace_id of trace_ids)
    for (const arm of ARMS)
      if (arm === 'target' || run.control) {
        items.push(await inItemLane('all', () => plannedInRoom(needs, run, { trace_id, arm, at: items.length })))
        await restingTurn(needs.isQuiet() ? PLANNED_MS : RESTS * PLANNED_MS) // live calls come first
      }
  return items
}

interface ItemPlace {
  trace_id: string
  arm: Arm
  at: number
}

/**
 * R78: a call that is planned takes several times its bytes, so a few are at a time. Whoever plans thousands is behind
 * everybody else's next after each: no more wait here than projects plan.
 */
const inItemLane = lanes({ at_once: 2, waiting_max: Number.POSITIVE_INFINITY })

async function plannedInRoom(needs: PlanNeeds, run: Planning, item: ItemPlace): Promise<StoredItem> {
  const place = needs.recordings.room.place(run.project_id)
  try {
    return await plannedItem(needs, run, item, place)
  } finally {
    place.giveBack()
  }
}

async function plannedItem(needs: PlanNeeds, run: Planning, { trace_id, arm, at }: ItemPlace, place: Taking) {
  const { project_id, replay_run_id, caller } = run
  const used = await needs.usage.find(project_id, trace_id)
  const item: StoredItem = {
    ...{ replay_run_id, project_id, trace_id, arm, position: at, status: 'pending', reason: null, message: null },
    ...{ planned: NOTHING_PLANNED, recorded: used ? figuresOf(used) : null, result: null, attempts: 0 },
  }
  const skipped = (reason: Reason, message: string | null = null): StoredItem => ({
    ...item,
    ...{ status: 'skipped', reason, message },
  })
  if (!used) return skipped('not_found', 'No generation of this project has this trace id.')
  if (used.status !== 'completed') return skipped('not_completed', `It ended as '${used.status}'.`)
  if (!needs.calls.isCompared(ownEndpoint(used.endpoint)))
    return skipped('not_compared', `Nothing of ${used.endpoint} is compared.`)
  const recorded = await needs.recordings.read(project_id, trace_id, place)
  if (!recorded) return skipped('not_recorded', 'Its contents were not recorded, or are gone.')
  if (await isBackground(recorded)) return skipped('not_compared', 'Its answer came before anything was said.')
  const planned = await needs.calls.plan(await callOf(run, arm, { caller, recorded, bundle_id: used.bundle_id }))
  if (planned.kind === 'refused') return skipped('refused', planned.message)
  const { target, provider, model, profile, high_micros } = planned
  const is_same_place = provider === used.provider && model === used.resolved_model
  return {
    ...item,
    planned: {
      route: { target, provider, model, profile },
      low_micros: Math.min(planned.costOf(used), high_micros),
      high_micros,
      expected_cached_tokens: expectedCached(used, planned.held_tokens, is_same_place),
    },
  }
}

/** A response in the background is answered at once, and made afterwards. */
export async function isBackground({ endpoint, request }: Pick<RecordedCall, 'endpoint' | 'request'>) {
  if (!endpoint.endsWith('/responses')) return false
  try {
    const asked = await jsonWithin(BUDGETS.generation, Buffer.from(request)) // R77: in steps where it is large
    return (asked as { background?: unknown } | null)?.background === true
  } catch {
    return false
  }
}

/** Of all items together; what is skipped has nothing planned. */
export const planOf = (items: readonly Pick<StoredItem, 'planned'>[]) => {
  const sum = (field: 'low_micros' | 'high_micros' | 'expected_cached_tokens') =>
    items.reduce((all, { planned }) => Math.min(all + planned[field], Number.MAX_SAFE_INTEGER), 0)
  return {
    low_micros: sum('low_micros'),
    high_micros: sum('high_micros'),
    expected_cached_tokens: sum('expected_cached_tokens'),
  }
}

/** What is believed of the target, or what was cached when it was recorded there; never more than there is. */
const expectedCached = ({ input_tokens, cached_tokens }: UsedBefore, held: number, is_same_place: boolean) =>
  Math.min(input_tokens, is_same_place ? Math.max(held, cached_tokens) : held)
