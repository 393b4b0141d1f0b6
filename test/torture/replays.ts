// §8.1 replay runs against kill -9: each item is asked and charged once, what was spent is what the events say, and the
// money that was set aside goes back to the micro.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../../src/storage/db.ts'
import { replayFaults } from '../support/replay-books.ts'
import { startUpstream } from '../support/upstream.ts'
import { inLanes } from './asks.ts'
import { type Report, report } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'
import type { ServerProcess } from './server-process.ts'

export interface Replays {
  items: number
  kills: number
  engine: Engine
  seed: number
  note?: (text: string) => void
}

const MODEL = 'replayed'
const CONCURRENCY = 8
const LOOK_MS = 20
const WITHIN_MS = 300_000
const APART_MS = 3_601_000 // after a kill: by then whoever held something is surely dead, for one that starts too
const MICROS = 1_000_000

export async function replays(run: Replays): Promise<Report> {
  const { items, kills, engine, seed } = run
  const executions = new Map<string, number>()
  const upstream = await startUpstream(({ body }) => {
    const user = String(body?.user)
    executions.set(user, (executions.get(user) ?? 0) + 1)
    return { text: `Said to ${user}.`, usage: { input: 11, output: 7 } }
  })
  const price = 'input_usd_per_million: 1, output_usd_per_million: 2, max_output_tokens: 100'
  const replicas = engine === 'postgres' ? 2 : 1
  const scene = await openScene({
    ...{ engine, replicas },
    providers:
      `providers:\n  - { id: up, base_url: "${upstream.base_url}", max_concurrency: 100, ` +
      `models: [{ id: ${MODEL}, ${price} }] }\nretention: { full_fidelity: true }\n`,
    settings: { SWITCHYARD_ALLOW_PRIVATE: 'true' },
  })
  const killed = report(scene, { command: 'replays', engine, seed }, async () => {
    const clock_file = join(scene.folder, 'clock')
    let ahead_ms = 0
    const startAll = async () => {
      writeFileSync(clock_file, String(ahead_ms))
      return Promise.all(Array.from({ length: replicas }, (_, n) => scene.start(n, clock_file)))
    }
    let servers: ServerProcess[] = await startAll()
    const ask = clientOf(scene)
    await record(ask, items)
    const before = [...executions.values()].reduce((sum, one) => sum + one, 0)
    const source = { filter: { model: MODEL }, sample: { n: items, seed: String(seed) } }
    const planned = await ask('replay-runs', { source, target: { model: MODEL } })
    const { id } = planned
    const max_cost_usd = Math.ceil(planned.plan.high_micros * 1.1) / MICROS
    await ask(`replay-runs/${id}/execute`, { max_cost_usd, concurrency: CONCURRENCY })
    let in_the_middle = 0
    for (let done = 0; in_the_middle < kills && done < items; ) {
      const next = Math.min(items - 1, done + Math.max(1, Math.floor(items / (kills + 1))))
      for (let waited = 0; waited < WITHIN_MS && (await doneOf(scene, id)) < next; waited += LOOK_MS)
        await sleep(LOOK_MS)
      await Promise.all(servers.map((server) => server.kill()))
      done = await doneOf(scene, id)
      if (done < items) in_the_middle++
      run.note?.(`kill ${in_the_middle} of ${kills}, ${done} of ${items} items done`)
      ahead_ms += APART_MS
      servers = await startAll()
    }
    const isOver = async () =>
      (await scene.rows(`SELECT id FROM replay_run WHERE id = '${id}' AND status = 'completed'`)).length > 0
    const isIdle = async () => (await isOver()) && (await scene.rows('SELECT id FROM budget_hold')).length === 0
    for (let waited = 0; waited < WITHIN_MS && !(await isIdle()); waited += 200) await sleep(200)
    const told = await ask(`replay-runs/${id}`)
    const faults = await replayFaults({ rows: (statement) => scene.rows(textOf(statement)) }, id)
    const after = [...executions.values()].reduce((sum, one) => sum + one, 0) - before
    for (const server of servers) await scene.stop(server)
    return {
      figures: {
        items: items,
        'kills in the middle of it': in_the_middle,
        'items done': told.items.done,
        'calls that reached the upstream': after,
        'micro-USD set aside': told.max_cost_micros,
        'micro-USD spent': told.spent_micros,
        'micro-USD returned': told.returned_micros ?? 'none',
      },
      checks: [
        { name: 'items asked twice, sums that differ, money not returned', found: faults },
        { name: 'items that are not done', found: told.items.done === items ? [] : [JSON.stringify(told.items)] },
        {
          name: 'money that is neither spent nor returned',
          found: told.spent_micros + (told.returned_micros ?? 0) === told.max_cost_micros ? [] : [JSON.stringify(told)],
        },
        { name: 'kills that hit nothing', found: in_the_middle > 0 ? [] : ['all of them'] },
      ],
      provoked_errors: true,
    }
  })
  return killed.finally(() => upstream.close()) // or a run that fails would never end
}

// biome-ignore lint/suspicious/noExplicitAny: what is asked for differs from call to call
type Ask = (path: string, body?: object) => Promise<any>

function clientOf({ token, ports }: Scene): Ask {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (path, body) => {
    const sent = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const answer = await fetch(`http://127.0.0.1:${ports[0]}/${path.startsWith('v1/') ? path : `v2/${path}`}`, sent)
    const told = await answer.json()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(told)}`)
    return told
  }
}

async function record(ask: Ask, items: number): Promise<void> {
  await ask('project/recordings', { enabled: true })
  const users = Array.from({ length: items }, (_, n) => `user ${n}`)
  await inLanes(8, users, async (user) => {
    const messages = [{ role: 'user', content: `Hello from ${user}` }]
    await ask('v1/chat/completions', { model: MODEL, max_tokens: 50, user, messages })
  })
  const written = async () => (await ask('recordings')).data.length as number
  for (let waited = 0; waited < WITHIN_MS && (await written()) < items; waited += 100) await sleep(100)
}

async function doneOf(scene: Scene, id: string): Promise<number> {
  const [row] = await scene.rows<{ done: number }>(
    `SELECT COUNT(*) AS done FROM replay_item WHERE run_id = '${id}' AND status = 'done'`,
  )
  return Number(row?.done)
}

/** Ids and nothing else are in these statements. */
const textOf = ({ text, values }: Sql) =>
  text.map((part, at) => (at === 0 ? part : `${quoted(values[at - 1])}${part}`)).join('')

const quoted = (value: unknown) =>
  typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`
