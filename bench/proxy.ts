// What governance costs: a 2 KB chat request through us, with everything on, beside a bare proxy in the same run.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/postgres-server.ts'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { LOAD_CORE, type ServerProcess, startProcess, temporaryFolder } from './processes.ts'

const KEY = `svc_live_${'b'.repeat(42)}`
const chat = (more: object) =>
  JSON.stringify({
    model: 'bench',
    messages: [{ role: 'user', content: 'word '.repeat(390) }],
    max_tokens: 100,
    ...more,
  })

export const proxyWhole = (conditions: Conditions) => proxy('Chat, whole answers', {}, conditions)

/** As many streams at once as connections; each takes half a second, so rounds must be long enough for several. */
export const proxyStreams = (conditions: Conditions) =>
  proxy('Chat, streams of 50 chunks', { stream: true }, conditions)

async function proxy(title: string, more: object, conditions: Conditions): Promise<string> {
  const folder = temporaryFolder()
  const upstream = await startProcess({
    name: 'upstream',
    script: 'bench/mock-upstream.ts',
    env: { PORT: String(await freePort()) },
    core: LOAD_CORE,
    ready: '/',
  })
  const bare = await startProcess({
    name: 'bare proxy',
    script: 'bench/bare-proxy.ts',
    env: { PORT: String(await freePort()), UPSTREAM: upstream.url },
    ready: '/',
  })
  const ours = await startOurs(folder.path, upstream)
  const limited = await limitedKey(ours)
  const plan = { path: '/v1/chat/completions', body: chat(more) }
  const as = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
  const contenders: Contender[] = [
    { name: 'bare node:http + undici dispatch', server: bare, plan: { ...plan, headers: as(KEY) } },
    { name: 'switchyard, key without a limit', server: ours, plan: { ...plan, headers: as(KEY) } },
    { name: 'switchyard, a hold for each call', server: ours, plan: { ...plan, headers: as(limited) } },
    {
      name: 'switchyard, keyed',
      server: ours,
      plan: { ...plan, headers: as(KEY), unique_header: 'agent-idempotency-key' },
    },
  ]
  const rounds = await measure(contenders, conditions)
  await Promise.all([upstream, bare, ours].map((server) => server.stop()))
  folder.remove()
  return table(`${title}, ${conditions.connections} connections`, summarize(rounds))
}

async function startOurs(folder: string, upstream: ServerProcess): Promise<ServerProcess> {
  const file = join(folder, 'switchyard.yaml')
  const price = 'input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 4096'
  const limits = `limits:
  edge: { inference_per_minute: 100000000, read_per_minute: 100000000 }
  key: { requests_per_minute: 100000000, tokens_per_minute: 1000000000, concurrent_streams: 10000 }
  project: { requests_per_minute: 100000000 }`
  writeFileSync(
    file,
    `providers:\n  - { id: mock, base_url: "${upstream.url}", max_concurrency: 256, models: [{ id: bench, ${price} }] }\n${limits}\n`,
  )
  return startProcess({
    name: 'switchyard',
    script: 'dist/cli/main.js',
    args: ['serve'],
    env: {
      PORT: String(await freePort()),
      SWITCHYARD_DATA_DIR: folder,
      SWITCHYARD_BOOTSTRAP_KEY: KEY,
      SWITCHYARD_CONFIG: file,
      LOG_LEVEL: 'warn',
    },
    ready: '/readyz',
  })
}

/** A key whose every call needs a hold, with more money than the run can spend. */
async function limitedKey({ url }: ServerProcess): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) =>
    (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const { id, key } = (await post('/v2/api-keys', { name: 'limited' })) as { id: string; key: string }
  await post(`/v2/api-keys/${id}/budget`, { limit_usd: 1_000_000 })
  return key
}
