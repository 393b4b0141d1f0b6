// What durability and safe retries cost: POST /v2/byoc/clusters, with and without a key, beside a bare Fastify route.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/postgres-server.ts'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { startProcess, temporaryFolder } from './processes.ts'

const KEY = `svc_live_${'b'.repeat(42)}`
// What is measured is how fast it can be, so nobody is refused for being fast.
const LIMITS = `limits:
  edge: { read_per_minute: 100000000 }
  key: { requests_per_minute: 100000000 }
  project: { requests_per_minute: 100000000 }\n`

export async function writes(conditions: Conditions): Promise<string> {
  const folder = temporaryFolder()
  const file = join(folder.path, 'switchyard.yaml')
  writeFileSync(file, LIMITS)
  const bare = await startProcess({
    name: 'bare Fastify route',
    script: 'bench/bare-fastify.ts',
    env: { PORT: String(await freePort()) },
    ready: '/ready',
  })
  const ours = await startProcess({
    name: 'switchyard',
    script: 'dist/cli/main.js',
    args: ['serve'],
    env: {
      PORT: String(await freePort()),
      SWITCHYARD_DATA_DIR: folder.path,
      SWITCHYARD_BOOTSTRAP_KEY: KEY,
      SWITCHYARD_CONFIG: file,
      LOG_LEVEL: 'warn',
    },
    ready: '/readyz',
  })
  const plan = {
    path: '/v2/byoc/clusters',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'atlas', region: 'eu-west-1' }),
  }
  const contenders: Contender[] = [
    { name: 'bare Fastify route, nothing stored', server: bare, plan },
    { name: 'switchyard, unkeyed, durable', server: ours, plan },
    { name: 'switchyard, keyed, durable', server: ours, plan: { ...plan, unique_header: 'agent-idempotency-key' } },
  ]
  const rounds = await measure(contenders, conditions)
  await Promise.all([bare.stop(), ours.stop()])
  folder.remove()
  return table(`Durable writes, ${conditions.connections} connections`, summarize(rounds))
}
