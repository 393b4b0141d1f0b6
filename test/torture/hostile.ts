// R12, R70 to R80: a hostile tenant gains nothing and disturbs nobody. A victim makes its calls while an attacker runs
// every attack that is known, one after the other and then all together; each is judged beside a quiet run before it.
import { setTimeout as sleep } from 'node:timers/promises'
import { undisturbed } from '../../bench/undisturbed.ts'
import { ATTACK_NAMES, ATTACKS, type AttackName } from './attacks/all-attacks.ts'
import type { Order, Outcome } from './hostile-attacker.ts'
import {
  type Bounds,
  checkTrial,
  HOSTILE_CHECKS,
  type HostileCheck,
  type HostileVerdict,
  latency,
  type ServerFigures,
  type Trial,
} from './hostile-checker.ts'
import { seedFor } from './hostile-seeds.ts'
import {
  bookedFor,
  INPUT_MICROS,
  loopDelayOf,
  OUTPUT_MICROS,
  openStage,
  type Project,
  type Stage,
  unrolled,
} from './hostile-stage.ts'
import { longestTurnMs, peakMemoryMb, processorTime, resetPeakMemory } from './machine-figures.ts'
import { type Report, report } from './report.ts'
import type { Engine } from './scene.ts'

export interface Hostile {
  engine: Engine
  seconds: number
  /** All of them, one after the other and then together, where none is named. */
  attacks?: readonly Round[] | undefined
  /** The folder of another build than this checkout's. */
  built?: string | undefined
  /** Latencies and turns of the event loop are judged: only where the machine does nothing else. */
  measure?: boolean
  seed: number
  note?: (text: string) => void
  /** Told of each attack when it is over: all of them take twenty minutes, and a later one may break off the run. */
  onTried?: (line: string) => void
}

const TOGETHER = 'together'
type Round = AttackName | typeof TOGETHER
export const ROUNDS: readonly Round[] = [...ATTACK_NAMES, TOGETHER]
const ROUND_WIDTH = Math.max(...ROUNDS.map(({ length }) => length))

const TAIL_MS = 2_000 // the victim goes on for so long after the attack has ended
const WARM_UP_MS = { judged: 20_000, else: 4_000 } // three servers on two cores compile for so long
const CALM_MS = 1_000
const STOLEN_MAX = 0.02 // above it a 99th percentile tells of the host, and not of the attack

const BOUNDS = {
  rss_mb: 600,
  store_grew_mb: 256,
  price: { input_micros: INPUT_MICROS, output_micros: OUTPUT_MICROS },
  waiver_micros: 1_000_000, // R71
}

/** What one attack, or all of them, came to. */
export interface Tried {
  attack: string
  trial: Trial
  verdict: HostileVerdict
  outcomes: readonly Outcome[]
  attacker_cpu_s: number
  /** Of the event loops of the servers: how much of the time they had to wait for a processor. */
  waited_share: number
  /** Of all processors' time, what the host gave to others. */
  stolen: number
}

export async function hostile(run: Hostile): Promise<Report & { tried: Tried[] }> {
  const { engine, seed, attacks, built, note = () => {} } = run
  const stage = await openStage({ engine, built })
  const tried: Tried[] = []
  const work = async () => {
    await stage.start()
    const victim = await stage.newProject('victim')
    await stage.live(victim, run.measure ? WARM_UP_MS.judged : WARM_UP_MS.else)
    for (const round of attacks ?? ROUNDS) {
      note(`${round}: ${tried.length + 1}`)
      const one = await judged(run, () => tryAttack(stage, victim, round, run))
      tried.push(one)
      run.onTried?.(`${round.padEnd(ROUND_WIDTH)} ${row(cellsOf(one))}`)
    }
    return { figures: figuresOf(tried), checks: checksOf(tried), provoked_errors: built !== undefined }
  }
  const told = { command: `hostile${built ? ` against ${built}` : ''}`, engine, seed }
  const reported = await report(stage.scene, told, () => work().finally(stage.dismiss)).finally(stage.close)
  return { ...reported, tried }
}

/** What depends on how fast the machine was. */
const TIMED: readonly HostileCheck[] = ['slower', 'loop']

/** Where times are judged, again while the host is busy with others. Whatever else was found counts in each try. */
async function judged(run: Hostile, trying: () => Promise<Tried>): Promise<Tried> {
  if (!run.measure) return trying()
  const { value, stolen, set_aside } = await undisturbed(STOLEN_MAX, trying)
  const all = [...set_aside.map((one) => one.value), value]
  const verdict = Object.fromEntries(
    Object.keys(HOSTILE_CHECKS).map((name) => {
      const check = name as HostileCheck
      return [check, TIMED.includes(check) ? value.verdict[check] : all.flatMap((one) => one.verdict[check])]
    }),
  ) as HostileVerdict
  return { ...value, verdict, stolen }
}

type Attacker = Project & { order: Order }

async function tryAttack(stage: Stage, victim: Project, attack: Round, run: Hostile): Promise<Tried> {
  const { scene } = stage
  const attackers = await attackersFor(stage, attack === TOGETHER ? ATTACK_NAMES : [attack])
  const since = Math.floor(performance.timeOrigin + performance.now())
  const for_ms = run.seconds * 1_000
  await stage.made() // what was made before is somebody else's
  const quiet = await stage.live(victim, for_ms + TAIL_MS)

  const watch = await watchServers(stage)
  const stored = await scene.bytes()
  const [under, { outcomes, cpu_s }] = await Promise.all([
    stage.live(victim, for_ms + TAIL_MS),
    stage.attack(
      attackers.map(({ order }) => order),
      for_ms,
    ),
  ])
  const { figures, waited_share } = await watch.end()
  const store_grew_mb = Math.max(0, ((await scene.bytes()) - stored) / 2 ** 20)
  if (figures.some(({ died }) => died)) await stage.restart()

  const produced = (await stage.made()).filter(({ who }) => who !== 'victim')
  const told = [...quiet, ...under].flatMap(({ trace_id, failure }) => (trace_id && !failure ? [trace_id] : []))
  const trial: Trial = {
    ...{ attack, quiet, under, servers: figures, produced, store_grew_mb },
    booked: {
      victim: await bookedFor(scene, { projects: [victim], since }, told),
      attacker: await bookedFor(
        scene,
        { projects: attackers, since },
        produced.map(({ trace_id }) => trace_id),
      ),
    },
    gained: gainedBy(outcomes, await stage.reached()),
    stuck_events: await unrolled(scene, victim.id),
  }
  const verdict = checkTrial(trial, boundsFor(run))
  if (isHurt(verdict))
    await stage.restart() // the next attack is judged by what it does itself
  else await sleep(CALM_MS)
  return { attack, trial, verdict, outcomes, attacker_cpu_s: cpu_s, waited_share, stolen: 0 }
}

const boundsFor = ({ measure }: Hostile): Bounds => ({ ...BOUNDS, ...(measure && { p99_ratio: 2, loop_ms: 50 }) })

const isHurt = ({ failures, memory, died, stuck }: HostileVerdict) =>
  [failures, memory, died, stuck].some(({ length }) => length > 0)

/** Each attack has a project of its own, so that none stands in another's way, or pays for it. */
async function attackersFor(stage: Stage, names: readonly AttackName[]): Promise<Attacker[]> {
  const attackers: Attacker[] = []
  for (const name of names) {
    const attack = names.length > 1 ? `${TOGETHER}/${name}` : name
    const project = await stage.newProject(attack)
    await seedFor(stage.scene, name, project)
    attackers.push({ ...project, order: { attack, name, key: project.key } })
  }
  return attackers
}

function gainedBy(outcomes: readonly Outcome[], reached: readonly string[]): string[] {
  const gained = outcomes.flatMap(({ attack, gained }) =>
    gained.map((what) => (outcomes.length > 1 ? `${attack}: ${what}` : what)),
  )
  return reached.length === 0 ? gained : [...gained, `${reached.length} answers of a service of the operator's`]
}

/** From now on; `end` tells what the servers were like meanwhile. */
async function watchServers({ scene, servers }: Stage) {
  const before = await Promise.all(servers.map((_, n) => loopDelayOf(scene, n)))
  for (const { pid } of servers) resetPeakMemory(pid)
  const waited_ms = servers.map(({ pid }) => processorTime(pid).waited_ms)
  const from_ms = performance.now()
  return {
    async end(): Promise<{ figures: ServerFigures[]; waited_share: number }> {
      const took_ms = performance.now() - from_ms
      const waits = servers.map(({ pid }, n) => processorTime(pid).waited_ms - (waited_ms[n] ?? 0))
      const memory = servers.map(({ pid }) => peakMemoryMb(pid))
      const after = await Promise.all(servers.map((_, n) => loopDelayOf(scene, n)))
      const figures = servers.map((server, n): ServerFigures => {
        const [from, to] = [before[n], after[n]]
        return {
          rss_mb: Math.max(memory[n] ?? 0, peakMemoryMb(server.pid)),
          loop_ms: from && to && longestTurnMs(from, to),
          died: !server.isRunning() || !to,
        }
      })
      return { figures, waited_share: Math.max(0, ...waits) / took_ms }
    },
  }
}

const HEADINGS = [
  'failed',
  'p50',
  'quiet',
  'p99',
  'quiet',
  '×',
  'MB',
  'loop',
  'store',
  'CPU s',
  'waited',
  'stolen',
  'answers',
]
const row = (cells: readonly (string | number)[]) =>
  cells.map((cell, n) => (n < cells.length - 1 ? String(cell).padStart(7) : `  ${cell}`)).join('')

function figuresOf(tried: readonly Tried[]): Report['figures'] {
  return { attack: row(HEADINGS), ...Object.fromEntries(tried.map((one) => [one.attack, row(cellsOf(one))])) }
}

function cellsOf({ trial, outcomes, attacker_cpu_s, waited_share, stolen }: Tried): (string | number)[] {
  const { quiet, under, servers, store_grew_mb } = trial
  const [p99, p99_quiet] = [latency(under, 0.99), latency(quiet, 0.99)]
  const loops = servers.flatMap(({ loop_ms }) => (loop_ms === undefined ? [] : [loop_ms]))
  return [
    `${under.filter(({ failure }) => failure).length}/${under.length}`,
    ...[latency(under, 0.5), latency(quiet, 0.5), p99, p99_quiet].map((ms) => ms.toFixed(1)),
    p99_quiet > 0 ? (p99 / p99_quiet).toFixed(1) : '-',
    Math.max(...servers.map(({ rss_mb }) => rss_mb)),
    loops.length > 0 ? Math.round(Math.max(...loops)) : '-',
    Math.round(store_grew_mb),
    attacker_cpu_s.toFixed(1),
    `${Math.round(waited_share * 100)}%`,
    `${Math.round(stolen * 100)}%`,
    answersOf(outcomes),
  ]
}

function answersOf(outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>()
  for (const { statuses } of outcomes)
    for (const [status, times] of Object.entries(statuses)) counts.set(status, (counts.get(status) ?? 0) + times)
  return [...counts].map(([status, times]) => `${times} × ${status === '0' ? 'none' : status}`).join(', ')
}

const checksOf = (tried: readonly Tried[]) => [
  ...Object.entries(HOSTILE_CHECKS).map(([check, name]) => ({
    name,
    found: tried.flatMap(({ attack, verdict }) => verdict[check as HostileCheck].map((text) => `${attack}: ${text}`)),
  })),
  {
    name: 'attacks that could not be made',
    found: tried.flatMap(({ outcomes }) => outcomes.flatMap(({ error }) => (error ? [error] : []))),
  },
]

/** What each attack did, in a line: for a file that another run is laid beside. */
export const harmsOf = (tried: readonly Tried[]): Record<string, string> =>
  Object.fromEntries(
    tried.map(({ attack, verdict }) => {
      const harms = Object.entries(verdict).flatMap(([check, found]) =>
        found.length === 0 ? [] : [`${check.replace('_', ' ')}: ${found.slice(0, 2).join(', ')}`],
      )
      return [attack, harms.join('; ') || 'nothing']
    }),
  )

/** Two builds, attack by attack. */
export function beside(these: Record<string, string>, those: Record<string, string>): string {
  return Object.keys({ ...those, ...these })
    .flatMap((attack) => [
      `${attack}: ${attack in ATTACKS ? ATTACKS[attack as AttackName].guard : ''}`,
      `  this build   ${these[attack] ?? 'not run'}`,
      `  the other    ${those[attack] ?? 'not run'}`,
    ])
    .join('\n')
}
