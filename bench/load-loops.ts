// The two kinds of load. A closed loop asks how much a server can do; an open one, how long a client waits for it.
import { readFileSync } from 'node:fs'
import { quantile } from './figures.ts'
import { type Answered, type LoadConnection, loadConnection } from './load-connection.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'

const SPIN_MS = 2 // timers may be a millisecond late: the last stretch before a request is due is waited out awake
const STRAGGLERS_MS = 10_000

interface Tally {
  whole: number[]
  first: number[]
  late: number[]
  failures: number
  note(since: number, answered: Answered): void
}

function tally(): Tally {
  const counts: Tally = {
    whole: [],
    first: [],
    late: [],
    failures: 0,
    note(since, { status, first_at, ended_at }) {
      if (status !== 200) counts.failures++
      counts.whole.push(ended_at - since)
      counts.first.push(first_at - since)
    },
  }
  return counts
}

let serial = 0

/** The bytes of the next request: the same ones where nothing varies. */
function requests(plan: LoadPlan): () => Buffer | string {
  if (plan.bodies) return inTurn(plan.bodies.map((body) => requests({ ...plan, bodies: undefined, body })()))
  const headers = { host: '127.0.0.1', 'content-length': String(Buffer.byteLength(plan.body)), ...plan.headers }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${plan.path} HTTP/1.1\r\n${lines.join('')}`
  const keys = plan.keys_file ? readFileSync(plan.keys_file, 'utf8').trim().split('\n') : undefined
  if (!plan.unique_header && !keys) {
    const bytes = Buffer.from(`${head}\r\n${plan.body}`)
    return () => bytes
  }
  const run = `${process.pid}-${performance.now()}`
  // A stride that shares no factor with the number of keys visits each of them, and neighbours far apart.
  const stride = 7_919
  return () => {
    serial++
    const unique = plan.unique_header ? `${plan.unique_header}: ${run}-${serial}\r\n` : ''
    const key = keys ? `authorization: Bearer ${keys[(serial * stride) % keys.length]}\r\n` : ''
    return `${head}${unique}${key}\r\n${plan.body}`
  }
}

function inTurn<T>(all: readonly T[]): () => T {
  let at = 0
  return () => all[at++ % all.length] as T
}

/** As many requests at once as connections; each sends its next when it has its answer. */
async function closedLoop(plan: LoadPlan, connections: LoadConnection[], counts: Tally): Promise<void> {
  const next = requests(plan)
  const ends = performance.now() + plan.seconds * 1_000
  const drive = (connection: LoadConnection, done: () => void) => {
    const send = () => {
      const since = performance.now()
      if (since >= ends) return done()
      connection.ask(next(), (answered) => {
        counts.note(since, answered)
        send()
      })
    }
    send()
  }
  await Promise.all(connections.map((connection) => new Promise<void>((done) => drive(connection, done))))
}

/**
 * Requests are due at moments fixed beforehand, and each is timed from when it was due, not from when it left: a server
 * that stalls is charged for everything that waited behind the stall. Where no connection is free, one more is opened.
 */
async function openLoop(plan: LoadPlan, idle: LoadConnection[], counts: Tally): Promise<void> {
  const next = requests(plan)
  const every_ms = 1_000 / (plan.per_second ?? 1)
  const total = Math.floor(plan.seconds * (plan.per_second ?? 1))
  const started = performance.now() + every_ms
  let [sent, open] = [0, 0]
  await new Promise<void>((done) => {
    const late = setTimeout(done, plan.seconds * 1_000 + STRAGGLERS_MS)
    const turn = () => {
      for (
        let due = started + sent * every_ms;
        sent < total && due <= performance.now();
        due = started + sent * every_ms
      ) {
        const since = due
        const connection = idle.pop() ?? loadConnection(plan.port)
        sent++
        open++
        counts.late.push(performance.now() - since)
        connection.ask(next(), (answered) => {
          counts.note(since, answered)
          idle.push(connection)
          if (--open > 0 || sent < total) return
          clearTimeout(late)
          done()
        })
      }
      if (sent === total) return
      const left_ms = started + sent * every_ms - performance.now()
      if (left_ms > SPIN_MS) setTimeout(turn, left_ms - SPIN_MS)
      else setImmediate(turn)
    }
    turn()
  })
  counts.failures += open // those that never came back
}

export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const counts = tally()
  const connections = Array.from({ length: plan.connections }, () => loadConnection(plan.port))
  const started = performance.now()
  await (plan.per_second ? openLoop : closedLoop)(plan, connections, counts)
  const seconds = (performance.now() - started) / 1_000
  for (const connection of connections) connection.close()
  return {
    requests: counts.whole.length,
    failures: counts.failures,
    seconds,
    p50_ms: quantile(counts.whole, 0.5),
    p99_ms: quantile(counts.whole, 0.99),
    first_p50_ms: quantile(counts.first, 0.5),
    first_p99_ms: quantile(counts.first, 0.99),
    late_p99_ms: quantile(counts.late, 0.99),
    ...(plan.tells_each && { each_ms: counts.whole }),
  }
}
