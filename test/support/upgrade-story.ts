// What a team leaves in a store: keys with limits, money spent and held, kept answers, a session, a stored response, an
// alias, a cluster and a credential. Lived on an earlier version, read back on this one.
import type { Client, Reply } from '../torture/recording-client.ts'
import type { Scene } from '../torture/scene.ts'
import { startUpstream } from './upstream.ts'

export const SECRET = 'a secret of the store that is upgraded, 32 or more'
export const TOKEN = `svc_live_${'upgrade'.repeat(6)}`
export const STALLS = 'stalls'
const PRICES = 'input_usd_per_million: 3, output_usd_per_million: 15, max_output_tokens: 1000'
const USAGE = { input: 20, output: 200 }
export const CALL_MICROS = USAGE.input * 3 + USAGE.output * 15

export interface Left {
  /** When it was left. */
  at_ms: number
  keys: Record<'app' | 'cut_off', { id: string; key: string }>
  keyed: { key: string; body: string; answer: string }
  session_id: string
  /** What each of these was answered, at the end. */
  reads: Record<string, unknown>
}

export async function upgradeUpstream() {
  const upstream = await startUpstream(({ body }) =>
    body?.model === STALLS ? { instead: 'silence' } : { text: `said of ${body?.model}`, usage: USAGE },
  )
  const models = ['large', 'small', STALLS].map((id) => `{ id: ${id}, ${PRICES} }`).join(', ')
  const providers = `providers:\n  - { id: mock, base_url: "${upstream.base_url}", max_concurrency: 100, models: [${models}] }`
  const settings = { SWITCHYARD_SECRET: SECRET, SWITCHYARD_BOOTSTRAP_KEY: TOKEN, HOST: '127.0.0.1' }
  return { upstream, place: { providers, settings } }
}

export const json = ({ body }: Reply) => JSON.parse(body.toString())

/** As whoever has this key, or the first key of all. */
export function caller(client: Client, token = TOKEN) {
  const headers = { authorization: `Bearer ${token}` }
  const ok = (reply: Reply, path: string) => {
    if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.body}`)
    return reply
  }
  return {
    get: async (path: string) => json(ok(await client.send({ path, headers }), path)),
    post: async (path: string, body: object, more: Record<string, string> = {}) =>
      json(
        ok(
          await client.send({ method: 'POST', path, body: JSON.stringify(body), headers: { ...headers, ...more } }),
          path,
        ),
      ),
    send: (path: string, body: string, more: Record<string, string> = {}) =>
      client.send({ method: 'POST', path, body, headers: { ...headers, ...more } }),
  }
}

export const chat = (model: string, text: string) => ({
  model,
  max_tokens: 200,
  messages: [{ role: 'user', content: text.padEnd(100, '.') }],
})

/** A server runs; afterwards it is killed while a call is under way. */
export async function live(scene: Scene, kill: () => Promise<void>): Promise<Left> {
  const admin = caller(scene.client)
  const newKey = async (name: string, limit_usd: number) => {
    const made = await admin.post('/v2/api-keys', { name })
    await admin.post(`/v2/api-keys/${made.id}/budget`, { limit_usd })
    return { id: made.id, key: made.key }
  }
  const keys = { app: await newKey('app', 5), cut_off: await newKey('cut off', 1) }
  await admin.post(`/v2/api-keys/${keys.app.id}/limits`, { requests_per_minute: 5_000 })
  const app = caller(scene.client, keys.app.key)
  for (let n = 0; n < 12; n++)
    await app.post('/v1/chat/completions', chat(n % 3 === 0 ? 'small' : 'large', `call ${n}`))

  const keyed = { key: 'kept-1', body: JSON.stringify(chat('large', 'once')), answer: '' }
  const kept = await app.send('/v1/chat/completions', keyed.body, { 'agent-idempotency-key': keyed.key })
  keyed.answer = kept.body.toString()

  const { id: session_id } = await app.post('/v2/sessions', { agent: 'agent of before' })
  await app.post('/v1/chat/completions', chat('large', 'in a session'), { 'x-session-id': session_id })
  const stored = await app.post('/v1/responses', {
    model: 'large',
    input: 'keep this'.padEnd(100, '.'),
    store: true,
    max_output_tokens: 200,
  })
  await admin.post('/v2/aliases', { name: 'best', targets: [{ provider: 'mock', model: 'large' }] })
  await admin.post('/v2/provider-credentials', { name: 'ours', provider: 'openai', secret: 'sk-of-before-0123456789' })
  await app.post('/v1/chat/completions', chat('best', 'by its alias'))
  await until(async () => (await usageOf(admin)).length === 16)

  const reads: Left['reads'] = {}
  for (const path of [
    '/v2/project',
    '/v2/usage',
    '/v2/usage?group_by=model',
    `/v2/usage?key_id=${keys.app.id}`,
    `/v2/sessions/${session_id}`,
    `/v2/sessions/${session_id}/events`,
    `/v1/responses/${stored.id}`,
    `/v1/responses/${stored.id}/input_items`,
    '/v2/aliases',
    '/v2/aliases/best/releases',
    '/v2/provider-credentials',
    '/v2/audit-log',
    '/v2/api-keys',
  ])
    reads[path] = await admin.get(path)
  const hanging = caller(scene.client, keys.cut_off.key).send(
    '/v1/chat/completions',
    JSON.stringify(chat(STALLS, 'never')),
  )
  hanging.catch(() => {})
  await until(async () => (await heldIn(scene)) > 0)
  await kill()
  return { at_ms: Date.now(), keys, keyed, session_id, reads }
}

type Caller = ReturnType<typeof caller>

const usageOf = async (admin: Caller) => (await admin.get('/v2/usage')).data as unknown[]

export async function heldIn(scene: Scene): Promise<number> {
  const [row] = await scene.rows<{ held: number }>('SELECT SUM(held_micros) AS held FROM project')
  return Number(row?.held ?? 0)
}

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isSo()) return
    await new Promise((later) => setTimeout(later, 50))
  }
  throw new Error('not within half a minute')
}
