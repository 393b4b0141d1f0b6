// Counters that the replicas of a cluster share, on Redis 7 or Valkey: each decision is one script, one round trip, by
// Redis' own clock (R49). Nothing is kept there that may not vanish. While Redis is away, each replica decides over its
// share (R50), and counts what it knows of the last minute into it; when Redis is back it is told what it missed.
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { WindowRule } from './cell-table.ts'
import type { Ask, Correction, Lease, LeaseAsk, LeaseName, SharedCounters, Verdict } from './counters.ts'
import { SHARDS, shardTags, slotOf } from './hash-slot.ts'
import { CELLS_MAX, memoryCounters } from './memory.ts'
import { ENTRIES_MAX, ownRecord } from './own-record.ts'
import { clusterNodes } from './redis-cluster.ts'
import { dial, type Link } from './redis-link.ts'
import { scriptsFor } from './redis-scripts.ts'
import { ANSWER_MS, answeredWithin, redisSession, SETTLING_MS, type SessionNeeds } from './redis-session.ts'
import { parseRedisUrl } from './redis-url.ts'
import { ALONE, placeAmong, shareOf } from './replica-share.ts'
import { shardedCounters } from './sharded.ts'
import { type Answer, answerOf, cellOf, namesIn, takeArguments } from './take-call.ts'

export interface RedisOptions {
  /** Of one Redis, or of nodes of a cluster (redis-url.ts). */
  url: string
  rule: WindowRule
  process_id: string
  /** Undefined in tests whose time stands still: then Redis, too, takes the time from whoever asks. */
  clock: Clock | undefined
  /** A hash tag; a cluster has one for each shard, made from it. */
  prefix?: string
  /** How long Redis may take to decide. */
  answer_ms?: number
  /** How long it is told what it missed before it decides again. */
  settling_ms?: number
}

const PREFIX = '{switchyard}' // R50: a hash tag, so that all keys of a decision are in one slot
const DIAL_MS = 1_000
const CHUNK = 500
const CATCH_UP_MS = 1_000
const MISSED_MAX = 10_000
const AWAY_WAIT_S = 5 // a guess: for what is more than a share, but not than the limit, Redis must come back first

export async function redisCounters(options: RedisOptions): Promise<SharedCounters> {
  const place = parseRedisUrl(options.url)
  if (!place) throw new Error('REDIS_URL is no URL of a Redis')
  const shards = place.kind === 'cluster' ? shardsOn(place.nodes, options) : [oneOn(options)]
  try {
    await Promise.all(shards.map((shard) => shard.start()))
  } catch (error) {
    await Promise.all(shards.map((shard) => shard.close()))
    throw error
  }
  return shards.length === 1 ? (shards[0] as SharedCounters) : shardedCounters(shards)
}

const oneOn = ({ url, ...options }: RedisOptions) =>
  countersOn({ ...options, parts: 1, dial: (onEnd) => dial(url, DIAL_MS, onEnd) })

/** Each shard is a Redis of its own to the replicas: one node that is away takes with it only what it counted. */
function shardsOn(seeds: readonly string[], options: RedisOptions) {
  const nodes = clusterNodes(seeds)
  const { prefix: whole = PREFIX } = options
  return shardTags(whole.slice(1, -1)).map((prefix) =>
    countersOn({ ...options, prefix, parts: SHARDS, dial: (onEnd) => nodes.dial(slotOf(prefix), onEnd) }),
  )
}

interface StoreOptions extends Omit<RedisOptions, 'url'> {
  dial: SessionNeeds['dial']
  /** Over how many stores the counts are spread. */
  parts: number
}

function countersOn({ dial, rule, process_id, clock, parts, ...options }: StoreOptions) {
  const { prefix = PREFIX, answer_ms = ANSWER_MS, settling_ms = SETTLING_MS } = options
  const here = memoryCounters(rule, Math.ceil(CELLS_MAX / parts))
  const record = ownRecord(rule.size, Math.ceil(ENTRIES_MAX / parts))
  const scripts = scriptsFor(rule.size)
  const names = namesIn(prefix)
  const missed = { corrections: [] as Correction[], releases: new Set<Lease>() }
  const session = redisSession({ dial, settling_ms, resync, onChange: (change) => watching.onChange(change) })
  let watching: Parameters<SharedCounters['watch']>[0] = { onChange() {}, onDecision() {} }
  let place = ALONE
  let era = ''
  let has_decided_alone = false
  let ahead_s = 0 // Redis' seconds, less those of `here`
  let ahead_ms = 0
  let caller_ms = 0

  /** For Redis: nothing, so that it looks at its own clock. */
  const timeFor = (now: number) => (clock ? '' : now)
  // An answer may come behind those to later requests, but time must not go back.
  const localTime = (now: number) => clock?.now() ?? now
  const anyTime = () => clock?.now() ?? caller_ms

  // Until when an answer matters, by Redis' clock: who comes to it later must not count it. Timers may be early by a
  // millisecond, and clocks behind by one.
  const deadlineFor = () => (clock ? Math.floor(clock.now() + ahead_ms + answer_ms) - 2 : '')

  function setAhead(store_ms: number, now: number): void {
    // Of an answer that was read late, Redis' time seems to be less than it is; so what was measured goes down slowly.
    ahead_ms = Math.max(store_ms - now, ahead_ms - 0.01)
    const measured = Math.floor(store_ms / 1_000) - here.secondOf(now)
    // Seconds do not begin together: of the two differences that alternate, the later keeps a count for longer.
    if (measured > ahead_s || measured < ahead_s - 1) ahead_s = measured
  }

  async function askStore(link: Link, asks: readonly Ask[], now: number, leases: readonly LeaseAsk[]) {
    const started_ms = performance.now()
    const { keys, args } = takeArguments(names, era, asks, leases)
    try {
      const work = link.run(scripts.take, keys, [timeFor(now), era, deadlineFor(), ...args])
      const answer = answerOf((await answeredWithin(work, answer_ms)) as number[], asks, leases)
      note(answer, asks, localTime(now))
      if (answer.leases_taken.length > 0) here.renew(answer.leases_taken, localTime(now))
      watching.onDecision({ shared: true, seconds: (performance.now() - started_ms) / 1_000 })
      return answer.verdict
    } catch (error) {
      session.lost(link, error as Error)
      return decideHere(asks, localTime(now), leases)
    }
  }

  /** Remembers what Redis said: what we let through, and our part of what all did, so that a share begins with it. */
  function note({ store_ms, totals, taken }: Answer, asks: readonly Ask[], now: number): void {
    const store_s = Math.floor(store_ms / 1_000)
    setAhead(store_ms, now)
    for (let at = 0; at < asks.length; at++) {
      const ask = asks[at] as Ask
      const amount = taken[at] ? ask.amount : 0
      if (amount > 0) record.addKnown({ second: store_s, cell: cellOf(ask), amount })
      const own = here.note(ask, amount, now)
      const part = Math.ceil((totals[at] as number) / place.replicas)
      if (own < part) here.note(ask, part - own, now)
    }
  }

  function decideHere(asks: readonly Ask[], now: number, leases: readonly LeaseAsk[]): Verdict {
    if (era === '') setAhead(now, now) // nobody has told us Redis' time yet
    const shares = asks.map((ask) => ({ ...ask, limit: shareOf(ask.limit, place) }))
    const lease_shares = leases.map((ask) => ({ ...ask, limit: shareOf(ask.limit, place) }))
    const verdict = here.take(shares, now, lease_shares)
    watching.onDecision({ shared: false, seconds: 0 })
    if (verdict.kind === 'refused') {
      const { by, wait_s } = verdict
      const never = (asks[by]?.amount ?? 0) > (asks[by]?.limit ?? 0)
      return { ...verdict, wait_s: wait_s ?? (never ? undefined : AWAY_WAIT_S) }
    }
    has_decided_alone = true
    const second = verdict.second + ahead_s
    for (let at = 0; at < asks.length; at++) {
      const ask = asks[at] as Ask
      if (ask.amount > 0 && !verdict.exceeded.includes(at))
        record.addUnknown({ second, cell: cellOf(ask), amount: ask.amount })
    }
    return { ...verdict, second }
  }

  /** What Redis must know before it decides again: streams that are open, and what was let through without it. */
  async function resync(link: Link, turn: 'connect' | 'settling' | 'beat'): Promise<'first' | 'same' | 'forgotten'> {
    const run = async (...call: Parameters<Link['run']>) => answeredWithin(link.run(...call), CATCH_UP_MS)
    const time = timeFor(anyTime())
    const may_move = parts > 1 && turn !== 'connect' ? 1 : 0
    const greeting = link.run(scripts.greet, [names.era], [time, randomBase62(12), may_move])
    const [store_ms, found] = (await answeredWithin(greeting, turn === 'connect' ? answer_ms : CATCH_UP_MS)) as [
      number,
      string,
    ]
    const store_s = Math.floor(store_ms / 1_000)
    if (turn === 'connect') ahead_ms = Number.NEGATIVE_INFINITY
    setAhead(store_ms, anyTime())
    const is_new = era === '' && !has_decided_alone // it has nothing to tell, as a replica that starts has not
    const outcome = is_new ? 'first' : found === era ? 'same' : 'forgotten'
    if (outcome !== 'same') {
      record.forgetKnown(store_s)
      missed.corrections.length = 0
      era = found
    }
    if (turn !== 'beat') await renewOn(run, here.openLeases(anyTime()))
    await releaseOn(link, missed.releases, names.leases)
    for (const some of chunks(missed.corrections.splice(0))) await correctOn(run, some)
    for (;;) {
      const entries = record.tell(CHUNK, store_s)
      if (entries.length === 0) return outcome
      const args = entries.flatMap(({ second, amount }) => [second, amount])
      await run(
        scripts.add,
        entries.map(({ cell }) => names.cell(era, cell)),
        [timeFor(anyTime()), ...args],
      ).catch((error) => {
        for (const entry of entries) record.addUnknown(entry)
        throw error
      })
    }
  }

  const renewOn = async (run: Link['run'], leases: readonly LeaseName[]) => {
    for (const some of chunks(leases)) {
      const keys = some.map(({ subject }) => names.leases(subject))
      await run(scripts.renew, keys, [timeFor(anyTime()), ...some.map(({ id }) => id)])
    }
  }

  const correctOn = (run: Link['run'], corrections: readonly Correction[]) => {
    const keys = corrections.map((one) => names.cell(era, cellOf(one)))
    return run(scripts.correct, keys, [timeFor(anyTime()), ...corrections.flatMap(({ second, by }) => [second, by])])
  }

  /** What fails here is not tried again: done twice, it could give back what is in use. */
  const onStore = async (link: Link, work: (run: Link['run']) => Promise<unknown>): Promise<void> => {
    try {
      await work((...call) => answeredWithin(link.run(...call), answer_ms))
    } catch (error) {
      session.lost(link, error as Error)
    }
  }

  return {
    start: session.start,
    close: session.close,
    isAway: () => session.link() === undefined,
    watch: (watch: typeof watching) => {
      watching = watch
      watching.onChange({ away: session.link() === undefined })
    },
    exchange: async (said: string, since: string) => {
      const link = session.link()
      return link && exchanged(link.run(scripts.exchange, [names.said], [timeFor(anyTime()), said, since]))
    },
    shareAmong: (living: readonly string[]) => {
      place = placeAmong(living, process_id)
    },

    take(asks: readonly Ask[], now: number, leases: readonly LeaseAsk[] = []): MaybePromise<Verdict> {
      caller_ms = now
      const link = session.link()
      return link ? askStore(link, asks, now, leases) : decideHere(asks, localTime(now), leases)
    },

    correct(corrections: readonly Correction[]): MaybePromise<void> {
      here.correct(corrections.map((one) => ({ ...one, second: one.second - ahead_s })))
      const of_store = corrections.filter((one) => {
        const entry = { second: one.second, cell: cellOf(one), amount: one.by }
        return !record.correctUnknown(entry) && (record.correctKnown(entry) || true)
      })
      const link = session.link()
      if (of_store.length === 0) return
      if (link) return onStore(link, (run) => correctOn(run, of_store))
      if (missed.corrections.length < MISSED_MAX) missed.corrections.push(...of_store)
    },

    renew(leases: readonly Lease[], now: number): MaybePromise<void> {
      caller_ms = now
      here.renew(leases, localTime(now))
      const link = session.link()
      if (link) return onStore(link, (run) => renewOn(run, leases))
    },

    release(lease: Lease): MaybePromise<void> {
      here.release(lease)
      const link = session.link()
      if (link)
        return onStore(link, () => answeredWithin(link.remove(names.leases(lease.subject), lease.id), answer_ms))
      if (missed.releases.size < MISSED_MAX) missed.releases.add(lease)
    },
  }
}

/** Done twice it changes nothing, so each is on record until Redis has said that it is done. */
async function releaseOn(link: Link, releases: Set<Lease>, keyOf: (subject: string) => string): Promise<void> {
  for (const some of chunks([...releases])) {
    const removed = some.map(({ subject, id }) => link.remove(keyOf(subject), id))
    await answeredWithin(Promise.all(removed), CATCH_UP_MS)
    for (const lease of some) releases.delete(lease)
  }
}

/** What fails here says nothing of the counters: nobody waits for it. */
async function exchanged(asked: Promise<unknown>): Promise<{ heard: string[]; last: string }> {
  const [last = '', ...heard] = (await answeredWithin(asked, CATCH_UP_MS)) as string[]
  return { heard, last }
}

function chunks<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / CHUNK) }, (_, n) => all.slice(n * CHUNK, (n + 1) * CHUNK))
}
