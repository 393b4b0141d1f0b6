// Load on one server from a process of its own: fixed connections, fixed time, whole answers read. Prints one JSON line.
// Written on bare sockets so that the generator is never what is measured.
import { connect, type Socket } from 'node:net'

export interface LoadPlan {
  port: number
  path: string
  headers: Record<string, string>
  body: string
  connections: number
  seconds: number
  /** Gives each request a header value of its own. */
  unique_header?: string
}

export interface LoadResult {
  requests: number
  failures: number
  seconds: number
  p50_ms: number
  p99_ms: number
}

const plan: LoadPlan = JSON.parse(process.argv[2] ?? '{}')
const latencies: number[] = []
let failures = 0
let serial = 0
const run = `${process.pid}-${performance.now()}`
const ends = performance.now() + plan.seconds * 1_000

function request(): string {
  const headers = { host: '127.0.0.1', 'content-length': String(Buffer.byteLength(plan.body)), ...plan.headers }
  const unique = plan.unique_header ? `${plan.unique_header}: ${run}-${++serial}\r\n` : ''
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${plan.path} HTTP/1.1\r\n${head.join('')}${unique}\r\n${plan.body}`
}

function drive(socket: Socket, done: () => void): void {
  let received = Buffer.alloc(0)
  let sent_at = 0
  const send = () => {
    if (performance.now() >= ends) {
      socket.end()
      return done()
    }
    sent_at = performance.now()
    socket.write(request())
  }
  socket.on('data', (bytes) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
    const length = wholeAnswer(received)
    if (length === undefined) return
    if (received.toString('latin1', 9, 12) !== '200') failures++
    received = received.subarray(length)
    latencies.push(performance.now() - sent_at)
    send()
  })
  socket.on('error', () => {
    failures++
    done()
  })
  send()
}

/** The length of the first answer in `bytes` once it is all there. */
function wholeAnswer(bytes: Buffer): number | undefined {
  const head = bytes.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const headers = bytes.toString('latin1', 0, head).toLowerCase()
  const length = /\r\ncontent-length: (\d+)/.exec(headers)
  if (length) {
    const total = head + 4 + Number(length[1])
    return bytes.length >= total ? total : undefined
  }
  const end = bytes.indexOf('\r\n0\r\n', head)
  if (end < 0) return undefined
  const trailersEnd = bytes.indexOf('\r\n\r\n', end + 2)
  return trailersEnd < 0 ? undefined : trailersEnd + 4
}

const sockets = Array.from({ length: plan.connections }, () => connect(plan.port, '127.0.0.1'))
const started = performance.now()
await Promise.all(
  sockets.map((socket) => new Promise<void>((done) => socket.once('connect', () => drive(socket, done)))),
)
latencies.sort((a, b) => a - b)
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
const result: LoadResult = {
  requests: latencies.length,
  failures,
  seconds: (performance.now() - started) / 1_000,
  p50_ms: at(0.5),
  p99_ms: at(0.99),
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)
