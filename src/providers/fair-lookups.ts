// R78: names of customers are looked up by threads of the process, of which there are two for all that it dials: a name
// whose servers never answer keeps one for as long as the system waits. So one lookup of a name that was well before is
// under way at a time, and one of any other. A name that was slow rests, and so do new names of its domain; equal names
// wait for one answer. Whatever the operator dials has a thread.
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { type Clock, MINUTE_MS, SECOND_MS, systemClock } from '../core/clock.ts'

export type Resolve = (hostname: string, options: LookupAllOptions, done: Resolved) => void
type Resolved = (error: NodeJS.ErrnoException | null, answers: LookupAddress[]) => void

const SLOW_MS = 4 * SECOND_MS // a server that does not answer is given five by most systems
const NAME_RESTS_MS = 5 * SECOND_MS
const DOMAIN_RESTS_MS = 30 * SECOND_MS // for names that are not known to be well: others may have some of it
const SUSPECT_MS = 10 * MINUTE_MS // so long a name that was slow waits with those that nobody knows
const WAITING_MS = 5 * SECOND_MS // whoever dials has given up by then
const WAITING_MAX = 1_000
const NAMES_MAX = 10_000

interface Lookup {
  hostname: string
  options: LookupAllOptions
  since: number
  waiting: Resolved[]
}

export function fairLookups(resolve: Resolve, clock: Pick<Clock, 'now'> = systemClock): Resolve {
  /** Names that were looked up, and domains of slow ones: when one was slow last. */
  const names = new Map<string, number>()
  const domains = new Map<string, number>()
  const lanes = { well: lane(), other: lane() }
  const isWell = (hostname: string) => clock.now() - (names.get(hostname) ?? clock.now()) > SUSPECT_MS

  function rests(hostname: string): boolean {
    const now = clock.now()
    if (now - (names.get(hostname) ?? NEVER) < NAME_RESTS_MS) return true
    return !isWell(hostname) && now - (domains.get(domainOf(hostname)) ?? NEVER) < DOMAIN_RESTS_MS
  }

  function wasSlow(hostname: string): void {
    remember(names, hostname, clock.now())
    remember(domains, domainOf(hostname), clock.now())
  }

  function next(of: Lane): void {
    const [first] = of.queue
    if (of.under_way || !first) return
    const [name, one] = first
    of.queue.delete(name)
    if (rests(one.hostname) || clock.now() - one.since > WAITING_MS) {
      answer(one, late(one.hostname), [])
      next(of)
      return
    }
    const began = clock.now()
    of.under_way = { name, one, began }
    resolve(one.hostname, one.options, (error, answers) => {
      of.under_way = undefined
      if (clock.now() - began > SLOW_MS) wasSlow(one.hostname)
      else if (!error && !names.has(one.hostname)) remember(names, one.hostname, NEVER)
      answer(one, error, answers)
      next(of)
    })
  }

  return (hostname, options, done) => {
    for (const { under_way } of Object.values(lanes))
      if (under_way && clock.now() - under_way.began > SLOW_MS) wasSlow(under_way.one.hostname)
    const of = isWell(hostname) ? lanes.well : lanes.other
    if (rests(hostname) || of.queue.size >= WAITING_MAX) return void setImmediate(done, late(hostname), [])
    const name = `${hostname} ${options.family ?? 0} ${options.hints ?? 0} ${options.order ?? ''}`
    const same = of.under_way?.name === name ? of.under_way.one : of.queue.get(name)
    if (same) return void same.waiting.push(done)
    of.queue.set(name, { hostname, options, since: clock.now(), waiting: [done] })
    next(of)
  }
}

interface Lane {
  queue: Map<string, Lookup>
  under_way: { name: string; one: Lookup; began: number } | undefined
}

const lane = (): Lane => ({ queue: new Map(), under_way: undefined })

const NEVER = Number.NEGATIVE_INFINITY

function remember(slow_at: Map<string, number>, name: string, at: number): void {
  if (slow_at.size >= NAMES_MAX) slow_at.clear()
  slow_at.set(name, at)
}

/** Where countries give out names: under these, two names are two owners'. */
const GIVEN_OUT = new Set(['ac', 'co', 'com', 'edu', 'go', 'gov', 'ne', 'net', 'or', 'org'])

/** Whoever has a name has all that stand before it. */
function domainOf(hostname: string): string {
  const labels = hostname.toLowerCase().replace(/\.$/, '').split('.')
  const is_country = labels.at(-1)?.length === 2 && GIVEN_OUT.has(labels.at(-2) ?? '')
  return labels.slice(is_country ? -3 : -2).join('.')
}

function answer({ waiting }: Lookup, error: NodeJS.ErrnoException | null, answers: LookupAddress[]): void {
  for (const done of waiting) done(error, answers)
}

const late = (hostname: string) =>
  Object.assign(new Error(`'${hostname}' was not resolved in time`), { code: 'ETIMEOUT' })
