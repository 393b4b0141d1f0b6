// What durability and safe retries cost: POST /v2/byoc/clusters, with and without a key, beside a bare Fastify route.
import { freePort } from '../test/support/free-port.ts'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { startProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, startService } from './service-under-test.ts'

export async function writes(conditions: Conditions): Promise<string> {
  const bare = await startProcess({
    name: 'bare Fastify route',
    script: 'bench/bare-fastify.ts',
    env: { PORT: String(await freePort()) },
    ready: '/ready',
  })
  const ours = await startService({ name: 'switchyard' })
  const body = JSON.stringify({ name: 'atlas', region: 'eu-west-1' })
  const plan = { path: '/v2/byoc/clusters', headers: as(ADMIN_KEY), body }
  const contenders: Contender[] = [
    { name: 'bare Fastify route, nothing stored (base)', server: bare, plan },
    { name: 'switchyard, unkeyed, durable', server: ours, plan },
    { name: 'switchyard, keyed, durable', server: ours, plan: { ...plan, unique_header: 'agent-idempotency-key' } },
  ]
  const measured = await measure(contenders, conditions)
  const summaries = summarize(measured.rounds, contenders)
  await Promise.all([bare.stop(), ours.stop()])
  record('Durable writes', { conditions, ...measured, summaries })
  return table('Durable writes', summaries, conditions)
}
