// R84: which of several clusters a call goes to, by what their caches are believed to hold and what is on its way there
// (decision 0240); and what became of it, so that the next call knows better. A call to a provider
// pays nothing, one to the only cluster of its model for noting what it sent.
import type { TokenCounts } from '../answers/token-counts.ts'
import type { Clock } from '../core/clock.ts'
import { Sought } from '../routing/cache-belief.ts'
import type { Placed } from '../routing/choose-route.ts'
import { type PlaceFacts, type Placement, type Prompt, placement } from '../routing/placement.ts'
import type { Prefill } from '../routing/places.ts'
import { expectedMs, ranked, type Standing } from '../routing/prefix-score.ts'
import type { Attempt, Route, Target } from '../routing/target.ts'
import type { TracedCandidate, TracedPlacing } from '../usage/traced-placing.ts'
import type { Asking } from './asking.ts'
import type { PromptMemory } from './prompt-memory.ts'

interface Needs {
  clock: Clock
  prompts: Pick<PromptMemory, 'chainOf'>
  slots: { inFlight(target_id: string): number }
  places?: Placement
}

/** A trace names no more than the best. */
const TRACED_MAX = 16

export type PlacingOf = ReturnType<typeof placing>

export function placing({ clock, prompts, slots, places = placement() }: Needs) {
  const factsOf = ({ id, model, reads, dialling }: Target): PlaceFacts => ({
    target_id: id,
    model,
    cache_tokens: reads?.cache_tokens,
    tokens_per_s: reads?.tokens_per_s,
    slots_used: slots.inFlight(id) / dialling.max_concurrency,
  })

  function promptOf(call: Asking, { model }: Target): Prompt {
    const chain = prompts.chainOf(call, model)
    const known = chain.length === 0 ? 0 : (chain[chain.length - 1]?.tokens ?? 0)
    // What the chain does not follow to its end is part of the prompt all the same.
    const tokens = Math.max(known, call.input_estimate ?? 0)
    return { project_id: call.caller.project_id, sought: new Sought(chain), tokens }
  }

  return {
    places,

    /** Of one model, and at least one of them. */
    place(call: Asking, targets: readonly Target[]): Placed {
      const prompt = promptOf(call, targets[0] as Target)
      const standings = places.standings(prompt, targets.map(factsOf), clock.now())
      const preference = call.hints?.reuse?.preference ?? 'prefer'
      const seed = call.session_id ?? prompt.sought.chain.at(-1)?.hash ?? call.trace_id
      const order = ranked(standings, preference, seed)
      return {
        targets: order.map((at) => targets[at] as Target),
        placing: { prompt, standings: order.map((at) => standings[at] as Standing) },
      }
    },

    /** It is being dialled. Undefined where there was nothing to choose. */
    sent({ placing }: Route, target: Target): Prefill | undefined {
      if (!placing?.standings.some(({ target_id }) => target_id === target.id)) return undefined
      return places.sent(placing.prompt, factsOf(target), clock.now())
    },

    /** Of a stream, when its first token came tells how fast the target reads. */
    firstToken(prefill: Prefill | undefined, is_stream: boolean): void {
      if (!prefill) return
      if (is_stream) places.timed(prefill, clock.now())
      places.ended(prefill, clock.now())
    },

    ended(prefill: Prefill | undefined): void {
      if (prefill) places.ended(prefill, clock.now())
    },

    failed: places.forget,

    /** What the target says it had, beside what was believed. */
    answered(went: Went, tokens: TokenCounts): TracedPlacing | undefined {
      const { call, route, target, prefill, ttft_ms, attempts } = went
      // A second cluster may come: by then it is to be known what the first one holds.
      if (!prefill && target.cluster_id !== undefined)
        places.ended(places.sent(promptOf(call, target), factsOf(target), clock.now()), clock.now())
      if (!route.placing || !prefill) return undefined
      if (!tokens.estimated) places.answered(prefill, tokens)
      return tracedPlacing(route.placing.standings, target.id, {
        input_tokens: tokens.input,
        cached_tokens: tokens.cached,
        first_token_ms: ttft_ms === null ? null : ttft_ms - (attempts.at(-1)?.times.dialled_ms ?? 0),
      })
    },
  }
}

/** A generation as far as its place needs it. */
interface Went {
  call: Asking
  route: Route
  target: Target
  prefill: Prefill | undefined
  ttft_ms: number | null
  attempts: readonly Attempt[]
}

function tracedPlacing(standings: readonly Standing[], chosen: string, observed: TracedPlacing['observed']) {
  const candidates = standings.slice(0, TRACED_MAX).map(candidateOf)
  return { chosen, candidates, observed }
}

/** As it is told: in a trace, and by route-explain. */
export function candidateOf(standing: Standing): TracedCandidate {
  const { target_id, in_flight_tokens, held_tokens, uncached_tokens, tokens_per_s } = standing
  return {
    target: target_id,
    in_flight_tokens,
    held_tokens,
    uncached_tokens,
    tokens_per_s: tokens_per_s === undefined ? null : Math.round(tokens_per_s),
    expected_first_token_ms: expectedMs(standing) ?? null,
  }
}
