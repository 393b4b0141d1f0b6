// Where each microsecond of a request goes: the warm service under V8's sampling profiler, with load on it.
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { unbundled } from './bundled-frames.ts'
import { attribute, type CpuProfile, type Share } from './cpu-profile.ts'
import { type Conditions, type Contender, slice } from './measure.ts'
import { ROOT, type ServerProcess, temporaryFolder } from './processes.ts'
import { promptsWith, RETENTION } from './recordings.ts'
import { record, reportsFolder } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, limitedKey, post, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { startUpstream } from './upstream-side.ts'
import { warmUp } from './warm-up.ts'

const WRITTEN_WITHIN_TRIES = 300
const SHOWN = 25
const SMALLEST_SHARE = 0.005

type Plan = Contender['plan']

const NEW_CLUSTER: Plan = {
  path: '/v2/byoc/clusters',
  headers: as(ADMIN_KEY),
  body: JSON.stringify({ name: 'atlas', region: 'eu-west-1' }),
}

/** What can be profiled, and the requests that it is loaded with. No scenario has one of these names. */
const KINDS: Record<string, (server: ServerProcess) => Promise<Plan>> = {
  live: async () => ({ path: CHAT, headers: as(ADMIN_KEY), body: chat() }),
  hold: async (server) => ({ path: CHAT, headers: as(await limitedKey(server)), body: chat() }),
  keyed: async () => ({
    path: CHAT,
    headers: as(ADMIN_KEY),
    body: chat(),
    unique_header: 'agent-idempotency-key',
  }),
  sse: async () => ({ path: CHAT, headers: as(ADMIN_KEY), body: chat({ stream: true }) }),
  recording: async (server) => {
    await post(server, '/v2/project/recordings', { enabled: true })
    return { path: CHAT, headers: as(ADMIN_KEY), body: chat(), bodies: promptsWith({}) }
  },
  placeholder: async () => ({ path: CHAT, headers: as(ADMIN_KEY), body: chat() }),
  write: async () => NEW_CLUSTER,
  'keyed-write': async () => ({ ...NEW_CLUSTER, unique_header: 'agent-idempotency-key' }),
}

export async function profile(conditions: Conditions, [kind = 'live']: string[]): Promise<string> {
  const planOf = KINDS[kind]
  if (!planOf) throw new Error(`no profile of '${kind}'; there are: ${Object.keys(KINDS).join(', ')}`)
  const file = join(temporaryFolder().path, 'service.cpuprofile')
  const upstream = await startUpstream()
  const server = await startService({
    name: 'switchyard',
    ...(kind !== 'placeholder' && { upstream }),
    ...(kind === 'recording' && { config: RETENTION }),
    env: { PROFILE_FILE: file },
    node_args: ['--import', join(ROOT, 'bench/profiler.mjs')],
  })
  const contender: Contender = {
    name: kind,
    server,
    plan: await planOf(server),
    ...(kind === 'sse' && { warm_requests: 1_500 }),
  }
  const warm = await warmUp(contender, conditions)
  // The cost is measured without the profiler, which has one of its own; the profile only says how it divides.
  const { cpu_us, result } = await slice(contender, conditions.seconds, conditions.connections)
  server.signal('SIGUSR2')
  await slice(contender, conditions.seconds, conditions.connections)
  server.signal('SIGUSR2')
  const attribution = attribute(unbundled(await written(file), (url) => readFileSync(fileURLToPath(url), 'utf8')))
  const whole = join(reportsFolder(), `${kind}.cpuprofile`)
  copyFileSync(file, whole)
  await Promise.all([upstream.stop(), server.stop()])
  record(`Profile, ${kind}`, { conditions, warm, cpu_us, failures: result.failures, attribution })
  const title = (what: string) => `${kind}, ${cpu_us.toFixed(1)} µs a request: ${what}`
  return [
    shareTable(title('what ran'), attribution.ran, cpu_us),
    shareTable(title('on whose account (nearest of our files on the stack)'), attribution.account, cpu_us),
    shareTable(title('functions, self time'), attribution.functions, cpu_us),
    `The whole profile, for a browser's developer tools: ${whole}\n`,
  ].join('\n')
}

async function written(file: string): Promise<CpuProfile> {
  for (let tries = 0; tries < WRITTEN_WITHIN_TRIES; tries++) {
    try {
      if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      // Half of it is there: it is being written.
    }
    await sleep(100)
  }
  throw new Error('the service wrote no profile')
}

function shareTable(title: string, shares: readonly Share[], cpu_us: number): string {
  const shown = shares.filter(({ share }) => share >= SMALLEST_SHARE).slice(0, SHOWN)
  const rest = 1 - shown.reduce((sum, { share }) => sum + share, 0)
  const rows = [...shown, { name: 'the rest', share: rest }].map(({ name, share }) => [
    name,
    (share * cpu_us).toFixed(1),
    `${(share * 100).toFixed(1)} %`,
  ])
  return textTable(title, ['', 'µs/request', 'share'], rows)
}
