// Where prompts are, and how fast they are read: for each target what it is believed to hold, what is on its way there
// and how many tokens it reads in a second. It learns from what targets answer, and forgets those that failed.
import type { Link } from '../reuse/prefix-chain.ts'
import { type BeliefBounds, cacheBelief, type Holding, Sought } from './cache-belief.ts'
import { knownPlaces, type Place, type PlacesBounds, type Prefill } from './places.ts'
import { lotOf, type Standing } from './prefix-score.ts'

/** What a cluster that reports nothing of its cache is believed to have room for. */
const USUAL_ROOM_TOKENS = 1_000_000
/** What others are told at once, at most; and of one project (R78). */
const NEWS_MAX = 1_000
const NEWS_OF_ONE = 200
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

/** A prompt that another replica has sent to a target. */
export interface SentElsewhere {
  project_id: string
  target_id: string
  model: string
  chain: readonly Link[]
}

export type InFlight = [project_id: string, target_id: string, model: string, tokens: number]

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

export function placement(bounds?: BeliefBounds, places_bounds?: PlacesBounds) {
  const belief = cacheBelief(bounds)
  const open = (project_id: string) => belief.open(project_id, USUAL_ROOM_TOKENS)
  const places = knownPlaces({ open, close: belief.close }, places_bounds)
  /** By project, what the other replicas have yet to hear; undefined where there are none. */
  let news: Map<string, SentElsewhere[]> | undefined
  let news_count = 0

  function tellOthers(one: SentElsewhere): void {
    if (!news || news_count >= NEWS_MAX) return
    const of_project = news.get(one.project_id)
    if (of_project && of_project.length >= NEWS_OF_ONE) return
    if (of_project) of_project.push(one)
    else news.set(one.project_id, [one])
    news_count++
  }

  return {
    /** How each of the targets stands for this prompt, in their order. Who only asks leaves nothing behind. */
    standings(prompt: Prompt, targets: readonly PlaceFacts[], now: number): Standing[] {
      const { project_id, sought, tokens } = prompt
      const asked: (Place | undefined)[] = []
      const holdings: Holding[] = []
      for (const { target_id, model, cache_tokens } of targets) {
        const place = places.known(target_id, model)
        asked.push(place)
        if (!place) continue
        place.holding.room_tokens = cache_tokens ?? USUAL_ROOM_TOKENS
        holdings.push(place.holding)
      }
      belief.match(project_id, sought, holdings)
      const standings: Standing[] = []
      for (let at = 0; at < targets.length; at++) {
        const { target_id, tokens_per_s, slots_used } = targets[at] as PlaceFacts
        const place = asked[at]
        const rate = tokens_per_s ?? place?.rate.tokens_per_s
        const held_tokens = place ? Math.min(tokens, place.holding.matched_tokens) : 0
        standings.push({
          target_id,
          in_flight_tokens: place ? ahead(place, rate, now) : 0,
          held_tokens,
          uncached_tokens: tokens - held_tokens,
          tokens_per_s: rate,
          slots_used,
          lot: place?.lot ?? lotOf(target_id),
        })
      }
      return standings
    },

    /** It is on its way there: the target will hold all of it. */
    sent(prompt: Prompt, target: PlaceFacts, now: number): Prefill {
      const { project_id, sought, tokens } = prompt
      const place = places.of(project_id, target.target_id, target.model)
      const { holding } = place
      holding.room_tokens = target.cache_tokens ?? USUAL_ROOM_TOKENS
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
      tellOthers({ project_id, target_id: target.target_id, model: target.model, chain: sought.chain })
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
      for (const { holding } of places.ofTarget(target_id)) belief.forget(holding)
    },

    /** From now on, what is sent is kept until it is told. */
    shareNews(): void {
      news ??= new Map()
    },

    /** What was sent since, and what is on its way: where that has changed, or all of it. */
    takeNews(all: boolean): { sent: SentElsewhere[]; in_flight: InFlight[] } {
      const sent = [...(news?.values() ?? [])].flat()
      news?.clear()
      news_count = 0
      const in_flight: InFlight[] = []
      for (const [target_id, model, place] of places.all()) {
        const { in_flight_tokens, told_tokens } = place
        if (told_tokens === in_flight_tokens && !(all && in_flight_tokens > 0)) continue
        place.told_tokens = place.in_flight_tokens
        in_flight.push([place.holding.project_id, target_id, model, place.in_flight_tokens])
      }
      return { sent, in_flight }
    },

    heardSent({ project_id, target_id, model, chain }: SentElsewhere): void {
      const place = places.of(project_id, target_id, model)
      if (place.holding.project_id === project_id) belief.sent(place.holding, new Sought(chain))
    },

    /** What a replica last told counts until it tells otherwise, tells `all` without it, or is gone. */
    heardInFlight(from: string, told: readonly InFlight[], all = false): void {
      if (all) for (const [, , place] of places.all()) hear(place, from, 0)
      for (const [project_id, target_id, model, tokens] of told) {
        const place = tokens > 0 ? places.of(project_id, target_id, model) : places.known(target_id, model)
        if (place?.holding.project_id === project_id) hear(place, from, tokens)
      }
    },

    /** Replicas that are gone have nothing on its way any more. */
    keepOnly(living: readonly string[]): void {
      for (const [, , place] of places.all())
        for (const from of place.elsewhere.keys()) if (!living.includes(from)) hear(place, from, 0)
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

/** So much is on its way there from that replica. */
function hear(place: Place, from: string, tokens: number): void {
  if (tokens > 0) place.elsewhere.set(from, tokens)
  else if (!place.elsewhere.delete(from)) return
  place.elsewhere_tokens = 0
  for (const of_one of place.elsewhere.values()) place.elsewhere_tokens += of_one
}
