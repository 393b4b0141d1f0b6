// What it costs a call that it is counted by provider, model, profile, mode and outcome: the function alone.
import { Registry } from 'prom-client'
import { type CountedCall, NO_MONEY } from '../src/telemetry/generation-cell.ts'
import { GenerationCounts } from '../src/telemetry/generation-counts.ts'
import { median } from './figures.ts'
import { record } from './report.ts'
import { textTable } from './text-table.ts'

const CALLS = 1_000_000
const ROUNDS = 5
const CALL: CountedCall = {
  ...{ project_id: 'prj_1', mode: 'live', ending: 'completed', stream: true, admission: 'admitted', queue_ms: 0 },
  ...{ ttft_ms: 350, received_at: 0, repeated_tokens_est: 10, waived_micros: 0 },
  tokens: { input: 1_000, cached: 500, written: 0, output: 100, reasoning: 0 },
}
const ANSWERED = { status: 200, failure: undefined }
const LISTED = { provider: 'openai', model: 'gpt-5.4', profile: 'managed_provider' }

export function metricsCost(): string {
  const counts = new GenerationCounts(new Registry(), () => 0)
  counts.listed((provider) => provider === LISTED.provider)
  const cluster = { provider: 'atlas', model: 'llama', profile: 'byoc_native' }
  const rows: [string, number][] = [
    ["the operator's, listed", costOf(counts, () => LISTED)],
    ['a cluster with a place', costOf(counts, () => Object.assign({}, cluster))],
    ['one of a thousand names', costOf(counts, (n) => ({ provider: `c-${n % 1_000}`, model: 'm', profile: 'byok' }))],
  ]
  record('Cost of counting a generation', { rows })
  return textTable(
    `What counting a generation and its attempt costs, median of ${ROUNDS} rounds`,
    ['route', 'µs a call'],
    rows.map(([route, us]) => [route, us.toFixed(2)]),
  )
}

/** Of several rounds, an attempt and its generation counted. */
function costOf(counts: GenerationCounts, targetOf: (n: number) => typeof LISTED): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = process.hrtime.bigint()
    for (let n = 0; n < CALLS; n++) {
      const target = targetOf(n)
      counts.attempted(target, ANSWERED, CALL.project_id)
      counts.ended(target, CALL, NO_MONEY, 4_000 + (n & 7))
    }
    return Number(process.hrtime.bigint() - began) / CALLS / 1_000
  })
  return median(rounds)
}
