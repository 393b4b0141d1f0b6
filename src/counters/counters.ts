// THE PORT of volatile rate counters (§8.1): how much went through in the last minute, and who holds a stream open.
// Each call is one decision over all that it names, so that an adapter on a shared store needs one round trip for it.
// An adapter never rejects: where its store is away, it decides by itself, over its share (R50).

import type { MaybePromise } from '../core/maybe-promise.ts'

export type Layer = 'edge' | 'key' | 'project' // §8.1

/** One limit as one request meets it. The layer, the name and the subject together say what is counted. */
export interface Ask {
  layer: Layer
  /** The limit as the operator knows it, such as `requests_per_minute`. */
  name: string
  /** Whose: an address, a key, a project. */
  subject: string
  /** All asks of one decision have the same, and a subject always has the one: an address, or a project. */
  home: string
  /** No window of a minute has more. */
  limit: number
  /** What the request needs of it; 0 only looks. */
  amount: number
  /** Counts and reports, but refuses nothing. */
  shadow: boolean
  /** For which models alone, where it is not for all. */
  model?: string
}

export interface LeaseName {
  subject: string
  id: string
}

/** A stream that is open, or a call that runs. Whoever holds a lease renews it; who dies without a word loses it. */
export interface Lease extends LeaseName {
  home: string
}

export interface LeaseAsk {
  lease: Lease
  /** How many the subject may hold at once. */
  limit: number
  shadow: boolean
}

export interface Reading {
  /** What is left of the limit, this request included. */
  left: number
  /** In so many seconds some of it comes back; 0 where none is used. */
  more_in_s: number
}

/** Asks are named by their place in the list; the leases stand behind the last one. */
export type Verdict =
  | {
      kind: 'taken'
      /** The store's second, under which what was taken is on record. */
      second: number
      readings: readonly Reading[]
      /** The shadows that would have refused. Nothing was taken of them. */
      exceeded: readonly number[]
    }
  | {
      kind: 'refused'
      readings: readonly Reading[]
      by: number
      /** R49: who waits this long, alone, is let through; undefined where no waiting ever helps. */
      wait_s: number | undefined
    }

/** What was taken in a second turned out to be more, or less. */
export interface Correction {
  layer: Layer
  name: string
  subject: string
  home: string
  second: number
  by: number
}

/** At once where the numbers are at hand, so that a request which is let through costs no promise. */
export interface Counters {
  /** All of it or nothing: one refusal takes nothing of the others (R49). */
  take(asks: readonly Ask[], now: number, leases?: readonly LeaseAsk[]): MaybePromise<Verdict>
  /** Into the second of the taking; where that has passed out of the minute, it no longer matters. */
  correct(corrections: readonly Correction[]): MaybePromise<void>
  /** Also brings back a lease that ran out although its stream is open. */
  renew(leases: readonly Lease[], now: number): MaybePromise<void>
  release(lease: Lease): MaybePromise<void>
}

/** Counters that several replicas share, in a store that may be away (R50). */
export interface SharedCounters extends Counters {
  /** Whether this replica decides by itself just now. */
  isAway(): boolean
  /** Who hears of it. The change that was last is told at once. */
  watch(watch: {
    onChange(change: { away: boolean; reason?: Error }): void
    onDecision(decision: { shared: boolean; seconds: number }): void
  }): void
  /**
   * Tells the other replicas something, and hears what they told since: in the background, and lost where nobody
   * listened for a while. Undefined while the store is away.
   */
  exchange(said: string, since: string): Promise<{ heard: string[]; last: string } | undefined>
  /** The processes that live: a share is one of as many parts. */
  shareAmong(living: readonly string[]): void
  close(): Promise<void>
}

export const isShared = (counters: Counters): counters is SharedCounters => 'shareAmong' in counters

export const LEASE_MS = 30_000
