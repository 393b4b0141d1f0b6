// What happens is told at least once and in order per subject, whoever is killed and however the receiver behaves. Each
// cluster's changes of status are what happened; the store's own record of them is what must have been told.
import { setTimeout as sleep } from 'node:timers/promises'
import { ownPostgresServer } from '../support/postgres-server.ts'
import { eventReceiver, type Taken } from './event-receiver.ts'
import { doorway } from './kills.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import type { Client } from './recording-client.ts'
import { type Check, type Findings, type Report, report } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'
import type { ServerProcess } from './server-process.ts'

export interface Events {
  events: number
  kills: number
  clusters: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const REPLICAS = 3 // on PostgreSQL
const AHEAD_MAX = 4_000 // of what was taken: a channel has so many waiting
const RETRY_MS = 20
const DONE_WITHIN_MS = 180_000
const PLANTED_WITHIN_MS = 30_000

export const EVENT_CHECKS = {
  lost: 'events that were never told',
  untrue: 'events that never happened',
  disordered: 'subjects told out of order',
  unrecognisable: 'repetitions under another id, or with other words',
  forged: 'messages whose signature is not right',
  waiting: 'deliveries that still wait',
} as const

export async function events(run: Events): Promise<Report> {
  const { engine, plant, seed } = run
  const replicas = engine === 'postgres' ? REPLICAS : 1
  // One that looks after itself as in production: a queue leaves rows behind that somebody has to clear away.
  const postgres = engine === 'postgres' && !process.env.TEST_DATABASE_URL ? await ownPostgresServer() : undefined
  const scene = await openScene({ engine, plant, replicas, postgres })
  return report(scene, { command: 'events', engine, plant, seed }, () => telling(scene, run)).finally(() =>
    postgres?.stop(),
  )
}

async function telling(scene: Scene, run: Events): Promise<Findings> {
  const random = chance(run.seed)
  const receiver = await eventReceiver(random)
  try {
    const servers = await startAll(scene, run.engine)
    const made = await posted(scene.client, '/v2/notification-channels', {
      ...{ kind: 'webhook', name: 'torture', url: receiver.url },
    })
    receiver.signedWith(made.secret as string)
    const ids = await clustersOf(scene.client, run.clusters)
    const door = doorway()
    door.open()
    receiver.begin()
    const began_ms = performance.now()
    const traffic = startTraffic(scene, ids, { wanted: run.events, taken: receiver.taken, opened: door.opened })
    const kills = killing(scene, servers, { door, random, run, made: traffic.made })
    await traffic.finished
    const took_s = (performance.now() - began_ms) / 1_000
    const killed = await kills
    await receiver.calm()
    const within_ms = run.plant ? PLANTED_WITHIN_MS : DONE_WITHIN_MS
    const waiting = await untilNoneWait(scene, within_ms)
    const happened = await changes(scene)
    for (const server of servers) await server.kill()
    const { figures, checks } = compared(happened, receiver.taken)
    return {
      figures: {
        servers: servers.length,
        kills: killed,
        clusters: ids.length,
        ...figures,
        'events a second': Math.round(traffic.made() / took_s),
        'answered 503': receiver.figures.refused,
        'left without an answer': receiver.figures.stalled,
        'restarts of the receiver': receiver.figures.restarts,
      },
      checks: [
        ...checks,
        { name: EVENT_CHECKS.forged, found: some(receiver.figures.forged) },
        { name: EVENT_CHECKS.waiting, found: some(waiting) },
        { name: 'damage found by integrity_check', found: scene.damage() },
      ],
    }
  } finally {
    await receiver.close()
  }
}

const some = (count: number) => (count === 0 ? [] : [`${count} of them`])

async function startAll(scene: Scene, engine: Engine): Promise<ServerProcess[]> {
  const first = await scene.start()
  if (engine === 'sqlite') return [first]
  const others = await Promise.all(Array.from({ length: REPLICAS - 1 }, (_, at) => scene.start(at + 1)))
  return [first, ...others]
}

interface Killing {
  door: ReturnType<typeof doorway>
  random: Chance
  run: Events
  made: () => number
}

/** Spread over the traffic: each when so much of it is done. */
async function killing(scene: Scene, servers: ServerProcess[], { door, random, run, made }: Killing): Promise<number> {
  for (let kill = 1; kill <= run.kills; kill++) {
    while (made() < (run.events * kill) / (run.kills + 1)) await sleep(RETRY_MS)
    const at = random.below(servers.length)
    if (servers.length === 1) door.shut()
    await (servers[at] as ServerProcess).kill()
    servers[at] = await scene.start(at)
    door.open()
    run.note?.(`kill ${kill} of ${run.kills}, ${made()} events`)
  }
  return run.kills
}

async function posted(client: Client, path: string, body: object): Promise<Record<string, unknown>> {
  const reply = await client.send({ method: 'POST', path, body: JSON.stringify(body) })
  if (reply.status !== 200) throw new Error(`POST ${path} answered ${reply.status}: ${reply.body.toString()}`)
  return JSON.parse(reply.body.toString())
}

async function clustersOf(client: Client, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { id } = await posted(client, '/v2/byoc/clusters', { name: `cluster ${n}`, region: 'eu' })
    await posted(client, `/v2/byoc/clusters/${id}/heartbeat`, { status: 'active' })
    ids.push(id as string)
  }
  return ids
}

interface Traffic {
  wanted: number
  taken: readonly Taken[]
  opened: () => Promise<void>
}

/** A lane for each cluster: down, up, down …, each asked for until it is answered. */
function startTraffic(scene: Scene, ids: readonly string[], { wanted, taken, opened }: Traffic) {
  let made = 0

  async function untilAnswered(path: string, body: string, first: number): Promise<void> {
    for (let at = first; ; at++) {
      await opened()
      const client = scene.clients[at % scene.clients.length] as Client
      const answered = await client.send({ method: 'POST', path, body }).catch(() => undefined)
      if (answered?.status === 200) return
      await sleep(RETRY_MS)
    }
  }

  async function lane(id: string, number: number): Promise<void> {
    for (let turn = 0; made < wanted; turn++) {
      while (made - taken.length > AHEAD_MAX) await sleep(RETRY_MS)
      const body = JSON.stringify({ status: turn % 2 === 0 ? 'down' : 'active' })
      await untilAnswered(`/v2/byoc/clusters/${id}/heartbeat`, body, number + turn)
      made++
    }
  }

  return { made: () => made, finished: Promise.all(ids.map(lane)) }
}

async function untilNoneWait(scene: Scene, within_ms: number): Promise<number> {
  const deadline_ms = performance.now() + within_ms
  for (;;) {
    const [row] = await scene.rows<{ waiting: number }>(
      `SELECT COUNT(*) AS waiting FROM notification_delivery WHERE status = 'waiting'`,
    )
    const waiting = Number(row?.waiting ?? 0)
    if (waiting === 0 || performance.now() > deadline_ms) return waiting
    await sleep(200)
  }
}

interface Change {
  cluster_id: string
  to_status: string
}

/** What happened to each cluster, in its order, as far as anybody is told of it. */
const changes = (scene: Scene) =>
  scene.rows<Change>(
    `SELECT cluster_id, to_status FROM cluster_transition
     WHERE why <> 'register' AND (to_status = 'down' OR from_status = 'down') ORDER BY sequence`,
  )

/** The record of what happened beside what was taken, subject by subject. */
export function compared(happened: readonly Change[], taken: readonly Taken[]) {
  const wanted = grouped(happened, ({ cluster_id }) => cluster_id)
  const [first, repeated] = firstOf(taken)
  const told = grouped(first, ({ subject }) => subject)
  const found: Record<'lost' | 'untrue' | 'disordered' | 'unrecognisable', string[]> = {
    ...{ lost: [], untrue: [], disordered: [], unrecognisable: repeated.odd },
  }
  for (const [id, changes] of wanted) {
    const came = told.get(id) ?? []
    const missing = changes.length - came.length
    if (missing > 0) found.lost.push(`${id}: ${missing} of ${changes.length}`)
    if (missing < 0) found.untrue.push(`${id}: ${-missing} more than ${changes.length}`)
    if (came.some(({ sequence }, at) => at > 0 && sequence <= (came[at - 1]?.sequence ?? 0))) found.disordered.push(id)
    else if (missing === 0 && came.some(({ to }, at) => to !== changes[at]?.to_status))
      found.untrue.push(`${id}: told otherwise than it happened`)
  }
  for (const id of told.keys()) if (!wanted.has(id)) found.untrue.push(id)
  const figures = { events: happened.length, 'messages taken': taken.length, repetitions: repeated.count }
  const checks: Check[] = Object.entries(found).map(([name, lines]) => ({
    ...{ name: EVENT_CHECKS[name as keyof typeof found], found: lines },
  }))
  return { figures, checks }
}

interface Told {
  id: string
  subject: string
  sequence: number
  to: string
}

/** Each event at its first time. What comes again must be known by its id, and say the same. */
function firstOf(taken: readonly Taken[]): [Told[], { count: number; odd: string[] }] {
  const [bodies, ids, first] = [new Map<string, string>(), new Map<number, string>(), [] as Told[]]
  const odd: string[] = []
  for (const { id, body } of taken) {
    const known = bodies.get(id)
    if (known !== undefined) {
      if (known !== body) odd.push(`${id} says something else`)
      continue
    }
    bodies.set(id, body)
    const { subject, sequence, data } = JSON.parse(body)
    if (ids.has(sequence)) odd.push(`${id} and ${ids.get(sequence)} are one event`)
    ids.set(sequence, id)
    first.push({ id, subject, sequence, to: data.to })
  }
  return [first, { count: taken.length - first.length, odd }]
}

function grouped<One>(all: readonly One[], by: (one: One) => string): Map<string, One[]> {
  const groups = new Map<string, One[]>()
  for (const one of all) {
    const known = groups.get(by(one))
    if (known) known.push(one)
    else groups.set(by(one), [one])
  }
  return groups
}
