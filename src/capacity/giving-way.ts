// Who leaves a full waiting room for a call that comes (R46, R78). Between projects: the newest of who has the most in
// the room, for one that has less. Inside a project: the newest of the background, for a higher class. Pure.
import type { QosClass } from '../hints/hints.ts'
import { BACKGROUND_SHARE } from './fair-queue.ts'

export interface Occupant {
  readonly class: QosClass
  readonly project_id: string
  readonly key_id: string
  readonly body_bytes: number
}

export interface RoomBounds {
  waiters: number
  waiters_per_key: number
  body_bytes: number
}

export type Way<O> = { kind: 'room'; leaving: readonly Leaving<O>[] } | { kind: 'none'; full: 'key' | 'room' }

export interface Leaving<O> {
  who: O
  for_whom: 'higher_class' | 'other_project'
}

/** `waiting`: the longest waiting first. */
export function wayFor<O extends Occupant>(call: Occupant, waiting: ReadonlySet<O>, bounds: RoomBounds): Way<O> {
  const stays = new Set(waiting)
  const leaving: Leaving<O>[] = []
  const shed = (who: O, for_whom: Leaving<O>['for_whom']) => {
    stays.delete(who)
    leaving.push({ who, for_whom })
  }
  const ofKey = ({ key_id }: Occupant) => key_id === call.key_id
  while (count(stays, ofKey) >= bounds.waiters_per_key) {
    const who = ownBackground(call, stays, bounds).find(ofKey)
    if (!who) return { kind: 'none', full: 'key' }
    shed(who, 'higher_class')
  }
  for (;;) {
    const measure = isOver(call, stays, bounds)
    if (!measure) return { kind: 'room', leaving }
    const other = newestOfHeaviest(call, stays, measure)
    const who = other ?? ownBackground(call, stays, bounds)[0]
    if (!who) return { kind: 'none', full: 'room' }
    shed(who, other ? 'other_project' : 'higher_class')
  }
}

type Measure = (one: Occupant) => number

const heads: Measure = () => 1
const bytes: Measure = ({ body_bytes }) => body_bytes

function isOver(call: Occupant, stays: ReadonlySet<Occupant>, bounds: RoomBounds): Measure | undefined {
  if (stays.size + 1 > bounds.waiters) return heads
  return sum(stays, bytes) + call.body_bytes > bounds.body_bytes ? bytes : undefined
}

/** Of the project that has the most, where that is more than the caller's own would have with this call. */
function newestOfHeaviest<O extends Occupant>(call: Occupant, stays: ReadonlySet<O>, measure: Measure): O | undefined {
  const loads = new Map([[call.project_id, measure(call)]])
  for (const one of stays) loads.set(one.project_id, (loads.get(one.project_id) ?? 0) + measure(one))
  let [heaviest, most] = [call.project_id, loads.get(call.project_id) ?? 0]
  for (const [project_id, load] of loads) if (load > most) [heaviest, most] = [project_id, load]
  if (heaviest === call.project_id) return undefined
  const its = [...stays].filter(({ project_id }) => project_id === heaviest)
  return its.findLast(isBackground) ?? its.at(-1)
}

/** Newest first. A thirteenth of all places is never taken away from the background. */
function ownBackground<O extends Occupant>(call: Occupant, stays: ReadonlySet<O>, { waiters }: RoomBounds): O[] {
  if (isBackground(call)) return []
  const its = [...stays].filter((one) => isBackground(one) && one.project_id === call.project_id)
  return its.slice(Math.ceil(waiters * BACKGROUND_SHARE)).reverse()
}

const isBackground = (one: Occupant) => one.class === 'background'

function sum(of: Iterable<Occupant>, measure: Measure): number {
  let total = 0
  for (const one of of) total += measure(one)
  return total
}

const count = (of: Iterable<Occupant>, is: (one: Occupant) => boolean) => sum(of, (one) => Number(is(one)))
