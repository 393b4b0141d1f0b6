// F22: servers replaced one after the other under load and open streams. Nobody behind the balancer notices.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Behaviour } from '../support/upstream.ts'
import { count, highest, inLanes } from './asks.ts'
import { forked } from './forked.ts'
import type { Plant } from './plants.ts'
import { chance } from './randomness.ts'
import {
  foundProjects,
  openReplicaScene,
  query,
  REPLICAS,
  type Replicas,
  steadily,
  withReplicas,
} from './replica-scene.ts'
import { type Report, report } from './report.ts'

export interface Rolling {
  restarts: number
  per_second: number
  /** Streams open at any time. */
  streams: number
  /** How long a new server works before the next one stops. */
  apart_ms?: number
  /** All servers are new at first: over how long the load comes to its rate, before the first one stops. */
  rising_ms?: number
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const DRAIN_MS = 2_000 // many times the balancer's interval: the machine may be busy
const STREAMED: Behaviour = { text: 'one word after the other', chunks: 30, pace: 100 } // three seconds each
const UPSTREAM = new URL('./paced-upstream.ts', import.meta.url)
const MODEL = 'm'
const PROJECTS = 24 // the money of one project is one row: here it is the stop that is looked at
const SETTLED_AFTER_MS = 5_000

interface Answered {
  what: string
  /** Since the harness began. */
  asked_ms: number
  took_ms: number
  failure?: string
}

export async function rolling(run: Rolling): Promise<Report> {
  const { plant, seed } = run
  const upstream = await forked<{ base_url: string }>(UPSTREAM, STREAMED)
  const price = 'input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100'
  const scene = await openReplicaScene({
    plant,
    providers: `providers:
  - { id: mock, base_url: "${upstream.ready.base_url}", max_concurrency: 20000, models: [{ id: ${MODEL}, ${price} }] }`,
    settings: { SWITCHYARD_DRAIN_MS: String(DRAIN_MS) },
  })
  return report(scene, { command: 'rolling', engine: 'postgres', plant, seed }, () =>
    withReplicas(scene, async (replicas) => {
      const keys = await Promise.all((await foundProjects(scene, PROJECTS)).map((admin) => limitedKey(replicas, admin)))
      const { answers, codes, stops_ms, per_second } = await restartAgainAndAgain(replicas, keys, run)
      const left = await leftovers(replicas)
      const failed = (what: string) => answers.filter((one) => one.what === what && one.failure)
      return {
        figures: {
          replicas: REPLICAS,
          restarts: codes.length,
          'requests a second': per_second,
          'requests answered': count(answers, ({ what }) => what !== 'stream'),
          'streams to the end': count(answers, ({ what, failure }) => what === 'stream' && !failure),
          'refused by a server with 503': count(answers, ({ failure }) => failure?.startsWith('503 {') ?? false),
          'broken, truncated, or refused by the balancer': count(
            answers,
            ({ failure }) => failure !== undefined && !failure.startsWith('503 {'),
          ),
          'slowest answer that is no stream, ms': slowest(answers.filter(({ what }) => what !== 'stream')),
          'slowest stop, ms': Math.round(highest(stops_ms)),
        },
        checks: [
          ...['read', 'chat', 'keyed chat'].map((what) => ({ name: `failed: ${what}`, found: failed(what).map(told) })),
          { name: 'streams failed or truncated', found: failed('stream').map(told) },
          { name: 'stops that did not end with 0', found: codes.filter((code) => code !== 0).map(String) },
          { name: 'holds and reservations left behind', found: left },
        ],
      }
    }),
  ).finally(() => upstream.close())
}

async function restartAgainAndAgain(replicas: Replicas, keys: readonly string[], run: Rolling) {
  const { restarts, per_second, streams, apart_ms = 0, rising_ms = 0, seed, note = () => {} } = run
  const { restart } = replicas
  const answers: Answered[] = []
  const codes: (number | null)[] = []
  const stops_ms: number[] = []
  const ask = asker(replicas, keys, answers, seed)
  let isOver = false

  const load = steadily(per_second, (n) => ask(n % 10 < 8 ? 'read' : n % 10 < 9 ? 'chat' : 'keyed chat'), rising_ms)
  const streaming = inLanes(streams, Array.from({ length: streams }), async () => {
    while (!isOver) await ask('stream')
  })
  await sleep(rising_ms)
  for (let n = 0; n < restarts; n++) {
    const from_ms = performance.now()
    codes.push(await restart(n % REPLICAS))
    stops_ms.push(performance.now() - from_ms)
    await sleep(apart_ms)
    note(`restart ${n + 1} of ${restarts}, ${answers.length} answers`)
  }
  isOver = true
  const { per_second: reached } = await load.stop()
  await streaming
  return { answers, codes, stops_ms, per_second: reached }
}

type What = 'read' | 'chat' | 'keyed chat' | 'stream'

function asker({ balanced }: Replicas, keys: readonly string[], answers: Answered[], seed: number) {
  const random = chance(seed)
  const authorization = () => `Bearer ${keys[random.below(keys.length)]}`
  const body = (more: object) =>
    JSON.stringify({ model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...more })
  const sendings = {
    read: () => ({ path: '/v1/models', headers: { authorization: authorization() } }),
    chat: () => ({
      ...{ method: 'POST', path: '/v1/chat/completions', body: body({}) },
      headers: { authorization: authorization() },
    }),
    'keyed chat': () => ({
      ...sendings.chat(),
      headers: { authorization: authorization(), 'agent-idempotency-key': random.text(30) },
    }),
    stream: () => ({
      ...sendings.chat(),
      body: body({ stream: true }),
    }),
  }
  return async (what: What): Promise<void> => {
    const from_ms = performance.now()
    const failure = await balanced.send(sendings[what]()).then(
      ({ status, body: bytes }) => {
        if (status !== 200) return `${status} ${bytes.toString().slice(0, 200)}`
        return what === 'stream' && !bytes.toString().endsWith('data: [DONE]\n\n') ? 'ends without [DONE]' : undefined
      },
      (error: Error) => error.message,
    )
    answers.push({
      what,
      asked_ms: from_ms,
      took_ms: performance.now() - from_ms,
      ...(failure !== undefined && { failure }),
    })
  }
}

/** Every call of it needs a hold, so that one which a stop forgets would stay behind. */
async function limitedKey({ balanced }: Replicas, admin: string): Promise<string> {
  const headers = { authorization: `Bearer ${admin}` }
  const post = async (path: string, body: object) =>
    JSON.parse((await balanced.send({ method: 'POST', path, headers, body: JSON.stringify(body) })).body.toString())
  const { id, key } = await post('/v2/api-keys', { name: 'limited' })
  await post(`/v2/api-keys/${id}/budget`, { limit_usd: 1_000_000 })
  return key
}

/** Releases may come a moment after the last answer; what is there after that was forgotten. */
async function leftovers({ scene }: Replicas): Promise<string[]> {
  const deadline_ms = performance.now() + SETTLED_AFTER_MS
  for (;;) {
    const [holds] = await query<{ count: string }>(scene, 'SELECT count(*) FROM budget_hold')
    const [held] = await query<{ count: string }>(scene, "SELECT count(*) FROM idempotency WHERE state = 'held'")
    const left = [
      ...(Number(holds?.count) > 0 ? [`${holds?.count} holds`] : []),
      ...(Number(held?.count) > 0 ? [`${held?.count} reservations`] : []),
    ]
    if (left.length === 0 || performance.now() > deadline_ms) return left
  }
}

const slowest = (answers: readonly Answered[]) => Math.round(highest(answers.map(({ took_ms }) => took_ms)))
const told = ({ asked_ms, took_ms, failure }: Answered) =>
  `asked at ${(asked_ms / 1_000).toFixed(1)} s: ${failure} after ${Math.round(took_ms)} ms`
