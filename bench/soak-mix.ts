// A mix of everything that clients do, well and badly, at a steady rate: what a day holds, in minutes.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, Pool } from 'undici'
import type { ServerProcess } from './processes.ts'
import { ADMIN_KEY, as, CHAT, chat, post } from './service-under-test.ts'

export interface Mix {
  /** Runs for so long, then waits for what is still open. */
  run(seconds: number, per_second: number): Promise<void>
  counts: Record<string, number>
  /** Answers that were not what the kind of request must get. */
  surprises: Record<string, number>
  close(): Promise<void>
}

type Asks = Record<string, [weight: number, ask: () => Promise<unknown>]>

const OPEN_MAX = 1_000 // a server that stalls is not buried
const REMEMBERED_KEYS = 500
const STRAGGLERS_MS = 30_000
const TURN_MS = 20
const WRONG_KEY = `svc_live_${'x'.repeat(42)}`
const STREAM = chat({ stream: true })

export async function soakMix(server: ServerProcess): Promise<Mix> {
  const pool = new Pool(server.url, { connections: 128, pipelining: 1 })
  const { id } = await post(server, '/v2/byoc/clusters', { name: 'soak', region: 'eu-west-1' })
  const counts: Record<string, number> = {}
  const surprises: Record<string, number> = {}
  const surprise = (what: string) => {
    surprises[what] = (surprises[what] ?? 0) + 1
  }
  const asks = soakAsks(pool, String(id), surprise)
  const deck = evenDeck(asks)
  let turn = 0

  const run = async (seconds: number, per_second: number) => {
    const started = performance.now()
    const open = new Set<Promise<void>>()
    let due = 0
    while (performance.now() - started < seconds * 1_000) {
      const by_now = ((performance.now() - started) / 1_000) * per_second
      for (; due < by_now && open.size < OPEN_MAX; due++) {
        const kind = deck[turn++ % deck.length] as string
        counts[kind] = (counts[kind] ?? 0) + 1
        const asked: Promise<void> = (asks[kind]?.[1]() ?? Promise.resolve())
          .catch((error: NodeJS.ErrnoException) => surprise(`${kind}: ${error.code ?? error.message}`))
          .then(() => void open.delete(asked))
        open.add(asked)
      }
      await sleep(TURN_MS)
    }
    await Promise.race([Promise.all(open), sleep(STRAGGLERS_MS, undefined, { ref: false })])
  }
  return { run, counts, surprises, close: () => pool.destroy() }
}

/** Each kind of request with its weight. */
function soakAsks(pool: Pool, cluster_id: string, surprise: (what: string) => void): Asks {
  const send = async (kind: string, wanted: number, options: Partial<Dispatcher.RequestOptions> = {}) => {
    const answer = await pool.request({ method: 'POST', path: CHAT, headers: as(ADMIN_KEY), body: chat(), ...options })
    const text = await answer.body.text()
    if (answer.statusCode !== wanted) surprise(`${kind}: ${answer.statusCode}`)
    return text
  }
  const keyed = (key: string) => ({ headers: { ...as(ADMIN_KEY), 'agent-idempotency-key': key } })
  const beat = { path: `/v2/byoc/clusters/${cluster_id}/heartbeat`, body: JSON.stringify({ status: 'active' }) }
  const answered: string[] = []
  const keys: string[] = []
  const run = performance.now()
  let serial = 0

  const askKeyed = async () => {
    const key = `soak-${run}-${++serial}`
    await send('keyed', 200, keyed(key))
    if (answered.push(key) > REMEMBERED_KEYS) answered.shift()
  }
  const replay = async () => {
    const key = answered[serial % answered.length]
    if (key) await send('replay', 200, keyed(key))
  }
  const makeKey = async () => {
    const text = await send('key made', 200, { path: '/v2/api-keys', body: JSON.stringify({ name: 'soak' }) })
    keys.push((JSON.parse(text) as { id: string }).id)
  }
  const revokeKey = async () => {
    const path = `/v2/api-keys/${keys.shift()}`
    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    if (!path.endsWith('undefined')) await send('key revoked', 200, { method: 'DELETE', path, headers, body: null })
  }
  return {
    plain: [40, () => send('plain', 200)],
    stream: [15, () => send('stream', 200, { body: STREAM })],
    abort: [5, () => abort(pool)],
    keyed: [15, askKeyed],
    replay: [10, replay],
    'bad body': [3, () => send('bad body', 400, { body: '{"model":' })],
    'bad key': [2, () => send('bad key', 401, { headers: as(WRONG_KEY) })],
    'no such path': [1, () => send('no such path', 404, { path: '/v2/nowhere' })],
    heartbeat: [5, () => send('heartbeat', 200, beat)],
    'key made': [2, makeKey],
    'key revoked': [2, revokeKey],
  }
}

/** Leaves in the middle of a stream, by closing the connection. */
async function abort(pool: Pool): Promise<void> {
  const leaving = new AbortController()
  const { signal } = leaving
  try {
    const answer = await pool.request({ method: 'POST', path: CHAT, headers: as(ADMIN_KEY), body: STREAM, signal })
    for await (const _part of answer.body) leaving.abort()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Each kind as often as its weight, spread evenly, the same in every run. */
function evenDeck(asks: Asks): string[] {
  const places = Object.entries(asks).flatMap(([kind, [weight]]) =>
    Array.from({ length: weight }, (_none, at) => ({ kind, at: (at + 0.5) / weight })),
  )
  return places.sort((a, b) => a.at - b.at).map(({ kind }) => kind)
}
