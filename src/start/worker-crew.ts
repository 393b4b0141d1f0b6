// The workers of one server: started, watched, replaced where they die, and replaced one by one where somebody asks.
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { SECOND_MS } from '../core/clock.ts'
import type { Config } from './config.ts'
import { type WorkerCounts, workerCounts } from './worker-counts.ts'
import type { Counted, Order, Word } from './worker-messages.ts'

const PING_MS = 5 * SECOND_MS
const PINGS_MISSED_MAX = 6 // an event loop that has not turned for half a minute
const COUNT_WITHIN_MS = SECOND_MS
const KILL_AFTER_MS = 5 * SECOND_MS // beyond the time in which it ends by itself
const BACK_OFF_MS = { first: 100, most: 30_000 }
const STEADY_MS = 60 * SECOND_MS // who dies after so long died of something else

interface Member {
  worker: Worker
  pid: number
  /** It hears what it is told. */
  is_here: boolean
  is_ready: boolean
  /** Its place is taken, or about to be. */
  is_leaving: boolean
  pings_missed: number
  counted: Counted
  onCounted: () => void
  /** Resolves when it listens; rejects where it ended before that. */
  ready: Promise<void>
  /** With its exit code, null where a signal ended it. */
  ended: Promise<number | null>
}

/** A worker that ended before it served. It has said why on standard error. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError'
  readonly exit_code: number

  constructor(exit_code: number | null, signal: string | null) {
    super(signal ? `a worker was ended by ${signal} while it started` : `a worker ended with ${exit_code} at its start`)
    this.exit_code = exit_code || 1
  }
}

/** `onNobodyLeft`: no worker serves, and none can be started. */
export function workerCrew(config: Config, logger: Logger, onNobodyLeft: (error: unknown) => void) {
  cluster.schedulingPolicy = cluster.SCHED_RR // whoever is stuck is given one connection at most
  const members = new Set<Member>()
  const counts: WorkerCounts = workerCounts()
  const backOff = backOffOf()
  let is_stopping = false
  let is_replacing = false
  let gathering: Promise<string> | undefined

  const serving = () => [...members].filter(({ is_ready }) => is_ready)
  const watch = setInterval(() => {
    for (const member of serving()) checkAlive(member)
  }, PING_MS)

  function start(speaks: boolean): Member {
    const worker = cluster.fork()
    const ended = endOf(worker)
    const member: Member = {
      ...{ worker, pid: worker.process.pid ?? 0, is_here: false, is_ready: false, is_leaving: false },
      ...{ pings_missed: 0, counted: [], onCounted: () => {}, ended: ended.then(({ code }) => code) },
      ready: new Promise((resolve, reject) => {
        worker.on('message', (word: Word) => {
          if (word.kind === 'here') {
            member.is_here = true
            tell(member, { kind: 'start', port: config.port, speaks })
          } else if (word.kind === 'ready') resolve()
          else hear(member, word)
        })
        ended.then(({ code, signal }) => reject(new WorkerStartError(code, signal)))
      }),
    }
    members.add(member)
    member.ready.then(
      () => {
        member.is_ready = true
      },
      () => {}, // whoever started it is told
    )
    ended.then((how) => onEnded(member, how))
    return member
  }

  function hear(member: Member, word: Word): void {
    if (word.kind === 'pong') member.pings_missed = 0
    if (word.kind === 'counted' || word.kind === 'done') {
      member.counted = word.metrics
      member.onCounted()
    }
    if (word.kind === 'done') tell(member, { kind: 'bye' })
    if (word.kind === 'metrics') {
      gathering ??= gather().finally(() => {
        gathering = undefined
      })
      gathering.then(
        (text) => tell(member, { kind: 'metrics', text }),
        (err) => logger.error({ err }, 'the metrics of the workers cannot be added up'),
      )
    }
  }

  /** Of a worker that does not answer in time, what it last told. */
  async function gather(): Promise<string> {
    await Promise.all(
      serving().map((member) => {
        const told = new Promise<void>((resolve) => {
          member.onCounted = resolve
        })
        tell(member, { kind: 'count' })
        return Promise.race([told, member.ended, sleep(COUNT_WITHIN_MS, undefined, { ref: false })])
      }),
    )
    return counts.text([...members].map(({ counted }) => counted))
  }

  function checkAlive(member: Member): void {
    tell(member, { kind: 'ping' })
    if (++member.pings_missed <= PINGS_MISSED_MAX) return
    logger.error({ worker: member.pid }, 'a worker does not answer any more, and is killed')
    member.worker.process.kill('SIGKILL')
  }

  function onEnded(member: Member, { code, signal }: End): void {
    members.delete(member)
    counts.keep(member.counted)
    if (!member.is_ready || member.is_leaving || is_stopping) return
    logger.error({ worker: member.pid, code, signal }, 'a worker ended, and is replaced')
    void replaceLost()
  }

  async function replaceLost(): Promise<void> {
    for (;;) {
      await sleep(backOff.next(performance.now()))
      if (is_stopping) return
      const member = start(false)
      try {
        await member.ready
        return logger.info({ worker: member.pid }, 'a worker has taken the place of the one that ended')
      } catch (error) {
        if (is_stopping) return
        if (serving().length === 0) return onNobodyLeft(error)
        logger.error({ err: error }, 'a worker could not start; the others serve, and it is tried again')
      }
    }
  }

  /** One leaves once another serves in its place; false where that one cannot start. */
  async function replaceOne(old: Member): Promise<boolean> {
    if (!members.has(old) || is_stopping) return true
    old.is_leaving = true // should it die now, its place is taken care of
    const member = start(false)
    try {
      await member.ready
    } catch (err) {
      old.is_leaving = false
      if (!members.has(old)) void replaceLost()
      logger.error({ err }, 'replacing the workers ended: the new one could not start')
      return false
    }
    await end(old, { kind: 'leave', drain_ms: config.drain_ms })
    logger.info({ worker: member.pid, instead_of: old.pid }, 'a worker was replaced')
    return true
  }

  function end(member: Member, order: Order & { drain_ms: number }): Promise<number | null> {
    const kill = () => member.worker.process.kill('SIGKILL')
    if (!member.is_here) {
      kill() // it would not hear it, and has begun nothing
      return member.ended.then(() => 0)
    }
    tell(member, order)
    const late = setTimeout(kill, order.drain_ms + config.stop_ms + KILL_AFTER_MS)
    return member.ended.finally(() => clearTimeout(late))
  }

  return {
    /** The first one alone, since it may have the schema and the first project to make. */
    async open(): Promise<void> {
      await start(true).ready
      if (is_stopping) return
      const others = Array.from({ length: config.workers - 1 }, () => start(false).ready)
      await Promise.all(others)
    },

    async replaceAll(): Promise<void> {
      if (is_replacing || is_stopping) return logger.warn('the workers are being replaced or stopped already')
      is_replacing = true
      for (const old of serving()) if (!(await replaceOne(old))) break
      is_replacing = false
    },

    reload(): void {
      for (const member of members) tell(member, { kind: 'reload' })
    },

    /** 0 where every one of them has ended what it had begun. */
    async stop(drain_ms: number): Promise<number> {
      is_stopping = true
      clearInterval(watch)
      const codes = await Promise.all([...members].map((member) => end(member, { kind: 'stop', drain_ms })))
      return codes.every((code) => code === 0) ? 0 : 1
    },
  }
}

/** One that is gone already need not be told anything. */
function tell({ worker }: Member, order: Order): void {
  if (worker.isConnected()) worker.send(order, () => {})
}

interface End {
  code: number | null
  signal: string | null
}

/**
 * A worker that dies while a connection is on its way to it takes that along: Node neither hands it to another nor
 * closes it, and does not even tell that the worker is disconnected. Whoever connected would wait for ever.
 */
function endOf(worker: Worker): Promise<End> {
  const { process } = worker
  let onItsWay: { close?(): void } | undefined
  const send = process.send.bind(process) as (...given: unknown[]) => boolean
  process.send = (...given: unknown[]) => {
    const [, handle] = given
    if (typeof handle === 'object' && handle !== null) onItsWay = handle
    return send(...given)
  }
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => {
      onItsWay?.close?.() // where it has arrived, this is closed already
      resolve({ code, signal })
    })
    worker.on('error', () => process.pid === undefined && resolve({ code: null, signal: 'the system' }))
  })
}

/** How long to wait before the next start: the longer, the more of them came to nothing lately. */
export function backOffOf({ first, most } = BACK_OFF_MS) {
  let last_ms = Number.NEGATIVE_INFINITY
  let wait_ms = 0
  return {
    next(now_ms: number): number {
      wait_ms = now_ms - last_ms > STEADY_MS ? first : Math.min(most, wait_ms * 2)
      last_ms = now_ms
      return wait_ms
    },
  }
}
