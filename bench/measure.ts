// Interleaved rounds over several contenders, and what they came to: processor time, rate and latency, as ratios to the
// first contender of the same round. Rates belong to a machine and a moment; ratios in the same round hold.
import { median, type Spread, spread } from './figures.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { theLoad } from './load-process.ts'
import type { ServerProcess } from './processes.ts'
import { textTable } from './text-table.ts'
import { undisturbed } from './undisturbed.ts'
import { type WarmUp, warmUp } from './warm-up.ts'

export interface Contender {
  name: string
  server: ServerProcess
  plan: Omit<LoadPlan, 'port' | 'connections' | 'seconds'>
  /** Instead of the conditions' own. */
  connections?: number
  /** What the contender costs is not asked: it only says how fast an answer can be. */
  reference_only?: boolean
  /** How many requests make it warm at the least, where they are of an unusual kind. */
  warm_requests?: number
}

export interface Conditions {
  rounds: number
  seconds: number
  connections: number
  /** How long one contender may be warmed up. */
  warm_seconds?: number
  /** How long a soak lasts. */
  minutes?: number
}

export interface Round {
  name: string
  cpu_us: number
  per_second: number
  p50_ms: number
  p99_ms: number
  first_p50_ms: number
  failures: number
  /** One request at a time: how long to the first byte of an answer's body when nothing waits. */
  alone_p50_ms: number
  /** Of the round, the share that the server ran, that it was ready but others had its core, and neither. */
  busy: number
  waited: number
  idle: number
  /** The share of its core that the load itself used. */
  load_busy: number
}

export interface Measured {
  warm_ups: WarmUp[]
  rounds: Round[][]
  /** Rounds that were made again, since the host was busy with others. */
  set_aside: number
}

const ALONE_SECONDS = 0.4
const STOLEN_MAX = 0.05 // of a round
const IDLE_FLAG = 0.15 // above this share the server waited for something else than its core

/** Where the server could have done more: its rate says nothing then, though its cost per request does. */
export const idled = (round: Pick<Round, 'idle'>) => round.idle > IDLE_FLAG

export async function measure(contenders: readonly Contender[], conditions: Conditions): Promise<Measured> {
  const warm_ups: WarmUp[] = []
  for (const contender of contenders) {
    const warm = await warmUp(contender, conditions)
    warm_ups.push(warm)
    const slices = warm.slices_us.map((us) => us.toFixed(0)).join(' ')
    note(`${contender.name}: warm after ${warm.requests} requests, ${slices} µs`)
  }
  const rounds: Round[][] = []
  let set_aside = 0
  for (let at = 0; at < conditions.rounds; at++) {
    // Forth and back, so that a machine that slows down over a round favours nobody.
    const order = contenders.map((contender, index) => ({ contender, index }))
    if (at % 2 === 1) order.reverse()
    const tried = await undisturbed(STOLEN_MAX, () => roundOf(order, conditions))
    rounds.push(tried.value)
    set_aside += tried.set_aside.length
    const costs = tried.value.map((one) => one.cpu_us.toFixed(0)).join(' ')
    note(`round ${at + 1} of ${conditions.rounds}: ${costs} µs${toldStolen(tried)}`)
  }
  return { warm_ups, rounds, set_aside }
}

async function roundOf(order: readonly { contender: Contender; index: number }[], conditions: Conditions) {
  const round: Round[] = []
  for (const { contender, index } of order) round[index] = await oneRound(contender, conditions)
  return round
}

/** Empty where the host was quiet at once. */
function toldStolen({ stolen, set_aside }: { stolen: number; set_aside: readonly unknown[] }): string {
  if (set_aside.length === 0 && stolen <= STOLEN_MAX) return ''
  const tries = set_aside.length + 1
  return `; try ${tries}, the host took ${(100 * stolen).toFixed(0)} %`
}

const note = (text: string) => void process.stderr.write(`  ${text}\n`)

/** One slice of load on one contender, with what it cost. */
export async function slice(contender: Contender, seconds: number, connections: number) {
  const { server, plan } = contender
  const load = theLoad()
  const [before, load_before, started] = [server.times(), load.cpuMicros(), performance.now()]
  const result: LoadResult = await load.run({ ...plan, port: Number(new URL(server.url).port), connections, seconds })
  const [after, wall_us] = [server.times(), (performance.now() - started) * 1_000]
  const cpu_us = after.cpu_us - before.cpu_us
  const busy = cpu_us / wall_us
  const waited = (after.waited_us - before.waited_us) / wall_us
  return {
    result,
    cpu_us: cpu_us / Math.max(1, result.requests),
    busy,
    waited,
    idle: Math.max(0, 1 - busy - waited),
    load_busy: (load.cpuMicros() - load_before) / wall_us,
  }
}

async function oneRound(contender: Contender, conditions: Conditions): Promise<Round> {
  const loaded = await slice(contender, conditions.seconds, contender.connections ?? conditions.connections)
  const alone = await slice(contender, ALONE_SECONDS, 1)
  const { p50_ms, p99_ms, first_p50_ms, failures, requests, seconds } = loaded.result
  const { result: _result, ...costs } = loaded
  return {
    name: contender.name,
    ...costs,
    per_second: requests / seconds,
    p50_ms,
    p99_ms,
    first_p50_ms,
    failures: failures + alone.result.failures,
    alone_p50_ms: alone.result.first_p50_ms,
  }
}

export interface Summary {
  name: string
  cpu_us: Spread
  cpu_ratio: Spread
  per_second: number
  rate_ratio: number
  p50_ms: number
  p99_ms: number
  /** One at a time, over the reference without a proxy of the same round, where there is one. */
  added_ms: number | undefined
  busy: number
  waited: number
  idled_rounds: number
  failures: number
  reference_only: boolean
}

/** Medians of each contender, and of its ratios to the base of the same round: the first that is no mere reference. */
export function summarize(rounds: readonly Round[][], contenders: readonly Contender[]): Summary[] {
  const base = contenders.findIndex((one) => !one.reference_only)
  const direct = contenders.findIndex((one) => one.reference_only)
  return contenders.map(({ name, reference_only = false }, at) => {
    const all = (value: (round: Round, base: Round, direct: Round | undefined) => number) =>
      rounds.map((round) => value(round[at] as Round, round[base] as Round, round[direct]))
    return {
      name,
      cpu_us: spread(all((round) => round.cpu_us)),
      cpu_ratio: spread(all((round, other) => round.cpu_us / other.cpu_us)),
      per_second: median(all((round) => round.per_second)),
      rate_ratio: median(all((round, other) => round.per_second / other.per_second)),
      p50_ms: median(all((round) => round.p50_ms)),
      p99_ms: median(all((round) => round.p99_ms)),
      added_ms:
        direct < 0 ? undefined : median(all((round, _base, none) => round.alone_p50_ms - (none?.alone_p50_ms ?? 0))),
      busy: median(all((round) => round.busy)),
      waited: median(all((round) => round.waited)),
      idled_rounds: rounds.filter((round) => idled(round[at] as Round)).length,
      failures: all((round) => round.failures).reduce((sum, count) => sum + count, 0),
      reference_only,
    }
  })
}

const HEAD = [
  '',
  'CPU µs/request',
  '× base',
  'p20–p80',
  'req/s',
  '× base',
  'p50 ms',
  'p99 ms',
  'added ms',
  'core',
  'failed',
]

export function table(what: string, summaries: readonly Summary[], conditions: Conditions): string {
  const { rounds, seconds, connections } = conditions
  const rows = summaries.map((s) => {
    const costs = s.reference_only
      ? ['', '', '']
      : [
          s.cpu_us.median.toFixed(1),
          s.cpu_ratio.median.toFixed(2),
          `${s.cpu_ratio.p20.toFixed(2)}–${s.cpu_ratio.p80.toFixed(2)}`,
        ]
    return [
      s.name,
      ...costs,
      s.per_second.toFixed(0),
      s.rate_ratio.toFixed(2),
      s.p50_ms.toFixed(2),
      s.p99_ms.toFixed(2),
      s.added_ms === undefined || s.reference_only ? '' : s.added_ms.toFixed(2),
      core(s, rounds),
      String(s.failures),
    ]
  })
  return textTable(`${what}, ${connections} connections, ${rounds} rounds of ${seconds} s`, HEAD, rows)
}

/** How busy the server's core was with it; marked where it idled in most rounds, so that its rate is not its limit. */
function core({ busy, waited, idled_rounds, reference_only }: Summary, rounds: number): string {
  if (reference_only) return ''
  const stolen = waited > 0.05 ? `, ${(waited * 100).toFixed(0)} % taken` : ''
  return `${(busy * 100).toFixed(0)} %${stolen}${idled_rounds * 2 > rounds ? ', idled' : ''}`
}
