// The service as users run it: built, a process of its own, every promise on, and limits so high that nobody is refused
// for being fast. What is measured is what it costs to ask, not what it costs to refuse.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { postgresServer } from '../test/support/postgres-server.ts'
import { holdUntilEnd } from './held.ts'
import { canPin, end, LOAD_CORE, ROOT, type ServerProcess, startProcess, temporaryFolder } from './processes.ts'

export const ADMIN_KEY = `svc_live_${'b'.repeat(42)}`

const LIMITS = `limits:
  edge: { inference_per_minute: 1000000000, read_per_minute: 1000000000 }
  key: { requests_per_minute: 1000000000, tokens_per_minute: 1000000000, concurrent_streams: 100000 }
  project: { requests_per_minute: 1000000000 }
`
export const PRICES = 'input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 4096'

export interface ServiceSettings {
  name: string
  /** Where generations go; without it the placeholder answers. */
  upstream?: ServerProcess
  /** More of the environment: DATABASE_URL, REDIS_URL. */
  env?: Record<string, string>
  node_args?: string[]
  /** Another checkout's build. */
  root?: string
  /** A folder with a store in it already. */
  data_dir?: string
  /** More of its switchyard.yaml. */
  config?: string
  /** More of its providers: lines of the list. */
  providers?: string
  /** Which cores it may use, where it is not the one of servers under test. */
  core?: string
}

/** What its switchyard.yaml says. */
export function settingsWith(upstream: ServerProcess | undefined, providers = ''): string {
  const models = `models: [{ id: bench, ${PRICES} }]`
  const provider = upstream
    ? `providers:\n  - { id: mock, base_url: "${upstream.url}/v1", max_concurrency: 10000, ${models} }\n`
    : ''
  return `${provider}${providers}${LIMITS}`
}

export async function startService(settings: ServiceSettings): Promise<ServerProcess> {
  const { name, upstream, env = {}, node_args = [], root = ROOT } = settings
  const folder = settings.data_dir ?? temporaryFolder().path
  const file = join(folder, 'switchyard.yaml')
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, settingsWith(upstream, settings.providers) + (settings.config ?? ''))
  return startProcess({
    name,
    script: join(root, 'dist/cli/main.js'),
    node_args,
    ...(settings.core !== undefined && { core: settings.core }),
    args: ['serve'],
    cwd: folder,
    env: {
      DATABASE_URL: '',
      REDIS_URL: '',
      OPENAI_API_KEY: '',
      ...env,
      PORT: String(await freePort()),
      SWITCHYARD_DATA_DIR: folder,
      SWITCHYARD_BOOTSTRAP_KEY: ADMIN_KEY,
      SWITCHYARD_CONFIG: file,
      SWITCHYARD_DRAIN_MS: '0',
      LOG_LEVEL: 'warn',
    },
    ready: '/readyz',
  })
}

export async function post(server: ServerProcess, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, unknown>
}

/** A key whose every call needs a hold, with more money than the run can spend. */
export async function limitedKey(server: ServerProcess): Promise<string> {
  const { id, key } = await post(server, '/v2/api-keys', { name: 'limited' })
  await post(server, `/v2/api-keys/${id}/budget`, { limit_usd: 1_000_000_000 })
  return key as string
}

export const as = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

export const CHAT = '/v1/chat/completions'

/** A chat request of about `bytes`. */
export function chat(more: object = {}, bytes = 2_048, word = 'word '): string {
  const words = word.repeat(Math.max(1, Math.floor((bytes - 100) / Buffer.byteLength(word))))
  return JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: words }], max_tokens: 100, ...more })
}

/** A PostgreSQL of the run's own, on the core of the load: what the service spends is on the service's core alone. */
export async function startPostgres(): Promise<Record<string, string>> {
  const server = await postgresServer()
  holdUntilEnd(() => server.stop())
  return { DATABASE_URL: server.url, SWITCHYARD_SECRET: 'a secret for benchmarks, 32 characters' }
}

/** The Redis that REDIS_URL names, or one of the run's own, or why there is none. */
export async function startRedis(): Promise<{ REDIS_URL: string } | string> {
  if (process.env.REDIS_URL) return { REDIS_URL: process.env.REDIS_URL }
  const port = String(await freePort())
  const redis = ['redis-server', '--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const [command = '', ...args] = canPin ? ['taskset', '-c', LOAD_CORE, ...redis] : redis
  const child = spawn(command, args, { stdio: 'ignore', cwd: temporaryFolder().path })
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code) => resolve(`redis-server ended with ${code}`))
  })
  holdUntilEnd(() => end(child))
  const lost = await Promise.race([failed, sleep(500, undefined)])
  return lost ? `no Redis: set REDIS_URL or install redis-server (${lost})` : { REDIS_URL: `redis://127.0.0.1:${port}` }
}
