// `npm run bench -- routing --trace FILE`: the service's own rule of routing over a trace of real requests, beside those
// it is measured against. A model: what holds is how they compare.
import { readFileSync, writeFileSync } from 'node:fs'
import { record } from './report.ts'
import type { TraceRequest } from './routing-model.ts'
import { leastLoaded, type Policy, product, roundRobin, sglangCacheAware } from './routing-policies.ts'
import { infiniteHitShare, type RunConditions, type RunResult, run } from './routing-run.ts'
import { textTable } from './text-table.ts'

export interface RoutingConditions {
  trace: string | undefined
  clusters: number
  cache_tokens: number
  load: number
  seed: number
  out: string | undefined
}

const COLUMNS = ['', 'hits', 'of one infinite cache', 'p50 s', 'p90 s', 'p99 s', 'skew', 'µs a decision']
const WRONG_SHARE = 0.1

export function routing({ trace: file, seed, out, ...conditions }: RoutingConditions): string {
  if (file === undefined) throw new Error('routing needs --trace FILE: lines of {timestamp, input_length, hash_ids}')
  const trace = readTrace(file)
  const infinite = infiniteHitShare(trace)
  const results: [string, RunResult][] = []
  const note = (name: string, policy: Policy, more: Partial<RunConditions> = {}) => {
    const result = run(trace, policy, { ...conditions, ...more })
    results.push([name, result])
    return result
  }
  note('round robin', roundRobin())
  note('least loaded', leastLoaded())
  note('… of the idle, the longest idle', leastLoaded({ longest_idle: true }))
  note("SGLang's cache-aware rule", sglangCacheAware(conditions.cache_tokens))
  const own = note('Switchyard', product(conditions))
  note('… wrong in a tenth of its links', product({ ...conditions, wrong_share: WRONG_SHARE, random: seeded(seed) }))
  note('… a cluster restarted midway', product(conditions), { restart: true })
  note('least loaded, the same restart', leastLoaded(), { restart: true })
  if (out !== undefined) writeFileSync(out, own.chosen.map((cluster) => `${JSON.stringify({ cluster })}\n`).join(''))
  record('Routing', {
    file,
    seed,
    ...conditions,
    infinite,
    results: results.map(([name, { chosen: _, ...rest }]) => ({ name, ...rest })),
  })
  const { clusters, cache_tokens, load } = conditions
  const title = `Routing: ${trace.length} requests, ${clusters} clusters of ${cache_tokens} tokens of cache, load ${load}`
  return textTable(
    title,
    COLUMNS,
    results.map(([name, result]) => rowOf(name, result, infinite)),
  )
}

const rowOf = (name: string, result: RunResult, infinite: number) => [
  name,
  `${(result.hit_share * 100).toFixed(1)} %`,
  `${((result.hit_share / infinite) * 100).toFixed(1)} %`,
  ...[result.p50, result.p90, result.p99, result.skew].map((value) => value.toFixed(2)),
  result.us_per_decision.toFixed(1),
]

function readTrace(file: string): TraceRequest[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const trace = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as TraceRequest)
  if (trace.length === 0) throw new Error(`${file} has no requests`)
  return trace.sort((a, b) => a.timestamp - b.timestamp)
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
