// §8.1: what live calls notice of a replay run: the same calls at the same pace, without one and beside one. The server
// has both cores, as its users run it: V8 compiles and collects on threads of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './figures.ts'
import { theLoad } from './load-process.ts'
import { LOAD_CORE, SERVER_CORE, type ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, post, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { undisturbed, watched } from './undisturbed.ts'
import { startUpstream } from './upstream-side.ts'
import { warmUp } from './warm-up.ts'

const PER_SECOND = 100 // live calls
const CONNECTIONS = 16
const SLICE_S = 2
const WARM = { requests: 10_000, items: 100 }
const CONCURRENCY = 8
const ASKING_MS = 10_000 // with the run, and then a while in which it is paused
const QUIET_MS = 4_000
const STOLEN_MAX = 0.02 // by the host: above it, a 99th percentile tells of the host
const LATE_S = [0.005, 0.01, 0.025, 0.05] // of the buckets of `switchyard_event_loop_delay_seconds`

export interface ReplayConditions {
  items: number
  /** Without it the placeholder answers, at once: nothing but the processor is shared then. */
  has_upstream: boolean
}

export async function replays({ items, has_upstream }: ReplayConditions): Promise<string> {
  const upstream = has_upstream ? await startUpstream() : undefined
  const server = await startService({
    ...{ name: 'switchyard', config: 'retention: { full_fidelity: true }\n', ...(upstream && { upstream }) },
    core: `${SERVER_CORE},${LOAD_CORE}`,
  })
  try {
    const to = await recorded(server, items)
    const plan = { path: CHAT, headers: as(ADMIN_KEY), body: chat() }
    const warming = { name: server.name, server, plan, warm_requests: WARM.requests }
    await warmUp(warming, { rounds: 1, seconds: 1, connections: CONNECTIONS })
    // A first run is told apart: V8 compiles beside the calls what only runs need, once in the life of a server.
    const first = await besideQuiet(server, { items: Math.min(items, WARM.items), to })
    const round = await besideQuiet(server, { items, to })
    record('Live calls beside a replay run', { items, has_upstream, first: figuresOf(first), round: figuresOf(round) })
    return told(items, has_upstream, first, round)
  } finally {
    await server.stop()
    await upstream?.stop()
  }
}

function told(items: number, has_upstream: boolean, first: Round, round: Round): string {
  const row = (name: string, { each_ms, turns }: Waits) => [
    ...[name, String(each_ms.length), quantile(each_ms, 0.5).toFixed(2), quantile(each_ms, 0.99).toFixed(2)],
    ...LATE_S.map((seconds) => `${(100 * laterThan(seconds, turns)).toFixed(2)} %`),
  ]
  const { quiet, planning, asking, done, seconds, stolen, pairs, left_out } = round
  return [
    `Of ${items} items at concurrency ${CONCURRENCY}, ${done} done in ${seconds.toFixed(1)} s: p99 of live calls beside ` +
      `them ${ratioOf(round).toFixed(2)} × quiet, and ${ratioOf(first).toFixed(2)} × beside the server's first run. ` +
      `The host took ${(100 * stolen).toFixed(1)} % at the most; ${left_out} of ${pairs} pairs of windows are left out.`,
    textTable(
      `${PER_SECOND} live calls a second, ${has_upstream ? 'an upstream' : 'the placeholder'}`,
      ['', 'calls', 'p50 ms', 'p99 ms', ...LATE_S.map((seconds) => `turns > ${1_000 * seconds} ms`)],
      [
        row('quiet: the run is paused', quiet),
        row('beside the run', pooled([planning, asking])),
        row('while it is planned', planning),
        row('while items are asked', asking),
      ],
    ),
  ].join('\n\n')
}

interface Round {
  quiet: Waits
  planning: Waits
  asking: Waits
  done: number
  /** In which it was not paused. */
  seconds: number
  /** Of windows with the run and without it. */
  pairs: number
  /** For the host was busy. */
  left_out: number
  /** Of the machine by its host, in the worst of what counts: the plan, and pairs. */
  stolen: number
}

const ratioOf = ({ planning, asking, quiet }: Round) =>
  quantile(pooled([planning, asking]).each_ms, 0.99) / quantile(quiet.each_ms, 0.99)

function figuresOf(round: Round) {
  const { quiet, planning, asking, ...more } = round
  const p99 = ({ each_ms }: Waits) => quantile(each_ms, 0.99)
  return { ...more, ratio: ratioOf(round), p99_ms: [quiet, planning, asking].map(p99) }
}

interface AskedRun {
  items: number
  /** Live calls come after it, and are not among those that a sample is drawn from. */
  to: string
}

/**
 * A run that is paused now and then: a machine changes from minute to minute, and both kinds of windows change with
 * it. A pair in which the host was busy is left out, unless all were.
 */
async function besideQuiet(server: ServerProcess, { items, to }: AskedRun): Promise<Round> {
  const source = { filter: { to }, sample: { n: items, seed: '1' } }
  // A plan calls nobody: one that was made while the host was busy is made again, and left as it is.
  const planned = await undisturbed(STOLEN_MAX, async () => {
    const posted = post(server, '/v2/replay-runs', { source, target: { model: 'bench' } })
    return { waits: await live(server, posted), run: `/v2/replay-runs/${(await posted).id}` }
  })
  const { waits: planning, run } = planned.value
  await post(server, `${run}/execute`, { max_cost_usd: 1_000, concurrency: CONCURRENCY })
  const pairs: Pair[] = []
  let seconds = 0
  let state = await stateOf(server, run)
  while (!isOver(state)) {
    const one = await watched(async () => {
      const asking = await live(server, sleep(ASKING_MS))
      seconds += ASKING_MS / 1_000
      state = await stateOf(server, run)
      if (isOver(state)) return { asking, quiet: await live(server, sleep(QUIET_MS)) }
      await post(server, `${run}/pause`, {})
      const quiet = await live(server, sleep(QUIET_MS))
      await post(server, `${run}/resume`, {})
      return { asking, quiet }
    })
    pairs.push({ ...one.value, stolen: one.stolen })
  }
  const calm = pairs.filter(({ stolen }) => stolen <= STOLEN_MAX)
  const counted = calm.length > 0 ? calm : pairs
  return {
    planning,
    asking: pooled(counted.map(({ asking }) => asking)),
    quiet: pooled(counted.map(({ quiet }) => quiet)),
    ...{ pairs: pairs.length, left_out: pairs.length - counted.length },
    ...{ done: state.items.done, seconds, stolen: Math.max(planned.stolen, ...counted.map(({ stolen }) => stolen)) },
  }
}

interface Pair {
  asking: Waits
  quiet: Waits
  stolen: number
}

interface RunState {
  status: string
  items: { done: number }
}

const isOver = ({ status }: RunState) => !['queued', 'running', 'paused'].includes(status)

async function stateOf(server: ServerProcess, run: string): Promise<RunState> {
  const answer = await fetch(`${server.url}${run}`, { headers: as(ADMIN_KEY) })
  if (!answer.ok) throw new Error(`the run could not be read: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as RunState
}

/** Returns when all had come. */
async function recorded(server: ServerProcess, items: number): Promise<string> {
  await post(server, '/v2/project/recordings', { enabled: true })
  for (let n = 0; n < items; n += CONCURRENCY)
    await Promise.all(
      Array.from({ length: Math.min(CONCURRENCY, items - n) }, (_, at) =>
        post(server, CHAT, JSON.parse(chat({ user: `user ${n + at}` }))),
      ),
    )
  await post(server, '/v2/project/recordings', { enabled: false }) // live calls are not what is recorded
  await sleep(3_000)
  return new Date(performance.timeOrigin + performance.now()).toISOString()
}

interface Waits {
  /** How long each call took, from when it was due. */
  each_ms: number[]
  /** How many turns of the event loop came within each of these bounds, by the server's own measure. */
  turns: ReadonlyMap<string, number>
}

function pooled(all: readonly Waits[]): Waits {
  const turns = new Map<string, number>()
  for (const one of all) for (const [bound, count] of one.turns) turns.set(bound, (turns.get(bound) ?? 0) + count)
  return { each_ms: all.flatMap(({ each_ms }) => each_ms), turns }
}

const laterThan = (seconds: number, turns: Waits['turns']) =>
  1 - (turns.get(String(seconds)) ?? 0) / Math.max(1, turns.get('+Inf') ?? 0)

async function turnsOf({ url }: ServerProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: as(ADMIN_KEY) })).text()
  const lines = text.matchAll(/^switchyard_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm)
  return new Map([...lines].map(([, bound = '', count]) => [bound, Number(count)]))
}

/** Calls at a steady pace until something has ended, out of a process of their own. */
async function live(server: ServerProcess, until: Promise<unknown>): Promise<Waits> {
  const before = await turnsOf(server)
  let over = false
  void until.finally(() => {
    over = true
  })
  const port = Number(new URL(server.url).port)
  const plan = { path: CHAT, headers: as(ADMIN_KEY), body: chat(), port, per_second: PER_SECOND, tells_each: true }
  const each_ms: number[] = []
  while (!over) {
    const slice = await theLoad().run({ ...plan, connections: CONNECTIONS, seconds: SLICE_S })
    if (slice.failures > 0) throw new Error(`${slice.failures} live calls failed`)
    each_ms.push(...(slice.each_ms ?? []))
  }
  const after = await turnsOf(server)
  return { each_ms, turns: new Map([...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)])) }
}
