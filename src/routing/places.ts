// R84, R78: what is known of the places that prompts were sent to, each a target's cache for one model. Where there are
// too many, those of the project that has the most give way that nothing is on its way to, the oldest first.
import type { Holding } from './cache-belief.ts'
import { lotOf } from './prefix-score.ts'
import { ReadingRate } from './reading-rate.ts'

export interface PlacesBounds {
  per_project: number
  in_all: number
}

const BOUNDS: PlacesBounds = { per_project: 10_000, in_all: 20_000 } // some 1,000 bytes each

/** What of them gives way at once, so that the largest project is not looked for each time. */
const GIVEN_UP_SHARE = 8

/** One engine's cache: what a target has for one model. */
export interface Place {
  lot: number
  holding: Holding
  in_flight: Set<Prefill>
  in_flight_tokens: number
  /** Of calls that other replicas have sent there: all of it, and what each has told last. */
  elsewhere_tokens: number
  elsewhere: Map<string, number>
  told_tokens: number
  rate: ReadingRate
  /** When it had read what was on its way before the oldest of what still is. */
  read_at: number
  /** It has told of cached tokens once: before that, none may mean that it does not count them. */
  tells_cached: boolean
  misses: number
}

/** A prompt on its way: from being sent until its first token. */
export interface Prefill {
  place: Place
  prompt_tokens: number
  uncached_tokens: number
  /** What was ahead of it. */
  ahead_tokens: number
  sent_at: number
  /** Where it stood among all that was sent there. */
  stamp: number
  /** What was believed: since when the target has what it holds of the prompt; 0 where nothing firm was. */
  matched_tokens: number
  matched_stamp: number
}

interface Needs {
  open(project_id: string): Holding
  close(holding: Holding): void
}

export function knownPlaces({ open, close }: Needs, bounds = BOUNDS) {
  const by_target = new Map<string, Map<string, Place>>() // by target, then by model
  const counts = new Map<string, number>() // by project
  let count = 0

  function add(project_id: string, by: number): void {
    count += by
    const of_project = (counts.get(project_id) ?? 0) + by
    if (of_project > 0) counts.set(project_id, of_project)
    else counts.delete(project_id)
  }

  function drop(target_id: string, model: string, { holding }: Place): void {
    close(holding)
    const models = by_target.get(target_id)
    models?.delete(model)
    if (models?.size === 0) by_target.delete(target_id)
    add(holding.project_id, -1)
  }

  function shrink(project_id: string): void {
    let left = Math.ceil((counts.get(project_id) ?? 0) / GIVEN_UP_SHARE)
    for (const [target_id, model, place] of all()) {
      if (place.holding.project_id !== project_id || place.in_flight.size > 0) continue
      if (left-- === 0) return
      drop(target_id, model, place)
    }
  }

  function makeRoomFor(project_id: string): void {
    if ((counts.get(project_id) ?? 0) >= bounds.per_project) shrink(project_id)
    if (count < bounds.in_all) return
    let [largest, most] = ['', 0]
    for (const [one, of_one] of counts) if (of_one > most) [largest, most] = [one, of_one]
    shrink(largest)
  }

  function* all(): Generator<[target_id: string, model: string, place: Place]> {
    for (const [target_id, models] of by_target) for (const [model, place] of models) yield [target_id, model, place]
  }

  const known = (target_id: string, model: string): Place | undefined => by_target.get(target_id)?.get(model)

  return {
    known,

    /** The same, begun where there is none. */
    of(project_id: string, target_id: string, model: string): Place {
      const there = known(target_id, model)
      if (there) return there
      makeRoomFor(project_id)
      const place = newPlace(target_id, open(project_id))
      const models = by_target.get(target_id)
      if (models) models.set(model, place)
      else by_target.set(target_id, new Map([[model, place]]))
      add(project_id, 1)
      return place
    },

    ofTarget: (target_id: string): Iterable<Place> => by_target.get(target_id)?.values() ?? [],
    all,
  }
}

const newPlace = (target_id: string, holding: Holding): Place => ({
  lot: lotOf(target_id),
  holding,
  in_flight: new Set(),
  in_flight_tokens: 0,
  elsewhere_tokens: 0,
  elsewhere: new Map(),
  told_tokens: 0,
  rate: new ReadingRate(),
  read_at: 0,
  tells_cached: false,
  misses: 0,
})
