// One set of metrics for several workers: sums never fall, and each gauge is added up as it is meant.
import { expect, test } from 'vitest'
import { metrics } from '../telemetry/metrics.ts'
import { withinBounds } from './counted-bounds.ts'
import { workerCounts } from './worker-counts.ts'
import type { Counted } from './worker-messages.ts'

/** One worker's metrics, as they arrive from it. */
function worker() {
  const counts = metrics()
  const told = async () => JSON.parse(JSON.stringify(await counts.registry.getMetricsAsJSON())) as Counted
  return { ...counts, told }
}

const valueIn = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1),
  )

const LABELS = { method: 'GET', route: '/x', status: 200 }
const COUNT = 'switchyard_http_request_seconds_count{method="GET",route="/x",status="200"}'

test('§operations counters and histograms of all workers are added up', async () => {
  const [one, other] = [worker(), worker()]
  one.aborted.inc(3)
  other.aborted.inc(4)
  one.requests.observe(LABELS, 0.002)
  other.requests.observe(LABELS, 0.2)
  const text = await workerCounts().text([await one.told(), await other.told()])
  expect(valueIn(text, 'switchyard_http_requests_aborted_total')).toBe(7)
  expect(valueIn(text, COUNT)).toBe(2)
  const bucket = 'switchyard_http_request_seconds_bucket{le="0.0025",method="GET",route="/x",status="200"}'
  expect(valueIn(text, bucket)).toBe(1)
})

test('§operations what an ended worker has counted stays in the sums; what it had open does not', async () => {
  const counts = workerCounts()
  const [ended, other] = [worker(), worker()]
  ended.aborted.inc(3)
  ended.requests.observe(LABELS, 0.002)
  ended.inFlight.set(5)
  other.aborted.inc(4)
  other.inFlight.set(2)
  counts.keep(await ended.told())
  counts.keep(await ended.told())
  const text = await counts.text([await other.told()])
  expect(valueIn(text, 'switchyard_http_requests_aborted_total')).toBe(10)
  expect(valueIn(text, COUNT)).toBe(2)
  expect(valueIn(text, 'switchyard_http_requests_in_flight')).toBe(2)
})

test('§operations gauges: what is open is added up, what all see alike is not, the worst of delays counts', async () => {
  const workers = [worker(), worker()]
  for (const [n, one] of workers.entries()) {
    one.inFlight.set(n + 1)
    one.openStreams.set(10)
    one.usageWaiting.set(70 + n)
    one.countersShared.set(n)
    one.watchCircuits(() => ({ everyone: 2 }))
  }
  const told = await Promise.all(workers.map((one) => one.told()))
  const lag = 'nodejs_eventloop_lag_p99_seconds'
  const lags = told.map((one, n) =>
    one.map((metric) => (metric.name === lag ? { ...metric, values: [{ value: n, labels: {} }] } : metric)),
  )
  const text = await workerCounts().text(lags)
  const shown = ['http_requests_in_flight', 'stream_leases', 'usage_waiting_events', 'counters_shared'].map((name) =>
    valueIn(text, `switchyard_${name}`),
  )
  expect(shown).toEqual([3, 20, 71, 0])
  expect(valueIn(text, 'switchyard_circuits_open{left_by="everyone"}')).toBe(2)
  expect(valueIn(text, lag)).toBe(1)
  expect(valueIn(text, 'process_start_time_seconds')).toBeGreaterThan(1e9)
})

test('§operations workers that come and go leave no more names behind than a bound', () => {
  const value = (model: string, calls: number) => ({ labels: { provider: 'c', model, profile: 'byok' }, value: calls })
  const told = (name: string) => ({
    ...{ name, type: 'counter', aggregator: 'sum' },
    values: [...[5, 1, 9].map((calls, n) => value(`m-${n}`, calls)), { labels: { route: '/x' }, value: 1 }],
  })
  const [totals, tokens] = withinBounds([told('switchyard_generations_total'), told('switchyard_tokens')], 2)
  for (const metric of [totals, tokens])
    expect(metric?.values?.map(({ labels }) => labels.model ?? labels.route)).toEqual(['m-0', 'm-2', '/x'])
})
