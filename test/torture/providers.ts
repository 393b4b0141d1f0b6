// 0343: a provider added, changed, drained and removed again and again, under load, on three replicas: no call fails,
// and every replica has learnt of each change in time.
import { setTimeout as sleep } from 'node:timers/promises'
import { ownRedisServer } from '../support/redis-server.ts'
import type { Behaviour } from '../support/upstream.ts'
import { count, highest, inLanes } from './asks.ts'
import { forked } from './forked.ts'
import type { Plant } from './plants.ts'
import type { Client } from './recording-client.ts'
import { percentile } from './redis-load.ts'
import { foundProjects, openReplicaScene, REPLICAS, type Replicas, steadily, withReplicas } from './replica-scene.ts'
import { type Report, report } from './report.ts'

export interface ProviderRun {
  /** How often it is added, changed, drained and removed. */
  cycles: number
  per_second: number
  /** Streams open at any time. */
  streams: number
  /** Whose calls they are, in turn. */
  projects: number
  /** Within which a change must be on every replica. */
  within_ms: number
  /** How long each state lasts. */
  dwell_ms?: number
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const UPSTREAM = new URL('./paced-upstream.ts', import.meta.url)
const STREAMED: Behaviour = { text: 'one word after the other', chunks: 10, pace: 60 }
const LOOK_MS = 20
const PAUSE_MS = 200 // after a stream that failed: a planted bug must not become a flood
const ADDED = 'added'
const PATH = `/v2/operator/providers/${ADDED}`
const BODY = { model: 'both', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }
const PRICE = { input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100 }

interface Answered {
  asked_ms: number
  took_ms: number
  by: string
  is_stream: boolean
  failure?: string | undefined
}

type Sender = Pick<Client, 'send'>

interface Learnt {
  change: string
  took_ms: number
  is_late: boolean
}

export async function providers(run: ProviderRun): Promise<Report> {
  const { plant, seed } = run
  const upstreams = await Promise.all([0, 1, 2].map(() => forked<{ base_url: string }>(UPSTREAM, STREAMED)))
  const counting = process.env.REDIS_URL ? undefined : await ownRedisServer()
  const [first, second, third] = upstreams.map(({ ready }) => ready.base_url)
  const price = 'input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100'
  const scene = await openReplicaScene({
    plant,
    log_level: 'error',
    ...(counting && { settings: { REDIS_URL: counting.url } }),
    providers: `providers:
  - { id: filed, base_url: "${first}", max_concurrency: 20000, models: [{ id: m, ${price} }] }`,
  })
  return report(scene, { command: 'providers', engine: 'postgres', plant, seed }, () =>
    withReplicas(scene, async (replicas) => findings(run, await underLoad(replicas, [second ?? '', third ?? ''], run))),
  ).finally(async () => {
    await Promise.all(upstreams.map((upstream) => upstream.close()))
    await counting?.stop()
  })
}

function findings({ plant, projects, cycles, within_ms }: ProviderRun, load: Awaited<ReturnType<typeof underLoad>>) {
  const { answers, learnt, drained_ms, per_second } = load
  const failed = (is_stream: boolean) => answers.filter((one) => one.is_stream === is_stream && one.failure)
  const late = answers.filter(({ by, asked_ms }) => by === ADDED && wasDrained(asked_ms, drained_ms, within_ms))
  return {
    figures: {
      replicas: REPLICAS,
      projects,
      'times added, changed, drained and removed': cycles,
      'requests a second': per_second,
      'calls answered': answers.length,
      'of them by the added provider': count(answers, ({ by }) => by === ADDED),
      'answer p50, ms': timeOf(answers, 0.5),
      'answer p99, ms': timeOf(answers, 0.99),
      'streams to the end': count(answers, ({ is_stream, failure }) => is_stream && !failure),
      'slowest to be on a replica, ms': Math.round(highest(learnt.map(({ took_ms }) => took_ms))),
    },
    checks: [
      { name: 'calls failed', found: failed(false).map(told) },
      { name: 'streams failed or truncated', found: failed(true).map(told) },
      {
        name: 'changes that were not on a replica in time',
        found: learnt.filter(({ is_late }) => is_late).map(({ change, took_ms }) => `${change}: ${took_ms} ms`),
      },
      { name: 'calls that a drained provider was given', found: late.map(told) },
      {
        name: 'the added provider served nothing',
        found: plant || answers.some(({ by }) => by === ADDED) ? [] : ['no call went there'],
      },
    ],
  }
}

/** From when it must be known everywhere to when it was resumed or removed. */
const wasDrained = (asked_ms: number, spans: readonly [number, number][], within_ms: number) =>
  spans.some(([from, to]) => asked_ms > from + within_ms && asked_ms < to)

async function underLoad(replicas: Replicas, addresses: readonly [string, string], run: ProviderRun) {
  const { cycles, per_second, streams, projects, note = () => {} } = run
  const answers: Answered[] = []
  const keys = await foundProjects(replicas.scene, projects)
  const keyOf = (n: number) => keys[n % keys.length] as string
  const learnt: Learnt[] = []
  const drained_ms: [number, number][] = []
  const operate = operatorOf(replicas, learnt, run)
  await alias(replicas, operate, keys, { base_url: addresses[0], plant: run.plant })
  let isOver = false
  const load = steadily(per_second, async (n) => void (await ask(replicas, keyOf(n), answers, false)))
  const streaming = inLanes(streams, Array.from({ length: streams }).keys(), async (lane) => {
    while (!isOver) if (!(await ask(replicas, keyOf(lane), answers, true))) await sleep(PAUSE_MS)
  })
  for (let n = 1; n <= cycles; n++) {
    drained_ms.push(await cycle(operate, addresses, run))
    note(`round ${n} of ${cycles}, ${answers.length} answers`)
  }
  isOver = true
  const { per_second: reached } = await load.stop()
  await streaming
  return { answers, learnt, drained_ms, per_second: reached }
}

type Operate = ReturnType<typeof operatorOf>

/** Half of its calls go to the added provider, wherever that is; while it is not there, all go to the other. */
async function alias(
  { inTurn }: Replicas,
  operate: Operate,
  keys: readonly string[],
  { base_url, plant }: { base_url: string; plant: Plant | undefined },
): Promise<void> {
  await operate.add(base_url)
  const known = plant === 'deaf-to-providers' ? ['filed'] : ['filed', ADDED]
  const targets = known.map((provider) => ({ provider, model: 'm', weight: 1 }))
  for (const key of keys) await sent(as(inTurn(), key), 'POST', '/v2/aliases', { name: 'both', targets })
  await operate.remove()
}

async function cycle(operate: Operate, [base_url, moved]: readonly [string, string], { dwell_ms = 500 }: ProviderRun) {
  const version = await operate.add(base_url)
  await sleep(dwell_ms)
  await operate.change(version, { base_url: moved, max_concurrency: 300 })
  await sleep(dwell_ms)
  const from = performance.now()
  await operate.turn('drain')
  await sleep(dwell_ms)
  const to = performance.now()
  await operate.turn('resume')
  await sleep(dwell_ms)
  await operate.remove()
  await sleep(dwell_ms)
  return [from, to] as [number, number]
}

interface Shown {
  id: string
  max_concurrency: number
  is_draining?: true
}

function operatorOf({ scene, inTurn }: Replicas, learnt: Learnt[], { within_ms }: ProviderRun) {
  /** On each replica by itself, from the moment of the answer. */
  async function everywhere(change: string, holds: (shown: Shown | undefined) => boolean): Promise<void> {
    const from_ms = performance.now()
    await Promise.all(
      scene.clients.map(async (one) => {
        for (;;) {
          const { data } = await sent<{ providers: Shown[] }>(one, 'GET', '/v2/gateway').then(({ providers }) => ({
            data: providers.find(({ id }) => id === ADDED),
          }))
          const took_ms = performance.now() - from_ms
          if (holds(data)) return void learnt.push({ change, took_ms, is_late: took_ms > within_ms })
          if (took_ms > within_ms) return void learnt.push({ change, took_ms, is_late: true })
          await sleep(LOOK_MS)
        }
      }),
    )
  }

  return {
    async add(base_url: string): Promise<number> {
      const wish = { id: ADDED, base_url, max_concurrency: 200, api_key: 'sk-added', models: [{ id: 'm', ...PRICE }] }
      const { version } = await sent<{ version: number }>(inTurn(), 'POST', '/v2/operator/providers', wish)
      await everywhere('added', (shown) => shown !== undefined)
      return version
    },
    async change(version: number, fields: { base_url: string; max_concurrency: number }): Promise<void> {
      await sent(inTurn(), 'PATCH', PATH, { version, ...fields })
      await everywhere('changed', (shown) => shown?.max_concurrency === fields.max_concurrency)
    },
    async turn(what: 'drain' | 'resume'): Promise<void> {
      await sent(inTurn(), 'POST', `${PATH}/${what}`)
      await everywhere(
        `${what}ed`,
        (shown) => shown !== undefined && (shown.is_draining === true) === (what === 'drain'),
      )
    },
    async remove(): Promise<void> {
      await sent(inTurn(), 'DELETE', `${PATH}?force=true`)
      await everywhere('removed', (shown) => shown === undefined)
    },
  }
}

/** The same server, asked with another key. */
const as = ({ send }: Sender, key: string): Sender => ({
  send: (sending) => send({ headers: { authorization: `Bearer ${key}` }, ...sending }),
})

async function sent<T>(one: Sender, method: string, path: string, body?: object): Promise<T> {
  const reply = await one.send({ method, path, ...(body && { body: JSON.stringify(body) }) })
  if (reply.status !== 200) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.body.toString()}`)
  return JSON.parse(reply.body.toString())
}

/** Each replica in turn, past the balancer: none of them is ever replaced here. */
async function ask({ inTurn }: Replicas, key: string, answers: Answered[], is_stream: boolean): Promise<boolean> {
  const asked_ms = performance.now()
  const body = JSON.stringify({ ...BODY, stream: is_stream })
  const outcome = await as(inTurn(), key)
    .send({ method: 'POST', path: '/v1/chat/completions', body })
    .then(
      ({ status, headers, body: bytes }) => {
        const by = String(headers['agent-resolved-provider'])
        if (status !== 200) return { by, failure: `${status} ${bytes.toString().slice(0, 200)}` }
        const is_cut = is_stream && !bytes.toString().endsWith('data: [DONE]\n\n')
        return { by, failure: is_cut ? 'ends without [DONE]' : undefined }
      },
      (error: Error) => ({ by: 'nobody', failure: error.message }),
    )
  answers.push({ asked_ms, took_ms: performance.now() - asked_ms, is_stream, ...outcome })
  return outcome.failure === undefined
}

const timeOf = (answers: readonly Answered[], part: number) =>
  Math.round(
    percentile(
      answers.filter(({ is_stream }) => !is_stream).map(({ took_ms }) => took_ms),
      part,
    ),
  )

const told = ({ asked_ms, by, failure }: Answered) =>
  `asked at ${(asked_ms / 1_000).toFixed(1)} s, by ${by}: ${failure ?? 'served'}`
