// Money under everything at once (R26, R42 to R44, R47, §11, F13): clients that leave, upstreams that break, deadlines,
// failover, and a server that is killed again and again. At the end the books balance to the micro.
import { setTimeout as sleep } from 'node:timers/promises'
import { count, inLanes } from './asks.ts'
import { doorway, killAgainAndAgain } from './kills.ts'
import { bodyOf, holdOf, INPUT_MICROS, type MoneyAsk, moneyAsks, OUTPUT_MICROS } from './money-asks.ts'
import { probeAll, readBooks } from './money-books.ts'
import { checkMoney, MONEY_CHECKS, type MoneyCheck, type MoneyHistory } from './money-checker.ts'
import { type Payer, type Sent, send } from './money-client.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import { type Report, report } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'
import { type PlannedUpstream, startPlannedUpstream } from './upstream-process.ts'

export interface Money {
  calls: number
  kills: number
  in_flight: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
  /** Waits until what a killed server had reserved is free again (a minute), and sees every keyed call answered. */
  patient?: boolean
  note?: (text: string) => void
}

const TRIES = 4
const RETRY_MS = 30
const RECLAIM_MS = 80_000 // §11.8, and a housekeeping turn
const ORPHANS_MS = 100_000 // R43: a dead process is known as such after a minute; then comes a housekeeping turn
const KILL_WITHIN_MS = 60
const STUCK_MS = 60_000

export async function money(run: Money): Promise<Report> {
  const { calls, kills, engine, plant, seed, patient = false } = run
  const upstream = await startPlannedUpstream()
  const scene = await openScene({ engine, plant, providers: providersAt(upstream) })
  return report(scene, { command: 'money', engine, plant, seed }, async () => {
    const random = chance(seed)
    const started_ms = performance.now()
    const traffic = await startTraffic(scene, random, run)
    const { booting, server, starts_ms } = await killAgainAndAgain(scene, traffic.door, random, {
      kills,
      async beforeKill(kill) {
        await traffic.begun(Math.floor((calls * kill) / kills))
        await sleep(random.between(0, KILL_WITHIN_MS))
        if (kill === Math.ceil(kills / 2)) await traffic.setCap()
        run.note?.(`kill ${kill} of ${kills}, ${traffic.sent.length} requests`)
      },
    })
    await traffic.finished
    const traffic_ms = performance.now() - started_ms
    await answerTheRest(traffic, patient ? RECLAIM_MS : 1_000)
    await orphansReturned(scene, plant ? 0 : ORPHANS_MS)
    const probes = await probeAll(scene, traffic.payers)
    const { executions } = await upstream.ledger()
    const unclean = await scene.stop(server)
    const books = await readBooks(scene)
    const { payers, asks, sent } = traffic
    const dearest_micros = Math.max(...asks.map((ask) => holdOf(bodyOf(ask, false))))
    const history = { payers, asks, sent, executions, probes, books, was_patient: patient, dearest_micros }
    return {
      figures: {
        ...figuresOf(history),
        'kills under traffic': kills,
        'kills while starting': booting,
        'start, median ms': Math.round(starts_ms[starts_ms.length >> 1] ?? 0),
        'start, longest ms': Math.round(starts_ms.at(-1) ?? 0),
        'traffic, seconds': Math.round(traffic_ms / 1_000),
      },
      checks: [
        ...Object.entries(checkMoney(history)).map(([name, found]) => ({
          name: MONEY_CHECKS[name as MoneyCheck],
          found,
        })),
        { name: 'damage found by integrity_check', found: scene.damage() },
        { name: 'last stop not clean', found: plant ? [] : unclean },
      ],
    }
  }).finally(() => upstream.close())
}

function providersAt(upstream: PlannedUpstream): string {
  const price = `input_usd_per_million: ${INPUT_MICROS}, output_usd_per_million: ${OUTPUT_MICROS}`
  const model = (id: string) => `{ id: ${id}, ${price}, max_output_tokens: 1000 }`
  const timeouts = 'timeouts: { connect_ms: 2000, first_byte_ms: 3000, idle_ms: 2000, total_ms: 10000 }'
  const common = `max_concurrency: 20000, ${timeouts}`
  return `providers:
  - { id: first, base_url: "${upstream.baseUrl('first')}", ${common}, models: [${model('both')}, ${model('solo')}] }
  - { id: second, base_url: "${upstream.baseUrl('second')}", ${common}, models: [${model('both')}] }`
}

type Traffic = Awaited<ReturnType<typeof startTraffic>>

async function startTraffic(scene: Scene, random: Chance, { calls, in_flight }: Money) {
  const door = doorway()
  const sent: Sent[] = []
  const origin = `http://127.0.0.1:${scene.port}`
  let begun = 0
  let noteBegun = () => {}
  const payers = await foundPayers(scene, calls)
  const asks = moneyAsks(random, calls, payers.length)

  async function once(ask: MoneyAsk, retry: boolean): Promise<Sent> {
    await door.opened()
    const one = await send(origin, ask, payers[ask.payer] as Payer, retry)
    sent.push(one)
    return one
  }

  const finished = inLanes(in_flight, asks, async (ask) => {
    await door.opened()
    begun++
    noteBegun()
    let last = await once(ask, false)
    for (let tries = 1; ask.keyed && tries < TRIES && !isSettled(last); tries++) {
      await sleep(RETRY_MS * tries)
      last = await once(ask, true)
    }
  })

  return {
    ...{ door, sent, payers, asks, finished, once },
    /** Resolves when so many calls were begun. */
    begun: (wanted: number) =>
      until(
        () => begun >= wanted,
        (look) => (noteBegun = look),
      ),
    /** From here on every call holds, also of keys that have no limit of their own. */
    setCap: () => post(scene, '/v2/project/cap', { limit_usd: 1_000_000 }),
  }
}

/** Whole, or refused for good. */
const isSettled = ({ whole, type }: Sent) => whole || type === 'quota_exceeded'

function until(holds: () => boolean, onChange: (look: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the traffic stood still for ${STUCK_MS} ms`)), STUCK_MS)
    const look = () => {
      if (!holds()) return
      clearTimeout(late)
      resolve()
    }
    onChange(look)
    look()
  })
}

async function post(scene: Scene, path: string, body: object) {
  const reply = await scene.client.send({ method: 'POST', path, body: JSON.stringify(body) })
  if (reply.status !== 200) throw new Error(`POST ${path} answered ${reply.status}: ${reply.body}`)
  return JSON.parse(reply.body.toString())
}

/** Two keys without a limit, two with more than enough, two that run out on the way. */
async function foundPayers(scene: Scene, calls: number): Promise<Payer[]> {
  const server = await scene.start()
  const scarce_micros = 500 + calls * 4
  const budgets = [undefined, undefined, 1_000_000_000, 1_000_000_000, scarce_micros, scarce_micros]
  const payers: Payer[] = []
  for (const budget_micros of budgets) {
    const { id, key: raw } = await post(scene, '/v2/api-keys', { name: 'payer' })
    if (budget_micros) await post(scene, `/v2/api-keys/${id}/budget`, { limit_usd: budget_micros / 1_000_000 })
    payers.push({ id, raw, budget_micros, ample: budget_micros !== scarce_micros })
  }
  await scene.stop(server)
  return payers
}

/** Every keyed call gets its answer in the end, whatever happened to it before. */
async function answerTheRest({ asks, sent, once }: Traffic, patience_ms: number): Promise<void> {
  const settled = new Set(sent.filter(isSettled).map(({ call }) => call))
  const open = asks.filter(({ keyed, call }) => keyed && !settled.has(call))
  const deadline_ms = performance.now() + patience_ms
  await inLanes(16, open, async (ask) => {
    while (!isSettled(await once(ask, true)) && performance.now() < deadline_ms) await sleep(patience_ms / 40)
  })
}

async function orphansReturned(scene: Scene, within_ms: number): Promise<void> {
  const deadline_ms = performance.now() + within_ms
  while ((await scene.rows('SELECT id FROM budget_hold')).length > 0 && performance.now() < deadline_ms)
    await sleep(500)
}

function figuresOf({ asks, sent, executions, books, probes }: MoneyHistory): Report['figures'] {
  const answers = (status: number) => count(sent, (one) => one.status === status)
  const events = (status: string) => count(books.events, (event) => event.status === status)
  const leaving = (kind: string) => count(asks, (ask) => ask.leaving.kind === kind)
  return {
    calls: asks.length,
    '  keyed': count(asks, ({ keyed }) => keyed !== undefined),
    '  streamed': count(asks, ({ stream }) => stream),
    '  with a deadline': count(asks, ({ deadline_ms }) => deadline_ms !== undefined),
    '  whose client leaves early': leaving('early'),
    '  whose client leaves midway': leaving('midway'),
    'requests sent': sent.length,
    '  without any answer': count(sent, ({ status }) => status === undefined),
    '  whole answers': count(sent, ({ whole }) => whole),
    '  replays': count(sent, ({ replayed }) => replayed),
    '  409': answers(409),
    '  429 quota_exceeded': count(sent, ({ type }) => type === 'quota_exceeded'),
    '  502': answers(502),
    '  503': answers(503),
    '  504': answers(504),
    'calls at the upstream': executions.length,
    '  that produced something': count(executions, ({ produced }) => produced),
    'usage events': books.events.length,
    '  completed': events('completed'),
    '  client_left': events('client_left'),
    '  upstream_failed': events('upstream_failed'),
    '  deadline_exceeded': events('deadline_exceeded'),
    '  failed': events('failed'),
    'spent, micro-USD': books.project.spent_micros,
    'held, micro-USD': books.project.held_micros,
    'probes at the end': probes.length,
  }
}
