// Calls that this process makes itself: at one target, within a bound, or by an alias release that is not the current
// one. Named by a secret of the moment, which nobody outside knows. Where none is under way, a look at a number is all
// that it costs.
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../core/caller.ts'
import { Refusal } from '../core/refusal.ts'
import type { TestedRelease } from '../replays/replay-target.ts'
import type { Route, Target } from '../routing/target.ts'
import type { Call } from './call.ts'

export const ONLY_HEADER = 'x-switchyard-only'

export interface Only {
  /** Undefined: wherever it may go. */
  target_id: string | undefined
  /** What the call may cost at the most; undefined where anything goes. */
  most_micros: number | undefined
  /** For whom it is, where no key is sent. */
  caller?: Caller
  /** By which it is routed. */
  release?: TestedRelease | undefined
  /** It is only planned: told where it would go, and nobody is called. */
  onRouted?: ((routed: Routed) => void) | undefined
}

/** A call that has a route, and nothing else yet. */
export interface Routed {
  call: Call
  route: Route
  /** How much of its prompt a target is believed to hold. */
  heldBy(target: Target): number
}

export type OnlyCalls = ReturnType<typeof onlyCalls>

export function onlyCalls() {
  const under_way = new Map<string, Only & { is_too_dear: boolean }>()

  return {
    add: (name: string, only: Only) => void under_way.set(name, { ...only, is_too_dear: false }),
    remove: (name: string) => void under_way.delete(name),
    isTooDear: (name: string) => under_way.get(name)?.is_too_dear ?? false,

    callerOf({ headers }: FastifyRequest): Caller | undefined {
      if (under_way.size === 0) return undefined
      return under_way.get(String(headers[ONLY_HEADER]))?.caller
    },

    of({ headers }: FastifyRequest): OnlyCall | undefined {
      if (under_way.size === 0) return undefined
      const known = under_way.get(String(headers[ONLY_HEADER]))
      return known && onlyCall(known)
    },
  }
}

export type OnlyCall = ReturnType<typeof onlyCall>

function onlyCall(only: Only & { is_too_dear: boolean }) {
  const { target_id, most_micros, release, onRouted } = only
  return {
    most_micros,
    release,
    onRouted,

    /** To this target or nowhere: another one would be charged for nothing. */
    narrowed: (route: Route): Route =>
      target_id === undefined ? route : { ...route, candidates: route.candidates.filter(({ id }) => id === target_id) },

    /** R43: what the call could cost must fit, and no more than that is charged. */
    assertFits(worst_micros: number): void {
      if (most_micros === undefined || worst_micros <= most_micros) return
      only.is_too_dear = true
      throw new Refusal(
        'quota_exceeded',
        `This could cost ${worst_micros} micro-USD, and ${most_micros} are left of what was allowed.`,
      )
    },
  }
}
