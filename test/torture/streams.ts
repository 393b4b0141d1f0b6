// R26, §8.1.2, F9: streams by the thousand, each left at a random byte. Nothing of them stays: no open stream, no lease,
// no upstream call; and where there was a key, the whole answer waits for the retry.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Heard, openCall } from '../support/inference-client.ts'
import type { Behaviour } from '../support/upstream.ts'
import { count, highest, inLanes } from './asks.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import { type Report, report } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'
import {
  checkStreams,
  type Opened,
  type Replayed,
  STREAM_CHECKS,
  type StreamCheck,
  type StreamsHistory,
} from './streams-checker.ts'
import { type PlannedUpstream, startPlannedUpstream, type UpstreamLedger } from './upstream-process.ts'

export interface Streams {
  streams: number
  in_flight: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const CHUNKS = 24
const PACE_MS = 3
/** Of a keyed stream somewhat more than it has, so that some are read to their end. */
const BYTES_MAX = { keyed: 7_000, unkeyed: 4_500 }
const LEASES = 5
const PATIENCE_MS = 6_000
const LOOK_MS = 50 // to tell all of its metrics takes a server some milliseconds
const PLANTED_PATIENCE_MS = 5_000 // what a planted bug keeps open, it keeps for good
const LEAVE_AT_THE_LATEST_MS = 2_000
const EARLY_ONE_IN = 10 // some leave before anything has come, perhaps before they were heard
const EARLY_MS = 25

export async function streams(run: Streams): Promise<Report> {
  const { engine, plant, seed } = run
  const patience_ms = plant ? PLANTED_PATIENCE_MS : PATIENCE_MS
  const upstream = await startPlannedUpstream()
  const price = 'input_usd_per_million: 1, output_usd_per_million: 2, max_output_tokens: 1000'
  const base = upstream.baseUrl('first')
  const providers = `providers:
  - { id: first, base_url: "${base}", max_concurrency: 20000, models: [{ id: m, ${price} }] }`
  const scene = await openScene({ engine, plant, providers })
  return report(scene, { command: 'streams', engine, plant, seed }, async () => {
    const server = await scene.start()
    const key = await foundKey(scene)
    const before = await gauges(scene)
    const opened = await openAndLeave(scene, key.raw, run)
    const last_left_at = highest(opened.map(({ left_at }) => left_at ?? 0))
    const drained_ms = await untilDrained(scene, last_left_at, patience_ms)
    await untilEnded(upstream, patience_ms)
    const after = await gauges(scene)
    const replays = plant ? [] : await askAgain(scene, key.raw, opened)
    const { executions } = await untilEnded(upstream, patience_ms)
    const leases = await tryLeases(scene, key, patience_ms)
    await (plant ? server.kill() : scene.stop(server)) // one that has lost its streams waits long for them
    const history = { opened, replays, executions, drained_ms, leases, books: await readBooks(scene) }
    return {
      figures: { ...figuresOf(history), ...told('before', before), ...told('afterwards', after) },
      checks: Object.entries(checkStreams(history)).map(([name, found]) => ({
        name: STREAM_CHECKS[name as StreamCheck],
        found,
      })),
    }
  }).finally(() => upstream.close())
}

interface Key {
  id: string
  raw: string
}

async function foundKey(scene: Scene): Promise<Key> {
  const { id, key: raw } = await post(scene, '/v2/api-keys', { name: 'streams' })
  await post(scene, `/v2/api-keys/${id}/budget`, { limit_usd: 1_000_000 })
  return { id, raw }
}

async function post(scene: Scene, path: string, body: object) {
  const reply = await scene.client.send({ method: 'POST', path, body: JSON.stringify(body) })
  if (reply.status !== 200) throw new Error(`POST ${path} answered ${reply.status}: ${reply.body}`)
  return JSON.parse(reply.body.toString())
}

/** Of this machine's clock, which the upstream reads too. */
const now = () => performance.timeOrigin + performance.now()

function openStream(scene: Scene, raw: string, call: string, { keyed = false, chunks = CHUNKS } = {}) {
  const text = 'A stream that nobody waits for. '.repeat(chunks)
  const first: Behaviour = { text, chunks, pace: PACE_MS, usage: { input: 9, output: 90 } }
  // Only a keyed one comes to its end by itself: any other lasts until somebody lets go of it.
  if (!keyed) first.cut = { after: chunks + 1, how: 'silence' }
  const messages = [{ role: 'user', content: 'Go on.' }]
  return openCall(`http://127.0.0.1:${scene.port}`, '/v1/chat/completions', {
    body: { model: 'm', messages, max_tokens: 200, stream: true, call, plan: { first } },
    headers: {
      authorization: `Bearer ${raw}`,
      'x-session-id': call,
      ...(keyed && { 'agent-idempotency-key': call }),
    },
  })
}

async function openAndLeave(scene: Scene, raw: string, { streams: wanted, in_flight, seed, note }: Streams) {
  const random = chance(seed)
  const opened: Opened[] = []
  const calls = Array.from({ length: wanted }, (_, n) => ({ call: `s-${seed}-${n}`, ...leaving(random) }))
  await inLanes(in_flight, calls, async ({ call, keyed, ...leaving }) => {
    opened.push({ call, keyed, ...(await readUpTo(openStream(scene, raw, call, { keyed }), leaving)) })
    if (opened.length % 100 === 0) note?.(`${opened.length} of ${wanted} streams`)
  })
  return opened
}

interface Leaving {
  at_byte: number
  after_ms: number
}

function leaving(random: Chance): Leaving & { keyed: boolean } {
  const keyed = random.oneIn(2)
  return {
    keyed,
    at_byte: 1 + random.below(keyed ? BYTES_MAX.keyed : BYTES_MAX.unkeyed),
    after_ms: random.oneIn(EARLY_ONE_IN) ? random.between(0, EARLY_MS) : LEAVE_AT_THE_LATEST_MS,
  }
}

type Call = ReturnType<typeof openStream>

/** Leaves as soon as this many bytes have come, or this much time has passed. */
async function readUpTo(call: Call, { at_byte, after_ms }: Leaving): Promise<Pick<Opened, 'left_at' | 'read'>> {
  let left_at: number | undefined
  let bytes = 0
  const leave = () => {
    left_at ??= now()
    call.leave()
  }
  const patience = setTimeout(leave, after_ms)
  call.head.then(
    (response) =>
      response.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes >= at_byte) leave()
      }),
    () => {},
  )
  const heard: Heard | undefined = await call.heard.catch(() => undefined)
  clearTimeout(patience)
  return { left_at: heard?.complete ? undefined : left_at, read: heard?.text ?? '' }
}

interface Gauges {
  open_streams: number
  rss_mb: number
  handles: number
}

async function gauges(scene: Scene): Promise<Gauges> {
  const text = (await scene.client.send({ path: '/metrics' })).body.toString()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  return {
    open_streams: value('switchyard_stream_leases'),
    rss_mb: Math.round(value('process_resident_memory_bytes') / 2 ** 20),
    handles: value('nodejs_active_handles_total'),
  }
}

async function untilDrained(scene: Scene, since: number, patience_ms: number): Promise<number | undefined> {
  while (now() - since < patience_ms) {
    if ((await gauges(scene)).open_streams === 0) return Math.max(0, now() - since)
    await sleep(LOOK_MS)
  }
  return undefined
}

async function untilEnded(upstream: PlannedUpstream, patience_ms: number): Promise<UpstreamLedger> {
  const deadline_ms = performance.now() + patience_ms
  for (;;) {
    const ledger = await upstream.ledger()
    if (ledger.executions.every(({ ended }) => ended) || performance.now() > deadline_ms) return ledger
    await sleep(50)
  }
}

async function askAgain(scene: Scene, raw: string, opened: readonly Opened[]): Promise<Replayed[]> {
  const replays: Replayed[] = []
  const keyed = opened.filter((one) => one.keyed)
  await inLanes(16, keyed, async ({ call }) => {
    const { status, headers, text } = await openStream(scene, raw, call, { keyed: true }).heard
    replays.push({ call, status, trace_id: headers['agent-trace-id'], text })
  })
  return replays
}

/** §8.1.2: a key that may have five streams has five at once, and no more. */
async function tryLeases(scene: Scene, { id, raw }: Key, patience_ms: number): Promise<StreamsHistory['leases']> {
  await post(scene, `/v2/api-keys/${id}/limits`, { concurrent_streams: LEASES })
  const open = Array.from({ length: LEASES }, (_, n) => openStream(scene, raw, `lease-${n}`, { chunks: 200 }))
  const within = await Promise.all(open.map(async ({ head }) => (await head).statusCode ?? 0))
  const beyond = (await openStream(scene, raw, 'one-too-many').head).statusCode ?? 0
  for (const { leave } of open) leave()
  await Promise.all(open.map(({ heard }) => heard))
  await untilDrained(scene, now(), patience_ms)
  return { within, beyond }
}

async function readBooks(scene: Scene): Promise<StreamsHistory['books']> {
  const [project] = await scene.rows<{ held_micros: number; spent_micros: number }>(
    'SELECT held_micros, spent_micros FROM project',
  )
  if (!project) throw new Error('there is no project')
  return {
    ...project,
    holds: (await scene.rows('SELECT id FROM budget_hold')).length,
    events: await scene.rows('SELECT session_id AS call, charged_micros FROM usage_event'),
  }
}

function figuresOf({ opened, replays, executions, drained_ms, books }: StreamsHistory): Report['figures'] {
  const left = opened.filter(({ left_at }) => left_at !== undefined)
  const ends = new Map(executions.map((one) => [one.call, one.ended_at]))
  const lags = left
    .filter(({ keyed, call }) => !keyed && ends.get(call) !== undefined)
    .map(({ call, left_at }) => Math.max(0, (ends.get(call) as number) - (left_at as number)))
    .sort((a, b) => a - b)
  const lag = (share: number) => Math.round(lags[Math.floor((lags.length - 1) * share)] ?? 0)
  return {
    'streams opened': opened.length,
    '  keyed': count(opened, ({ keyed }) => keyed),
    '  left midway': left.length,
    '  left before the first byte': count(left, ({ read }) => read === ''),
    '  read to their end': opened.length - left.length,
    'calls at the upstream': executions.length,
    '  let go of': count(executions, ({ ended }) => ended === 'left'),
    '  finished': count(executions, ({ ended }) => ended === 'answered'),
    'upstream let go of after, median ms': lag(0.5),
    'upstream let go of after, p99 ms': lag(0.99),
    'upstream let go of after, longest ms': lag(1),
    'no stream open after the last abort, ms': drained_ms === undefined ? 'never' : Math.round(drained_ms),
    'retries replayed': replays.length,
    'usage events': books.events.length,
    'spent, micro-USD': books.spent_micros,
  }
}

const told = (when: string, { open_streams, rss_mb, handles }: Gauges) => ({
  [`open streams ${when}`]: open_streams,
  [`memory ${when}, MB`]: rss_mb,
  [`handles ${when}`]: handles,
})
