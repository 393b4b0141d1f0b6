// §11 across real processes on one PostgreSQL: told at once on any replica, fenced through a pause, reclaimed when dead.
// The servers' clocks are moved by a file, so that a minute need not be waited for.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client as PostgresClient } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { planted } from '../support/planted.ts'
import { startUpstream } from '../support/upstream.ts'
import { gate } from '../support/wire.ts'
import type { Plant } from '../torture/plants.ts'
import type { Reply } from '../torture/recording-client.ts'
import { query } from '../torture/replica-scene.ts'
import { openScene } from '../torture/scene.ts'

const CHAT = '/v1/chat/completions'
const COST_MICROS = 60 // the upstream says 10 tokens in and 50 out, at $1 a million each
const USAGE = { input: 10, output: 50 }
const MINUTE_MS = 60_000

type Pair = Awaited<ReturnType<typeof startPair>>

async function startPair(plant?: Plant) {
  const upstream = await startUpstream({ usage: USAGE })
  const price = 'input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100'
  const scene = await openScene({
    ...{ engine: 'postgres', replicas: 2, plant },
    providers: `providers:\n  - { id: mock, base_url: "${upstream.base_url}", models: [{ id: m, ${price} }] }`,
  })
  const clock_file = join(scene.folder, 'clock')
  let ahead_ms = 0
  const later = (by_ms: number) => {
    ahead_ms += by_ms
    writeFileSync(clock_file, String(ahead_ms))
  }
  later(0)
  const [first] = await Promise.all([scene.start(0, clock_file), scene.start(1, clock_file)])
  const [a, b] = scene.clients as [(typeof scene.clients)[number], (typeof scene.clients)[number]]

  const sending = (key: string) => ({
    ...{ method: 'POST', path: CHAT, headers: { 'agent-idempotency-key': key } },
    body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }),
  })
  /** What the store holds of money and of the triple, read past both servers. */
  async function books() {
    const [spent] = await query<Books>(scene, 'SELECT spent_micros, held_micros FROM project')
    const [events] = await query<{ n: number }>(scene, 'SELECT count(*) AS n FROM usage_event')
    const [holds] = await query<{ n: number }>(scene, 'SELECT count(*) AS n FROM budget_hold')
    return { spent: Number(spent?.spent_micros), events: Number(events?.n), holds: Number(holds?.n) }
  }
  /** What was asked of the upstream, spent and written down from now on; `holds` are all that there are. */
  async function fromNow() {
    const [asked, before] = [upstream.requests.length, await books()]
    return {
      request: (nth: number) => upstream.request(asked + nth),
      requests: () => upstream.requests.slice(asked),
      async books() {
        const { spent, events, holds } = await books()
        return { spent: spent - before.spent, events: events - before.events, holds }
      },
    }
  }
  async function close(): Promise<void> {
    await scene.close()
    await upstream.close()
  }
  return { scene, upstream, first, a, b, later, sending, fromNow, close }
}

interface Books {
  spent_micros: number
  held_micros: number
}

const verdict = ({ status, headers }: Reply) => [status, headers['agent-idempotent-replay']]
const type = ({ body }: Reply) => JSON.parse(body.toString()).error?.type

describe.sequential('replicas', () => {
  // One pair for them all: each has a key of its own, and the last one ends a server.
  let pair: Pair
  beforeAll(async () => {
    pair = await startPair()
  })
  afterAll(() => pair?.close())

  test('§11.5 while one replica generates, the other says 409 at once, and afterwards replays', async () => {
    const { upstream, a, b, sending, fromNow } = pair
    const { request, requests } = await fromNow()
    const open = gate()
    upstream.next({ wait: open.promise, usage: USAGE })
    const executing = a.send(sending('generating'))
    await request(1)
    const told = await b.send(sending('generating')) // the upstream is still open: nothing waited for the first to end
    expect([told.status, type(told)]).toEqual([409, 'idempotency_conflict'])
    open.resolve()
    const executed = await executing
    const replayed = await b.send(sending('generating'))
    expect([verdict(executed), verdict(replayed)]).toEqual([
      [200, 'false'],
      [200, 'true'],
    ])
    expect(replayed.body.equals(executed.body)).toBe(true)
    expect(requests()).toHaveLength(1)
  })

  test('§11.5 while one replica’s transaction is open, the other does not wait for it', async () => {
    const { scene, a, b } = pair
    const outsider = new PostgresClient(scene.database_url)
    await outsider.connect()
    await outsider.query('BEGIN')
    await outsider.query('LOCK TABLE byoc_cluster IN EXCLUSIVE MODE') // the first one's insert cannot go on
    const ask = {
      ...{ method: 'POST', path: '/v2/byoc/clusters', headers: { 'agent-idempotency-key': 'in-transaction' } },
      body: JSON.stringify({ name: 'atlas', region: 'eu-west-1' }),
    }
    const executing = a.send(ask)
    await untilWaiting(outsider)
    const told = await b.send(ask)
    expect([told.status, type(told)]).toEqual([409, 'idempotency_conflict'])
    await outsider.query('COMMIT')
    expect(verdict(await executing)).toEqual([200, 'false'])
    expect(verdict(await b.send(ask))).toEqual([200, 'true'])
    await outsider.end()
  })

  test('R22 T-24 a paused owner that wakes after its reclaim keeps nothing, overwrites nothing, charges nothing', async () => {
    const { executed, woken, replayed, books, requests } = await pausedOwner(pair)
    expect(verdict(executed)).toEqual([200, 'false'])
    expect([woken.status, type(woken)]).toEqual([409, 'idempotency_conflict'])
    expect(verdict(replayed)).toEqual([200, 'true'])
    expect(replayed.body.equals(executed.body)).toBe(true)
    expect(requests()).toHaveLength(2)
    expect(await books()).toEqual({ spent: COST_MICROS, events: 1, holds: 0 })
  })

  planted('R22 T-24 the same catches a handler that keeps its answer whoever the reservation belongs to', async () => {
    const planted_pair = await startPair('unfenced')
    onTestFinished(planted_pair.close)
    const { executed, replayed, books } = await pausedOwner(planted_pair)
    expect(replayed.body.equals(executed.body)).toBe(false)
    expect((await books()).spent).toBeGreaterThan(COST_MICROS)
  })

  test('§11.8 a killed owner’s reservation is reclaimed after 60 s, and not before', async () => {
    const { upstream, first, a, b, later, sending, fromNow } = pair
    const { request, books } = await fromNow()
    upstream.next({ instead: 'silence' })
    const lost = a.send(sending('killed')).then(
      () => 'answered',
      () => 'lost',
    )
    await request(1)
    await first.kill()
    expect(await lost).toBe('lost')
    later(MINUTE_MS - 15_000) // real time goes on meanwhile, so the last moment before is not to be had here
    expect((await b.send(sending('killed'))).status).toBe(409)
    later(15_000)
    expect(verdict(await b.send(sending('killed')))).toEqual([200, 'false'])
    expect(await books()).toMatchObject({ spent: COST_MICROS, events: 1 })
  })
})

/** The owner is stopped while its upstream is open, replaced after a minute, and then goes on. */
async function pausedOwner({ upstream, first, a, b, later, sending, fromNow }: Pair) {
  const now = await fromNow()
  const open = gate()
  upstream.next({ wait: open.promise, text: 'too late', usage: USAGE }, { text: 'in time', usage: USAGE })
  const late = a.send(sending('paused'))
  await now.request(1)
  first.pause()
  expect((await b.send(sending('paused'))).status).toBe(409)
  later(MINUTE_MS)
  const executed = await b.send(sending('paused'))
  open.resolve()
  first.resume()
  const woken = await late
  return { ...now, executed, woken, replayed: await b.send(sending('paused')) }
}

/** Until somebody waits for a lock in this schema. */
async function untilWaiting(connection: PostgresClient): Promise<void> {
  for (;;) {
    const { rows } = await connection.query(
      "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'byoc_cluster'::regclass",
    )
    if (rows.length > 0) return
  }
}
