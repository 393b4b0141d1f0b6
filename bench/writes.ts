// What durability and safe retries cost: POST /v2/byoc/clusters, with and without a key, beside a bare Fastify route.
import { freePort } from '../test/support/postgres-server.ts'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { startProcess, temporaryFolder } from './processes.ts'

const KEY = `svc_live_${'b'.repeat(42)}`

export async function writes(conditions: Conditions): Promise<string> {
  const folder = temporaryFolder()
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
