// §8.1: what live calls notice of a replay run: the same calls at the same pace, without one and beside one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, post, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { undisturbed } from './undisturbed.ts'
import { startUpstream } from './upstream-side.ts'

const EVERY_MS = 10 // live calls
const QUIET_MS = 20_000
const WARM_MS = 5_000
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
    await recorded(server, items)
    await live(server, sleep(WARM_MS))
    const [quiet, besideRun, again] = [
      await undisturbed(STOLEN_MAX, () => live(server, sleep(QUIET_MS))),
      await undisturbed(STOLEN_MAX, async () => {
        const run = replayed(server, items)
        return { waits: await live(server, run.over), told: await run.over }
      }),
      await undisturbed(STOLEN_MAX, () => live(server, sleep(QUIET_MS))),
    ]
    const { waits: beside, told } = besideRun.value
    record('Live calls beside a replay run', { items, has_upstream, quiet, beside, again, ...told })
    const row = (name: string, { calls, p50, p99, turns }: Waits, stolen: number) => [
      ...[name, String(calls), p50.toFixed(2), p99.toFixed(2), `${(100 * stolen).toFixed(0)} %`],
      ...LATE_S.map((seconds) => `${(100 * turns.later(seconds)).toFixed(2)} %`),
    ]
    const ratio = beside.p99 / Math.max(quiet.value.p99, again.value.p99)
    return [
      `${told.done} of ${items} items in ${told.seconds.toFixed(1)} s at concurrency ${CONCURRENCY}; ` +
        `p99 of live calls ${ratio.toFixed(2)} × quiet`,
      textTable(
        `A live call every ${EVERY_MS} ms, ${has_upstream ? 'an upstream' : 'the placeholder'}`,
        ['', 'calls', 'p50 ms', 'p99 ms', 'stolen', ...LATE_S.map((seconds) => `turns > ${1_000 * seconds} ms`)],
        [
          row('quiet', quiet.value, quiet.stolen),
          row('beside the run', beside, besideRun.stolen),
          row('quiet again', again.value, again.stolen),
        ],
      ),
    ].join('\n\n')
  } finally {
    await server.stop()
    await upstream?.stop()
  }
}

async function recorded(server: ServerProcess, items: number): Promise<void> {
  await post(server, '/v2/project/recordings', { enabled: true })
  for (let n = 0; n < items; n += CONCURRENCY)
    await Promise.all(
      Array.from({ length: Math.min(CONCURRENCY, items - n) }, (_, at) =>
        post(server, CHAT, JSON.parse(chat({ user: `user ${n + at}` }))),
      ),
    )
  await post(server, '/v2/project/recordings', { enabled: false }) // live calls are not what is recorded
  await sleep(3_000)
}

function replayed(server: ServerProcess, items: number): { over: Promise<{ done: number; seconds: number }> } {
  const headers = as(ADMIN_KEY)
  const work = async () => {
    const source = {
      filter: { to: new Date(performance.timeOrigin + performance.now()).toISOString() },
      sample: { n: items, seed: '1' },
    }
    const { id } = await post(server, '/v2/replay-runs', { source, target: { model: 'bench' } })
    const started = performance.now()
    await post(server, `/v2/replay-runs/${id}/execute`, { max_cost_usd: 1_000, concurrency: CONCURRENCY })
    for (;;) {
      const answer = await fetch(`${server.url}/v2/replay-runs/${id}`, { headers })
      if (!answer.ok) throw new Error(`the run could not be read: ${answer.status} ${await answer.text()}`)
      const run = (await answer.json()) as { status: string; items: { done: number } }
      if (!['queued', 'running'].includes(run.status))
        return { done: run.items.done, seconds: (performance.now() - started) / 1_000 }
      await sleep(LOOK_MS)
    }
  }
  return { over: work() }
}

interface Waits {
  calls: number
  p50: number
  p99: number
  turns: Turns
}

interface Turns {
  /** Which share of the turns of the event loop came so late. */
  later(seconds: number): number
}

/** How many turns came by then, by the server's own measure. */
async function turnsOf({ url }: ServerProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: as(ADMIN_KEY) })).text()
  const lines = text.matchAll(/^switchyard_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm)
  return new Map([...lines].map(([, bound = '', count]) => [bound, Number(count)]))
}

function turnsBetween(before: Map<string, number>, after: Map<string, number>): Turns {
  const within = (bound: string) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0)
  return { later: (seconds) => 1 - within(String(seconds)) / Math.max(1, within('+Inf')) }
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
  const waits: Promise<number>[] = []
  const started = performance.now()
  for (let n = 0; !over; n++) {
    const due = started + n * EVERY_MS
    await sleep(Math.max(0, due - performance.now()))
    waits.push(
      fetch(url + CHAT, { method: 'POST', headers: as(ADMIN_KEY), body })
        .then((answer) => answer.text())
        .then(() => performance.now() - due),
    )
  }
  const sorted = (await Promise.all(waits)).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  const turns = turnsBetween(before, await turnsOf(server))
  return { calls: sorted.length, p50: at(0.5), p99: at(0.99), turns }
}
