// Counters that are spread over several stores, each of which decides for some addresses and projects by itself, and is
// there or away by itself: the shards of a Redis Cluster. What is decided together has one home, and so one shard.
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { SharedCounters } from './counters.ts'
import { shardOf } from './hash-slot.ts'

export function shardedCounters(shards: readonly SharedCounters[]): SharedCounters {
  const [first] = shards as [SharedCounters]
  const at = (home: string) => shards[shardOf(home)] as SharedCounters

  function each<T extends { home: string }>(
    all: readonly T[],
    work: (shard: SharedCounters, some: T[]) => MaybePromise<void>,
  ) {
    const parts = new Map<SharedCounters, T[]>()
    for (const one of all) {
      const shard = at(one.home)
      const part = parts.get(shard)
      if (part) part.push(one)
      else parts.set(shard, [one])
    }
    return Promise.all([...parts].map(([shard, some]) => work(shard, some))).then(() => {})
  }

  return {
    take: (asks, now, leases) => at(asks[0]?.home ?? leases?.[0]?.lease.home ?? '').take(asks, now, leases),
    correct: (corrections) => each(corrections, (shard, some) => shard.correct(some)),
    renew: (leases, now) => each(leases, (shard, some) => shard.renew(some, now)),
    release: (lease) => at(lease.home).release(lease),

    isAway: () => shards.some((shard) => shard.isAway()),
    /** Told when the first of them goes and when the last of them is back. */
    watch({ onChange, onDecision }) {
      const away = new Set<SharedCounters>()
      let told: boolean | undefined
      for (const shard of shards)
        shard.watch({
          onDecision,
          onChange(change) {
            if (change.away) away.add(shard)
            else away.delete(shard)
            const is_away = away.size > 0
            if (told !== undefined && told !== is_away) onChange(change)
            if (told !== undefined) told = is_away
          },
        })
      told = away.size > 0
      onChange({ away: told })
    },
    exchange: (said, since) => first.exchange(said, since),
    shareAmong: (living) => {
      for (const shard of shards) shard.shareAmong(living)
    },
    close: async () => void (await Promise.all(shards.map((shard) => shard.close()))),
  }
}
