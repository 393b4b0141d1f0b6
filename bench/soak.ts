// Ten minutes of everything at a steady rate: memory must level off, and what was opened must be closed again.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, slope } from './figures.ts'
import type { Conditions } from './measure.ts'
import { ROOT, type ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { startService } from './service-under-test.ts'
import { soakMix } from './soak-mix.ts'
import { textTable } from './text-table.ts'
import { startUpstream } from './upstream-side.ts'

const PER_SECOND = 200
const PRELUDE_SECONDS = 15
const SAMPLES = 120
const COLLECT_EVERY = 10 // samples; left alone, a heap of this size is collected too rarely to tell a leak from a tooth
const COLLECTED_WITHIN_MS = 500
const SETTLED_SHARE = 1 / 3 // of the samples, before memory is judged: caches fill, code is compiled
const GROWTH_MAX = 0.05 // over the judged part, relative to its middle
const GROWTH_FLOOR_BYTES = 4 * 1024 * 1024
const QUIET_FOR_TRIES = 8
const QUIET_WITHIN_TRIES = 90
const FILES_TOLERANCE = 2
const MINUTES_MIN = 5 // before that a heap is still finding its size

export interface Sample {
  seconds: number
  rss_bytes: number
  heap_bytes: number
  handles: number
  files: number
  /** Taken right after a full collection: what is still there is still needed. */
  collected: boolean
}

export async function soak(conditions: Conditions): Promise<string> {
  const seconds = (conditions.minutes ?? 10) * 60
  const upstream = await startUpstream({ CHUNKS: '10' })
  const node_args = ['--expose-gc', '--import', join(ROOT, 'bench/collector.mjs')]
  const server = await startService({ name: 'switchyard', upstream, node_args })
  const prelude = await soakMix(server)
  await prelude.run(PRELUDE_SECONDS, PER_SECOND)
  await prelude.close()
  const files_before = await filesWhenQuiet(server)

  const mix = await soakMix(server)
  const sampling = new AbortController()
  const sampled = sample(server, (seconds * 1_000) / SAMPLES, sampling.signal)
  await mix.run(seconds, PER_SECOND)
  sampling.abort()
  const samples = await sampled
  await mix.close()
  const files_after = await filesWhenQuiet(server)

  const collected = samples.filter((one) => one.collected)
  const rss = growthOf(collected.map((one) => [one.seconds, one.rss_bytes]))
  const heap = growthOf(collected.map((one) => [one.seconds, one.heap_bytes]))
  const closed = files_after <= files_before + FILES_TOLERANCE
  const calm = Object.keys(mix.surprises).length === 0
  await Promise.all([upstream.stop(), server.stop()])
  const { counts, surprises } = mix
  record('Soak', { seconds, per_second: PER_SECOND, counts, surprises, samples, rss, heap, files_before, files_after })
  const flat = rss.flat && heap.flat && closed && calm
  const asked = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const unexpected = calm ? 'none' : JSON.stringify(surprises)
  return [
    sampleTable(samples),
    `\nRequests: ${Object.entries(counts)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ')}. Unexpected: ${unexpected}.`,
    `RSS ${told(rss)}. Heap ${told(heap)}. Open files: ${files_before} before, ${files_after} after.`,
    `Asked ${asked} of the ${seconds * PER_SECOND} requests that were due.`,
    `Verdict: ${flat ? 'flat' : 'NOT FLAT'}${seconds < MINUTES_MIN * 60 ? ', but this was too short to judge' : ''}.`,
  ].join('\n')
}

async function sample(server: ServerProcess, every_ms: number, until: AbortSignal): Promise<Sample[]> {
  const samples: Sample[] = []
  const started = performance.now()
  for (let at = 1; !until.aborted; at++) {
    await sleep(Math.max(0, started + at * every_ms - performance.now()), undefined, { signal: until }).catch(() => {})
    const collected = at % COLLECT_EVERY === 0
    if (collected) {
      server.signal('SIGUSR2')
      await sleep(COLLECTED_WITHIN_MS)
    }
    const text = await fetch(`${server.url}/metrics`).then((answer) => answer.text())
    const gauge = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN)
    samples.push({
      seconds: (performance.now() - started) / 1_000,
      rss_bytes: server.rssBytes(),
      heap_bytes: gauge('nodejs_heap_size_used_bytes'),
      handles: gauge('nodejs_active_resources_total'),
      files: server.openFiles(),
      collected,
    })
  }
  return samples
}

/** How many files are open once that number has stopped moving: connections that idle are given their time to close. */
async function filesWhenQuiet(server: ServerProcess): Promise<number> {
  let [files, same] = [server.openFiles(), 0]
  for (let tries = 0; tries < QUIET_WITHIN_TRIES && same < QUIET_FOR_TRIES; tries++) {
    await sleep(1_000)
    const now = server.openFiles()
    same = now === files ? same + 1 : 0
    files = now
  }
  return files
}

interface Growth {
  per_minute_bytes: number
  over_judged: number
  flat: boolean
}

/** The slope of what was left after collections, once the first third has passed. */
export function growthOf(points: readonly (readonly [seconds: number, bytes: number])[]): Growth {
  const judged = points.slice(Math.floor(points.length * SETTLED_SHARE))
  const per_second = slope(judged)
  const seconds = (judged.at(-1)?.[0] ?? 0) - (judged[0]?.[0] ?? 0)
  const middle = median(judged.map(([, bytes]) => bytes))
  const grown = per_second * seconds
  return {
    per_minute_bytes: per_second * 60,
    over_judged: grown / (middle || 1),
    flat: judged.length > 1 && grown <= Math.max(middle * GROWTH_MAX, GROWTH_FLOOR_BYTES),
  }
}

const MB = 1024 * 1024

function told({ per_minute_bytes, over_judged, flat }: Growth): string {
  const sign = per_minute_bytes < 0 ? '−' : '+'
  const rate = `${sign}${Math.abs(per_minute_bytes / MB).toFixed(2)} MB/min`
  return `${flat ? 'flat' : 'grows'} (${rate}, ${(over_judged * 100).toFixed(1)} % over the last two thirds)`
}

function sampleTable(samples: readonly Sample[]): string {
  const shown = samples.filter((one) => one.collected)
  const rows = shown.map((one) => [
    one.seconds.toFixed(0),
    (one.rss_bytes / MB).toFixed(0),
    (one.heap_bytes / MB).toFixed(0),
    String(one.handles),
    String(one.files),
  ])
  return textTable(
    `Soak, ${PER_SECOND} requests a second, after collections`,
    ['seconds', 'RSS MB', 'heap MB', 'handles', 'files'],
    rows,
  )
}
