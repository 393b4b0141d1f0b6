// The metrics of several workers as those of one server. What ended workers have counted stays in the sums: a sum that
// falls would look like a restart, after which everything is counted once more.
import { type Aggregator, AggregatorRegistry, type PrometheusContentType } from 'prom-client'
import { withinBounds } from './counted-bounds.ts'
import type { Counted, CountedMetric } from './worker-messages.ts'

export type WorkerCounts = ReturnType<typeof workerCounts>

export function workerCounts() {
  let ended: Counted = []
  return {
    /** Of a worker that is gone, what it last told. */
    keep(last: Counted): void {
      const sums = last.filter(({ type }) => type !== 'gauge')
      ended = withinBounds(aggregate([ended, sums]).getMetricsAsArray() as unknown as Counted)
    },
    /** In the text format. */
    text: (living: readonly Counted[]): Promise<string> => aggregate([...living, ended]).metrics(),
  }
}

const aggregate = (all: readonly Counted[]) =>
  AggregatorRegistry.aggregate<PrometheusContentType>(all.map((one) => one.map(withAggregator)))

/** Where prom-client would take the mean or leave it out: of delays, the worst tells; of starts, the first. */
function withAggregator(metric: CountedMetric): CountedMetric {
  if (LAG.test(metric.name)) return { ...metric, aggregator: 'max' satisfies Aggregator }
  if (metric.name === 'process_start_time_seconds') return { ...metric, aggregator: 'min' satisfies Aggregator }
  return metric
}

const LAG = /^nodejs_eventloop_lag_(p\d+_)?seconds$/
