// Where prompts are, and how fast they are read: for each target what it is believed to hold, what is on its way there
// and how many tokens it reads in a second. It learns from what targets answer, and forgets those that failed.
import type { Link } from '../reuse/prefix-chain.ts'
import { type BeliefBounds, cacheBelief, type Holding, Sought } from './cache-belief.ts'
import { lotOf, type Standing } from './prefix-score.ts'
import { ReadingRate } from './reading-rate.ts'

/** What a cluster that reports nothing of its cache is believed to have room for. */
const USUAL_ROOM_TOKENS = 1_000_000
const PLACES_MAX = 10_000
/** What others are told at once, at most. */
const NEWS_MAX = 1_000
/** Less than this tells nothing: caches keep whole blocks, and answers round. */
const TELLING_TOKENS = 1_024
/** A cluster may spread calls over engines of its own: only what it misses twice in a row is not there. */
const MISSES_TO_FORGET = 2

/** What is known of a target before anything is sent there. */
export interface PlaceFacts {
  target_id: string
  model: string
  /** As it reports them. */
  cache_tokens: number | undefined
  tokens_per_s: number | undefined
  slots_used: number
}

/** One engine's cache: what a target has for one model. */
interface Place {
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

/** A prompt that another replica has sent to a target. */
export interface SentElsewhere {
  project_id: string
  target_id: string
  model: string
  chain: readonly Link[]
}

type InFlight = [project_id: string, target_id: string, model: string, tokens: number]

export interface Prompt {
  project_id: string
  sought: Sought
  /** All of it, estimated. */
  tokens: number
}

/** How targets stood for a prompt when its route was chosen, best first. */
export interface Placing {
  prompt: Prompt
  standings: readonly Standing[]
}

export type Placement = ReturnType<typeof placement>

export function placement(bounds?: BeliefBounds) {
  const belief = cacheBelief(bounds)
  const places = new Map<string, Map<string, Place>>() // by target, then by model
  let count = 0
  /** What the other replicas have yet to hear; undefined where there are none. */
  let news: SentElsewhere[] | undefined

  function placeOf(project_id: string, { target_id, model, cache_tokens }: PlaceFacts): Place {
    let models = places.get(target_id)
    if (!models) {
      models = new Map()
      places.set(target_id, models)
    }
    let place = models.get(model)
    if (!place) {
      if (count >= PLACES_MAX) dropIdle()
      place = newPlace(target_id, belief.open(project_id, USUAL_ROOM_TOKENS))
      models.set(model, place)
      count++
    }
    place.holding.room_tokens = cache_tokens ?? USUAL_ROOM_TOKENS
    return place
  }

  /** Only a hostile number of names gets here: those that nothing is on its way to are begun anew. */
  function dropIdle(): void {
    for (const [target_id, models] of places) {
      for (const [model, { holding, in_flight }] of models) {
        if (in_flight.size > 0) continue
        belief.close(holding)
        models.delete(model)
        count--
      }
      if (models.size === 0) places.delete(target_id)
    }
  }

  return {
    /** How each of the targets stands for this prompt, in their order. */
    standings(prompt: Prompt, targets: readonly PlaceFacts[], now: number): Standing[] {
      const { project_id, sought, tokens } = prompt
      const asked: Place[] = []
      const holdings: Holding[] = []
      for (const target of targets) {
        const place = placeOf(project_id, target)
        asked.push(place)
        holdings.push(place.holding)
      }
      belief.match(project_id, sought, holdings)
      const standings: Standing[] = []
      for (let at = 0; at < targets.length; at++) {
        const { target_id, tokens_per_s, slots_used } = targets[at] as PlaceFacts
        const place = asked[at] as Place
        const rate = tokens_per_s ?? place.rate.tokens_per_s
        const held_tokens = Math.min(tokens, place.holding.matched_tokens)
        standings.push({
          target_id,
          in_flight_tokens: ahead(place, rate, now),
          held_tokens,
          uncached_tokens: tokens - held_tokens,
          tokens_per_s: rate,
          slots_used,
          lot: place.lot,
        })
      }
      return standings
    },

    /** It is on its way there: the target will hold all of it. */
    sent(prompt: Prompt, target: PlaceFacts, now: number): Prefill {
      const { project_id, sought, tokens } = prompt
      const place = placeOf(project_id, target)
      const { holding } = place
      belief.match(project_id, sought, [holding])
      const matched_tokens = Math.min(tokens, holding.matched_tokens)
      const prefill: Prefill = {
        place,
        prompt_tokens: tokens,
        uncached_tokens: tokens - matched_tokens,
        ahead_tokens: ahead(place, target.tokens_per_s ?? place.rate.tokens_per_s, now),
        sent_at: now,
        stamp: holding.stamp,
        matched_tokens,
        matched_stamp: isFirm(place) ? holding.matched_stamp : 0,
      }
      place.in_flight.add(prefill)
      place.in_flight_tokens += prefill.uncached_tokens
      belief.sent(holding, sought)
      if (news && news.length < NEWS_MAX)
        news.push({ project_id, target_id: target.target_id, model: target.model, chain: sought.chain })
      return prefill
    },

    /** It has been read, or was given up. A second time changes nothing. */
    ended(prefill: Prefill, now: number): void {
      const { place } = prefill
      if (!place.in_flight.delete(prefill)) return
      place.in_flight_tokens -= prefill.uncached_tokens
      place.read_at = now
    },

    /** The first token of a stream has come: how long it took to read what was ahead of it, and its own. */
    timed({ place, ahead_tokens, uncached_tokens, sent_at }: Prefill, now: number): void {
      place.rate.note(ahead_tokens + uncached_tokens, now - sent_at)
    },

    /** What the target says it had of the prompt, beside what was believed. */
    answered(prefill: Prefill, told: { input: number; cached: number }): void {
      const { place, prompt_tokens, matched_tokens, matched_stamp } = prefill
      if (told.cached > 0) place.tells_cached = true
      if (!place.tells_cached || prompt_tokens === 0) return
      const believed = (matched_tokens / prompt_tokens) * told.input
      if (believed < TELLING_TOKENS || matched_stamp === 0) return
      if (told.cached * 2 >= believed) place.misses = 0
      else if (++place.misses >= MISSES_TO_FORGET) {
        place.misses = 0
        // Whatever was used last before this was gave way before it, or with it.
        belief.forget(place.holding, matched_stamp)
      }
    },

    /** It was restarted, or failed: nothing is known of its cache any more. */
    forget(target_id: string): void {
      for (const { holding } of places.get(target_id)?.values() ?? []) belief.forget(holding)
    },

    /** From now on, what is sent is kept until it is told. */
    shareNews(): void {
      news ??= []
    },

    /** What was sent since, and what is on its way: where that has changed, or all of it. */
    takeNews(all: boolean): { sent: SentElsewhere[]; in_flight: InFlight[] } {
      const sent = news?.splice(0) ?? []
      const in_flight: InFlight[] = []
      for (const [target_id, models] of places)
        for (const [model, place] of models) {
          const { in_flight_tokens, told_tokens } = place
          if (told_tokens === in_flight_tokens && !(all && in_flight_tokens > 0)) continue
          place.told_tokens = place.in_flight_tokens
          in_flight.push([place.holding.project_id, target_id, model, place.in_flight_tokens])
        }
      return { sent, in_flight }
    },

    heardSent({ project_id, target_id, model, chain }: SentElsewhere): void {
      const known = places.get(target_id)?.get(model)
      const place = known ?? placeOf(project_id, { target_id, model, ...NOTHING_REPORTED })
      if (place.holding.project_id === project_id) belief.sent(place.holding, new Sought(chain))
    },

    /** What a replica last told counts until it tells otherwise, or is gone. */
    heardInFlight(from: string, told: readonly InFlight[]): void {
      for (const [, target_id, model, tokens] of told) {
        const place = places.get(target_id)?.get(model)
        if (!place) continue
        if (tokens > 0) place.elsewhere.set(from, tokens)
        else place.elsewhere.delete(from)
        addUp(place)
      }
    },

    /** Replicas that are gone have nothing on its way any more. */
    keepOnly(living: readonly string[]): void {
      for (const models of places.values())
        for (const place of models.values()) {
          for (const from of place.elsewhere.keys()) if (!living.includes(from)) place.elsewhere.delete(from)
          addUp(place)
        }
    },

    size: belief.size,
    sizeOf: belief.sizeOf,
  }

  /** What was matched has been read: nothing that was sent before it is still on its way. */
  function isFirm({ in_flight, holding }: Place): boolean {
    for (const oldest of in_flight) return holding.matched_stamp <= oldest.stamp
    return true
  }
}

/** What is still to be read there: of the oldest, what it can have read since the one before it is not counted. */
function ahead(place: Place, rate: number | undefined, now: number) {
  const { in_flight, in_flight_tokens, elsewhere_tokens, read_at } = place
  const sum = in_flight_tokens + elsewhere_tokens
  if (rate === undefined || sum === 0) return sum
  for (const { sent_at, uncached_tokens } of in_flight)
    return sum - Math.min(uncached_tokens, Math.round(((now - Math.max(sent_at, read_at)) / 1_000) * rate))
  return sum
}

const NOTHING_REPORTED = { cache_tokens: undefined, tokens_per_s: undefined, slots_used: 0 }

function addUp(place: Place): void {
  let sum = 0
  for (const tokens of place.elsewhere.values()) sum += tokens
  place.elsewhere_tokens = sum
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
