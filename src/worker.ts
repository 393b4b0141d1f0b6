// One of several workers behind a port (start/workers.ts): the same server, told by the process that started it when to
// start, to read its file again and to stop. Signals are for that process: a terminal sends them to all.
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND_MS } from './core/clock.ts'
import { Refusal } from './core/refusal.ts'
import { type Replaceable, startServer, stopInTime } from './main.ts'
import type { Config } from './start/config.ts'
import { tellUnawaited } from './start/unawaited.ts'
import type { Order, Word } from './start/worker-messages.ts'

const METRICS_WITHIN_MS = 5 * SECOND_MS
const FAREWELL_WITHIN_MS = 2 * SECOND_MS
const TOLD_TOO_LATE = 'The metrics of all workers were not there in time.'

type Stop = Extract<Order, { kind: 'stop' | 'leave' }>

/** Resolves with the exit code. */
export async function serveAsWorker(config: Config, replaceable?: Replaceable): Promise<number> {
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {})
  tellUnawaited(config)
  const orders = ordersHere()
  const stopped = new Promise<Stop>((resolve) => {
    orders.on('stop', resolve)
    orders.on('leave', resolve)
    process.once('SIGTERM', () => resolve({ kind: 'stop', drain_ms: config.drain_ms })) // to this one, or to a group
  })
  const started = new Promise<Extract<Order, { kind: 'start' }>>((resolve) => orders.on('start', resolve))
  orders.on('ping', () => void say({ kind: 'pong' }))
  await say({ kind: 'here' })
  const { port, speaks } = await started

  let asked_early = false // to read the file again, while it was starting
  orders.on('reload', () => {
    asked_early = true
  })
  const metrics = metricsOfAll(orders)
  const running = await startServer({ ...config, port }, { ...replaceable, shared: { speaks, metrics } })
  if (asked_early) running.reload()
  orders.on('reload', running.reload)
  orders.on('count', async () => say({ kind: 'counted', metrics: await running.counted() }))
  await say({ kind: 'ready' })

  const { kind, drain_ms } = await stopped
  const code = await stopInTime(running, { drain_ms, stop_ms: config.stop_ms, is_replaced: kind === 'leave' })
  const bidFarewell = new Promise<void>((resolve) => orders.on('bye', () => resolve()))
  await say({ kind: 'done', metrics: await running.counted() })
  await Promise.race([bidFarewell, sleep(FAREWELL_WITHIN_MS)])
  return code
}

/** Whoever is asked for the metrics asks for those of all workers; who asks meanwhile gets the same answer. */
function metricsOfAll(orders: Orders): () => Promise<string> {
  let asked: Promise<string> | undefined
  let onAnswer = (_text: string) => {}
  orders.on('metrics', ({ text }) => onAnswer(text))
  return () => {
    const answer = () =>
      new Promise<string>((resolve, reject) => {
        onAnswer = resolve
        void say({ kind: 'metrics' })
        setTimeout(() => reject(new Refusal('unavailable', TOLD_TOO_LATE)), METRICS_WITHIN_MS).unref()
      })
    asked ??= answer().finally(() => {
      asked = undefined
    })
    return asked
  }
}

type Orders = ReturnType<typeof ordersHere>

function ordersHere() {
  const listeners = new Map<string, (order: never) => unknown>()
  process.on('message', (order: Order) => listeners.get(order.kind)?.(order as never))
  return {
    on<Kind extends Order['kind']>(kind: Kind, listener: (order: Extract<Order, { kind: Kind }>) => unknown): void {
      listeners.set(kind, listener)
    },
  }
}

/** Resolves once it is on its way; with nobody there to hear it, this process is about to end. */
const say = (word: Word): Promise<void> =>
  new Promise((resolve) => {
    if (process.connected) process.send?.(word, undefined, undefined, () => resolve())
    else resolve()
  })
