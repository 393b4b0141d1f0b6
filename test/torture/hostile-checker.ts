// Judges one attack of a hostile run (R12, R70 to R80): what the neighbour noticed of it, what the attacker got without
// paying, and what it cost the servers. Pure.
import type { Produced } from './hostile-upstream.ts'

/** One request of the victim. */
export interface VictimCall {
  what: 'whole' | 'stream' | 'list' | 'report'
  took_ms: number
  /** Undefined where it was answered as promised. */
  failure?: string | undefined
  trace_id?: string | undefined
  charged_micros?: number | undefined
}

/** What the store says of one generation. */
export interface Booked {
  trace_id: string
  charged_micros: number
  waived_micros: number
}

/** What a server was like while the attack ran. */
export interface ServerFigures {
  rss_mb: number
  /** The longest turn of its event loop; undefined where it does not tell. */
  loop_ms: number | undefined
  /** It ended, or answered nobody any more. */
  died: boolean
}

export interface Trial {
  attack: string
  quiet: readonly VictimCall[]
  under: readonly VictimCall[]
  servers: readonly ServerFigures[]
  /** What the managed upstream made for the attacker. */
  produced: readonly Produced[]
  booked: { victim: readonly Booked[]; attacker: readonly Booked[] }
  /** What the attacker got that nobody may have, in its own words. */
  gained: readonly string[]
  /** Usage of the victim that waits for its roll-up although its time has come. */
  stuck_events: number
  store_grew_mb: number
}

export interface Bounds {
  /** Left out where the machine has other work: then latencies say nothing. */
  p99_ratio?: number | undefined
  rss_mb: number
  loop_ms?: number | undefined
  store_grew_mb: number
  price: { input_micros: number; output_micros: number }
  /** R71: what deadlines may make free in a day. */
  waiver_micros: number
}

export const HOSTILE_CHECKS = {
  failures: "the victim's calls that failed",
  slower: "the victim's p99 above its bound beside the quiet run",
  victim_money: "the victim's charges that are not what it was told",
  unpaid: 'produced for the attacker and not paid, beyond the waiver',
  gained: 'what the attacker got that nobody may have',
  memory: "servers' memory above its bound",
  loop: "turns of a server's event loop above their bound",
  died: 'servers that ended or answered nobody',
  stuck: "the victim's usage that no roll-up came to",
  store: 'growth of the store above its bound',
} as const

export type HostileCheck = keyof typeof HOSTILE_CHECKS
export type HostileVerdict = Record<HostileCheck, string[]>

export function checkTrial(trial: Trial, bounds: Bounds): HostileVerdict {
  const { servers, gained, stuck_events, store_grew_mb } = trial
  return {
    failures: failuresOf(trial.under),
    slower: slowerThan(trial, bounds),
    victim_money: victimMoney(trial),
    unpaid: unpaid(trial, bounds),
    gained: [...gained],
    memory: servers.flatMap(({ rss_mb }) => (rss_mb > bounds.rss_mb ? [`${rss_mb} MB`] : [])),
    loop: servers.flatMap(({ loop_ms = 0 }) =>
      bounds.loop_ms !== undefined && loop_ms > bounds.loop_ms ? [`${Math.round(loop_ms)} ms`] : [],
    ),
    died: servers.flatMap(({ died }, n) => (died ? [`server ${n + 1}`] : [])),
    stuck: stuck_events === 0 ? [] : [`${stuck_events} events`],
    store: store_grew_mb > bounds.store_grew_mb ? [`${Math.round(store_grew_mb)} MB`] : [],
  }
}

export const isGeneration = ({ what }: VictimCall) => what === 'whole' || what === 'stream'

/** Of its generations that were answered; 0 where none was. */
export function latency(calls: readonly VictimCall[], share: number): number {
  const times = calls.filter((call) => isGeneration(call) && !call.failure).map(({ took_ms }) => took_ms)
  times.sort((a, b) => a - b)
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
}

/** One line for each kind of failure: a thousand equal lines tell no more. */
function failuresOf(calls: readonly VictimCall[]): string[] {
  const counts = new Map<string, number>()
  for (const { what, failure } of calls)
    if (failure) counts.set(`${what}: ${failure}`, (counts.get(`${what}: ${failure}`) ?? 0) + 1)
  return [...counts].map(([text, times]) => `${times} × ${text}`)
}

function slowerThan({ quiet, under }: Trial, { p99_ratio }: Bounds): string[] {
  if (p99_ratio === undefined) return []
  const [before, after] = [latency(quiet, 0.99), latency(under, 0.99)]
  return after > before * p99_ratio ? [`${after.toFixed(1)} ms beside ${before.toFixed(1)} ms`] : []
}

/** Every answer tells its charge, every charge was told, and both are the same. */
function victimMoney({ quiet, under, booked }: Trial): string[] {
  const calls = [...quiet, ...under].filter((call) => isGeneration(call) && !call.failure)
  const told = new Map(calls.map(({ trace_id = '', charged_micros }) => [trace_id, charged_micros]))
  const in_books = new Map(booked.victim.map(({ trace_id, charged_micros }) => [trace_id, charged_micros]))
  // What failed was not told of, but may have been charged: a client that gave up pays for what was produced.
  const may_be_untold = [...quiet, ...under].some(({ failure }) => failure !== undefined)
  return [
    ...[...told].flatMap(([trace_id, micros]) =>
      micros !== undefined && in_books.get(trace_id) === micros
        ? []
        : [`${trace_id} was told ${micros}, booked ${in_books.get(trace_id)}`],
    ),
    ...(may_be_untold
      ? []
      : [...in_books].flatMap(([trace_id, micros]) =>
          told.has(trace_id) || micros === 0 ? [] : [`${trace_id} was never told of its ${micros}`],
        )),
  ]
}

/** What the upstream made is owed. A deadline may waive some of it, as much as R71 allows in a day. */
function unpaid({ produced, booked }: Trial, { price, waiver_micros }: Bounds): string[] {
  const events = new Map(booked.attacker.map((event) => [event.trace_id, event]))
  let beyond = 0
  let waived = 0
  let calls = 0
  for (const { trace_id, input, output, factor } of produced) {
    const owed = Math.floor((input * price.input_micros + output * price.output_micros) * factor)
    const { charged_micros = 0, waived_micros = 0 } = events.get(trace_id) ?? {}
    const open = Math.max(0, owed - charged_micros)
    if (waived_micros > 0) waived += open
    else if (open > 0) {
      beyond += open
      calls++
    }
  }
  const charged = booked.attacker.reduce((sum, { charged_micros }) => sum + charged_micros, 0)
  const may_be_waived = Math.max(waiver_micros, charged / 100)
  return [
    ...(beyond > 0 ? [`${usd(beyond)} of ${calls} calls`] : []),
    ...(waived > may_be_waived ? [`${usd(waived)} waived, where ${usd(may_be_waived)} may be`] : []),
  ]
}

const usd = (micros: number) => `$${(micros / 1_000_000).toFixed(2)}`
