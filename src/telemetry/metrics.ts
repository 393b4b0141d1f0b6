// What Prometheus reads at /metrics. Names begin switchyard_; labels are bounded: route patterns, never addresses.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Clock, systemClock } from '../core/clock.ts'
import { LOOP_DELAY_BUCKETS } from './event-loop-delay.ts'
import { GenerationCounts } from './generation-counts.ts'
import { targetGauges } from './target-gauges.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export type Metrics = ReturnType<typeof metrics>

export function metrics(clock: Clock = systemClock) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const workers = { name: 'switchyard_workers', help: 'Processes that serve behind this port.', registers }
  new Gauge(workers).set(1) // of several, the sum is told
  let circuits = (): Record<string, number> => ({})
  return {
    registry,
    requests: new Histogram({
      name: 'switchyard_http_request_seconds',
      help: 'Time to answer, by method, route and status.',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: SECONDS,
      registers,
    }),
    eventLoopDelay: new Histogram({
      name: 'switchyard_event_loop_delay_seconds',
      help: 'By how much the event loop came too late to a timer that is due every 10 ms.',
      buckets: LOOP_DELAY_BUCKETS,
      registers,
    }),
    inFlight: new Gauge({ name: 'switchyard_http_requests_in_flight', help: 'Requests being answered.', registers }),
    aborted: new Counter({
      name: 'switchyard_http_requests_aborted_total',
      help: 'Requests whose client left before the answer was sent.',
      registers,
    }),
    idempotency: new Counter({
      name: 'switchyard_idempotency_total',
      help: 'Keyed POSTs by outcome: executed, replayed, conflict.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    deferredWrites: new Counter({
      name: 'switchyard_deferred_writes_total',
      help: 'Charges and releases that had to wait for the store; each is tried until it is written.',
      registers,
    }),
    /** By provider, model, profile, mode and outcome. */
    generations: new GenerationCounts(registry, clock.now),
    generationsRefused: new Counter({
      name: 'switchyard_generations_refused_total',
      help: 'Generations that were refused or came to nothing, by the layer that said so.',
      labelNames: ['layer'] as const,
      registers,
    }),
    /** Slots, queues and breakers of the operator's providers; budgets and holds. */
    targets: targetGauges(registry, clock),
    circuitsOpened: new Counter({
      name: 'switchyard_circuits_opened_total',
      help: 'Times that a target was left alone because it failed, by whom: everyone, or one project and kind of call.',
      labelNames: ['left_by'] as const,
      registers,
    }),
    providerProbes: new Counter({
      name: 'switchyard_provider_probes_total',
      help: 'Questions to providers, outside of calls, whether they are there, and what was found.',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    circuitsOpen: new Gauge({
      name: 'switchyard_circuits_open',
      help: 'Targets that are left alone now, or wait for the one call that finds out, by whom.',
      labelNames: ['left_by'] as const,
      registers,
      aggregator: 'max', // each worker finds out for itself
      collect() {
        for (const [left_by, open] of Object.entries(circuits())) this.set({ left_by }, open)
      },
    }),
    /** Counted when somebody asks. */
    watchCircuits(count: () => Record<string, number>): void {
      circuits = count
    },
    notificationAttempts: new Counter({
      name: 'switchyard_notification_attempts_total',
      help: 'Attempts to deliver an event, by kind of channel and outcome: taken, failed, gone.',
      labelNames: ['kind', 'outcome'] as const,
      registers,
    }),
    limitRefusals: new Counter({
      name: 'switchyard_limit_refusals_total',
      help: 'Requests refused with 429, by layer and limit.',
      labelNames: ['layer', 'limit'] as const,
      registers,
    }),
    limitsSpared: new Counter({
      name: 'switchyard_limit_shadow_refusals_total',
      help: 'What layers in shadow would have refused, by layer and limit.',
      labelNames: ['layer', 'limit'] as const,
      registers,
    }),
    refusalsUncounted: new Counter({
      name: 'switchyard_refusals_uncounted_total',
      help: 'Refusals that GET /v2/refusals does not tell of, because too many projects met one within seconds.',
      registers,
    }),
    refusalsUnkept: new Counter({
      name: 'switchyard_refusals_unkept_total',
      help: 'Refused generations that GET /v2/traces does not find: too many kinds of them within a minute.',
      registers,
    }),
    recordingsDropped: new Counter({
      name: 'switchyard_recordings_dropped_total',
      help: 'Generations that were to be recorded and were not, by reason.',
      labelNames: ['reason'] as const,
      registers,
    }),
    sessionContentsDropped: new Counter({
      name: 'switchyard_session_contents_dropped_total',
      help: 'Turns whose contents were to be kept in their session and were not, because the project has no room left.',
      registers,
    }),
    openStreams: new Gauge({
      name: 'switchyard_stream_leases',
      help: 'Streams that keys hold open here.',
      registers,
    }),
    parallelRequests: new Gauge({
      name: 'switchyard_parallel_requests',
      help: 'Generations that run here and count against the max_parallel_requests of their keys.',
      registers,
    }),
    countersShared: new Gauge({
      name: 'switchyard_counters_shared',
      help: '1 while rates are counted together with the other replicas, 0 while this one keeps to its share.',
      registers,
      aggregator: 'min',
    }),
    localDecisions: new Counter({
      name: 'switchyard_counters_local_decisions_total',
      help: "Decisions on rates that were made over this replica's share, since Redis was away.",
      registers,
    }),
    sharedDecisions: new Histogram({
      name: 'switchyard_counters_decision_seconds',
      help: 'Time until Redis had decided on the limits of a request.',
      buckets: [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1],
      registers,
    }),
    usageWaiting: new Gauge({
      name: 'switchyard_usage_waiting_events',
      help: 'Usage events that no roll-up has in it yet, a few seconds ago; 100000 stands for that many or more.',
      registers,
      aggregator: 'max', // all look at one store
    }),
    usageQuarantined: new Gauge({
      name: 'switchyard_usage_quarantined_events',
      help: 'Usage events that cannot be added up and are set aside; 100000 stands for that many or more.',
      registers,
      aggregator: 'max',
    }),
    housekeepingRuns: new Counter({
      name: 'switchyard_housekeeping_runs_total',
      help: 'Sweeps that this replica did for all of them, by task.',
      labelNames: ['task'] as const,
      registers,
    }),
    housekeepingFailures: new Counter({
      name: 'switchyard_housekeeping_failures_total',
      help: 'Background tasks that failed, by task. They try again at their next turn.',
      labelNames: ['task'] as const,
      registers,
    }),
  }
}
