// R43: a key with $5.00 whose calls hold and cost $0.002 each pays for exactly 2,500 of them, however many come at once.
import { startUpstream } from '../support/upstream.ts'
import { count, inLanes } from './asks.ts'
import { type Report, report } from './report.ts'
import { type Engine, openScene } from './scene.ts'

export interface Budget {
  calls: number
  at_once: number
  /** Servers that the calls are spread over. */
  replicas?: number
  engine: Engine
  seed: number
}

const LIMIT_USD = 5
const CALL_MICROS = 2_000
const OUTPUT_TOKENS = 100
const USD_PER_MILLION = (CALL_MICROS / OUTPUT_TOKENS).toFixed(0) // so that the output alone costs the whole

interface Told {
  status: number
  type: string | undefined
  charged_micros: number
}

export async function budget({ calls, at_once, replicas = 1, engine, seed }: Budget): Promise<Report> {
  const upstream = await startUpstream({ text: 'ok', usage: { input: 10, output: OUTPUT_TOKENS } })
  const price = `input_usd_per_million: 0, output_usd_per_million: ${USD_PER_MILLION}, max_output_tokens: ${OUTPUT_TOKENS}`
  const providers = `providers:
  - { id: mock, base_url: "${upstream.base_url}", max_concurrency: 20000, models: [{ id: m, ${price} }] }`
  const scene = await openScene({ engine, replicas, providers })
  return report(scene, { command: 'budget', engine, seed }, async () => {
    await Promise.all(scene.ports.map((_, replica) => scene.start(replica)))
    const { send } = scene.client
    let turn = 0
    const toNext = () => scene.clients[turn++ % replicas] as (typeof scene.clients)[number]
    const post = async (path: string, body: object, raw?: string) =>
      toNext().send({
        method: 'POST',
        path,
        body: JSON.stringify(body),
        ...(raw && { headers: { authorization: `Bearer ${raw}` } }),
      })
    const made = JSON.parse((await post('/v2/api-keys', { name: 'limited' })).body.toString())
    await post(`/v2/api-keys/${made.id}/budget`, { limit_usd: LIMIT_USD })

    const told: Told[] = []
    const started_ms = performance.now()
    const chat = { model: 'm', max_tokens: OUTPUT_TOKENS, messages: [{ role: 'user', content: 'hi' }] }
    await inLanes(at_once, Array.from({ length: calls }), async () => {
      const { status, headers, body } = await post('/v1/chat/completions', chat, made.key)
      const type = status === 200 ? undefined : JSON.parse(body.toString()).error.type
      told.push({ status, type, charged_micros: Number(headers['agent-charged-micros'] ?? 0) })
    })

    const took_s = (performance.now() - started_ms) / 1_000
    const project = JSON.parse((await send({ path: '/v2/project' })).body.toString())
    const { data } = JSON.parse((await send({ path: '/v2/api-keys' })).body.toString())
    const { spent_micros } = data.find((key: { id: string }) => key.id === made.id)
    const served = count(told, ({ status }) => status === 200)
    const limit_micros = LIMIT_USD * 1_000_000
    const charged_micros = told.reduce((sum, one) => sum + one.charged_micros, 0)
    const differs = (name: string, is: number, must: number) => ({
      name,
      found: is === must ? [] : [`${is}, not ${must}`],
    })
    return {
      figures: {
        calls,
        'calls at any time': at_once,
        servers: replicas,
        'calls a second': Math.round(calls / took_s),
        served,
        'refused with quota_exceeded': count(told, ({ type }) => type === 'quota_exceeded'),
        'spent, micro-USD': spent_micros,
        'told to clients, micro-USD': charged_micros,
        'overshoot, micro-USD': Math.max(0, spent_micros - limit_micros),
        'held afterwards, micro-USD': project.held_micros,
      },
      checks: [
        differs('served other than the limit pays for', served, Math.min(calls, limit_micros / CALL_MICROS)),
        differs('spent other than told', spent_micros, charged_micros),
        differs('still held', project.held_micros, 0),
        {
          name: 'answers other than 200 and quota_exceeded',
          found: told
            .filter((one) => one.status !== 200 && one.type !== 'quota_exceeded')
            .map((one) => `${one.status} ${one.type}`),
        },
      ],
    }
  }).finally(() => upstream.close())
}
