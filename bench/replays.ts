// §8.1: what live calls notice of a replay run: the same calls at the same pace, without one and beside one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, post, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { undisturbed } from './undisturbed.ts'
import { startUpstream } from './upstream-side.ts'

const EVERY_MS = 10 // live calls
const ROUNDS = 2
const WARM_MS = 5_000
const WARM_ITEMS = 300
const CONCURRENCY = 8
const LOOK_MS = 2_000 // sixty a minute are allowed
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
  })
  try {
    const to = await recorded(server, items)
    await live(server, sleep(WARM_MS))
    // A first run is told apart: V8 compiles beside the calls what only runs need, once in the life of a server.
    const [first] = await besideQuiet(server, { items: Math.min(items, WARM_ITEMS), to }, 1)
    const rounds = await besideQuiet(server, { items, to })
    const [quiet, beside] = [pooled(rounds.map((one) => one.quiet)), pooled(rounds.map((one) => one.beside))]
    const planning = pooled(rounds.map(({ beside, told }) => partOf(beside, (due) => due < told.planned_ms)))
    const asking = pooled(rounds.map(({ beside, told }) => partOf(beside, (due) => due >= told.planned_ms)))
    const recorded_rounds = rounds.map((one) => ({
      ...one,
      quiet: figuresOf(one.quiet),
      beside: figuresOf(one.beside),
    }))
    const first_ratio = first ? ratioOf(first) : Number.NaN
    const told = { items, has_upstream, first_ratio, rounds: recorded_rounds, quiet, beside }
    record('Live calls beside a replay run', told)
    const row = (name: string, { calls, p50, p99, later }: Figures) => [
      ...[name, String(calls), p50.toFixed(2), p99.toFixed(2)],
      ...later.map((share) => (share === undefined ? '' : `${(100 * share).toFixed(2)} %`)),
    ]
    const runs = rounds.map(({ told }) => `${told.done} in ${told.seconds.toFixed(1)} s`)
    const each = rounds.map((one) => ratioOf(one).toFixed(2))
    const stolen = Math.max(...rounds.map((one) => one.stolen))
    return [
      `Of ${items} items at concurrency ${CONCURRENCY}: ${runs.join(', ')}. p99 of live calls beside them ` +
        `${(beside.p99 / quiet.p99).toFixed(2)} × quiet; round by round ${each.join(', ')}; ` +
        `${first_ratio.toFixed(2)} × beside the server's first run. ` +
        `The host took ${(100 * stolen).toFixed(1)} % at the most.`,
      textTable(
        `A live call every ${EVERY_MS} ms, ${has_upstream ? 'an upstream' : 'the placeholder'}, ${ROUNDS} rounds together`,
        ['', 'calls', 'p50 ms', 'p99 ms', ...LATE_S.map((seconds) => `turns > ${1_000 * seconds} ms`)],
        [
          row('quiet', quiet),
          row('beside the runs', beside),
          row('while they are planned', planning),
          row('while items are asked', asking),
        ],
      ),
    ].join('\n\n')
  } finally {
    await server.stop()
    await upstream?.stop()
  }
}

interface Round {
  quiet: Waits
  beside: Waits
  told: Told
  /** Of the machine by its host, in the worse half. */
  stolen: number
}

const ratioOf = ({ beside, quiet }: Round) => figuresOf(beside).p99 / figuresOf(quiet).p99

/** A run, and as long without one, again and again: what a machine is like changes from minute to minute. */
async function besideQuiet(server: ServerProcess, asked: AskedRun, most = ROUNDS): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < most) {
    const run = await undisturbed(STOLEN_MAX, async () => {
      const { over } = replayed(server, asked)
      return { beside: await live(server, over), told: await over }
    })
    const { beside, told } = run.value
    const quiet = await undisturbed(STOLEN_MAX, () => live(server, sleep(told.seconds * 1_000)))
    rounds.push({ quiet: quiet.value, beside, told, stolen: Math.max(run.stolen, quiet.stolen) })
  }
  return rounds
}

interface AskedRun {
  items: number
  /** Live calls come after it, and are not among those that a sample is drawn from. */
  to: string
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

interface Told {
  done: number
  /** From when it was planned. */
  seconds: number
  planned_ms: number
}

function replayed(server: ServerProcess, { items, to }: AskedRun): { over: Promise<Told> } {
  const headers = as(ADMIN_KEY)
  const work = async () => {
    const source = { filter: { to }, sample: { n: items, seed: '1' } }
    const { id } = await post(server, '/v2/replay-runs', { source, target: { model: 'bench' } })
    const planned_ms = performance.now()
    await post(server, `/v2/replay-runs/${id}/execute`, { max_cost_usd: 1_000, concurrency: CONCURRENCY })
    for (;;) {
      const answer = await fetch(`${server.url}/v2/replay-runs/${id}`, { headers })
      if (!answer.ok) throw new Error(`the run could not be read: ${answer.status} ${await answer.text()}`)
      const run = (await answer.json()) as { status: string; items: { done: number } }
      if (!['queued', 'running'].includes(run.status))
        return { done: run.items.done, seconds: (performance.now() - planned_ms) / 1_000, planned_ms }
      await sleep(LOOK_MS)
    }
  }
  return { over: work() }
}

interface Waits {
  /** Of each call: when it was due, and how long it then took. */
  calls: { due_ms: number; took_ms: number }[]
  /** How many turns of the event loop came within each of these bounds, by the server's own measure. */
  turns: Map<string, number>
}

interface Figures {
  calls: number
  p50: number
  p99: number
  /** Which share of the turns of the event loop came later than each of `LATE_S`; undefined where none were counted. */
  later: (number | undefined)[]
}

/** Turns are counted for the whole of it. */
const partOf = ({ calls }: Waits, isIn: (due_ms: number) => boolean): Waits => ({
  calls: calls.filter(({ due_ms }) => isIn(due_ms)),
  turns: new Map(),
})

function figuresOf({ calls, turns }: Waits): Figures {
  const sorted = calls.map(({ took_ms }) => took_ms).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  const within = (bound: string) => turns.get(bound) ?? 0
  const later = LATE_S.map((seconds) =>
    turns.size > 0 ? 1 - within(String(seconds)) / Math.max(1, within('+Inf')) : undefined,
  )
  return { calls: sorted.length, p50: at(0.5), p99: at(0.99), later }
}

function pooled(all: readonly Waits[]): Figures {
  const turns = new Map<string, number>()
  for (const one of all) for (const [bound, count] of one.turns) turns.set(bound, (turns.get(bound) ?? 0) + count)
  return figuresOf({ calls: all.flatMap(({ calls }) => calls), turns })
}

async function turnsOf({ url }: ServerProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: as(ADMIN_KEY) })).text()
  const lines = text.matchAll(/^switchyard_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm)
  return new Map([...lines].map(([, bound = '', count]) => [bound, Number(count)]))
}

/** Calls at a steady pace until something has ended, each timed from when it was due. */
async function live(server: ServerProcess, until: Promise<unknown>): Promise<Waits> {
  const { url } = server
  const before = await turnsOf(server)
  let over = false
  void until.finally(() => {
    over = true
  })
  const body = chat()
  const calls: Promise<Waits['calls'][number]>[] = []
  const started = performance.now()
  for (let n = 0; !over; n++) {
    const due = started + n * EVERY_MS
    await sleep(Math.max(0, due - performance.now()))
    calls.push(
      fetch(url + CHAT, { method: 'POST', headers: as(ADMIN_KEY), body })
        .then((answer) => answer.text())
        .then(() => ({ due_ms: due, took_ms: performance.now() - due })),
    )
  }
  const all = await Promise.all(calls)
  const after = await turnsOf(server)
  return { calls: all, turns: new Map([...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)])) }
}
