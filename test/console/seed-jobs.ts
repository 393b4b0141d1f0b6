// What pages of jobs show, in each state, made over the API as a browser would: channels that were told something,
// replays, purges, budgets of tags, a provider that was added.
import { cookieName } from '../../src/accounts/session-cookie.ts'
import type { ConsoleScene } from './console-scene.ts'
import { MODEL } from './model-upstream.ts'

type Sent = Record<string, string>

const sender =
  ({ address }: ConsoleScene, cookie: string) =>
  async (path: string, body?: object): Promise<Sent> => {
    const headers = {
      cookie: `${cookieName(false)}=${cookie}`,
      origin: address,
      'x-forwarded-for': '10.2.0.3',
      ...(body && { 'content-type': 'application/json' }),
    }
    const asked = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const answer = await fetch(address + path, asked)
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as Sent
  }

const LOOK_MS = 100
const LOOKS = 40 // as often; then less often than a project may ask

async function comesTrue(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 80; tries++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, tries < LOOKS ? LOOK_MS : 20 * LOOK_MS))
  }
  throw new Error('what was seeded did not come about')
}

const CHANNELS = '/v2/notification-channels'

/** Three channels: one was told of a test, one cannot be reached, one nothing happened to. */
export async function seedChannels(scene: ConsoleScene, cookie: string, url: string) {
  const send = sender(scene, cookie)
  const { id: channel_id = '' } = await send(CHANNELS, { kind: 'webhook', name: 'on-call', url })
  const events = ['cluster.down', 'budget.refused']
  const gone = new URL('/', url)
  gone.port = '9' // where nobody listens
  const { id: failing_id = '' } = await send(CHANNELS, { kind: 'webhook', name: 'pager', url: gone.href, events })
  const slack = { kind: 'slack', name: '#agents', url: 'https://hooks.slack.com/services/T0/B0/pictures' }
  await send(CHANNELS, slack)
  for (const id of [channel_id, failing_id]) await send(`${CHANNELS}/${id}/test`, {})
  await comesTrue(async () => Number((await send(`${CHANNELS}/${failing_id}`)).failures) > 0)
  return { channel_id, failing_id }
}

/** Until those channels that fail are among what needs attention: every page says how much that is. */
export async function untilFailing(scene: ConsoleScene, cookie: string, channels: number): Promise<void> {
  const send = sender(scene, cookie)
  const failing = async () => JSON.stringify(await send('/v2/attention')).split('channel_failing').length - 1
  await comesTrue(async () => (await failing()) >= channels)
}

const QUESTIONS = ['What is a hop?', 'What is a route?', 'What is a packet?', 'Why do queues grow?', 'What is loss?']
const RUNS = '/v2/replay-runs'

/** Runs over a few recorded calls: completed, planned, cancelled. The server must let projects record. */
export async function seedReplays(scene: ConsoleScene, cookie: string) {
  const send = sender(scene, cookie)
  await send('/v2/project/recordings', { enabled: true })
  const { key } = await send('/v2/api-keys', { name: 'recorded-agent' })
  const trace_ids: string[] = []
  for (const content of QUESTIONS) {
    const answer = await fetch(`${scene.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] }),
    })
    if (!answer.ok) throw new Error(await answer.text())
    trace_ids.push(answer.headers.get('agent-trace-id') ?? '')
  }
  const plan = async (target: object) => (await send(RUNS, { source: { trace_ids }, target, control: true })).id ?? ''
  const replay_id = await plan({ model: MODEL })
  await send(`${RUNS}/${replay_id}/execute`, { max_cost_usd: 1, concurrency: 4 })
  await comesTrue(async () => (await send(`${RUNS}/${replay_id}`)).status === 'completed')
  const planned_id = await plan({ model: MODEL })
  const cancelled_id = await plan({ model: MODEL })
  await send(`${RUNS}/${cancelled_id}/cancel`, {})
  return { replay_id, planned_id, cancelled_id }
}

/** A budget that is used up, and one that nobody drew on. */
export async function seedTagBudgets(scene: ConsoleScene, cookie: string): Promise<void> {
  const send = sender(scene, cookie)
  await send('/v2/tag-budgets', { tag: 'team=search', limit_usd: 250 })
  await send('/v2/tag-budgets', { tag: 'run=nightly-evaluation-of-the-large-models', limit_usd: 0 })
}

const PURGES = '/v2/purge-jobs'

/** One that succeeded, one that is planned. */
export async function seedPurges(scene: ConsoleScene, cookie: string): Promise<void> {
  const send = sender(scene, cookie)
  const filter = { session_ids: ['ses_of_somebody_who_left'] }
  const { id } = await send(PURGES, { filter, mode: 'erase' })
  await comesTrue(async () => (await send(`${PURGES}/${id}`)).status === 'succeeded')
  await send(PURGES, { filter: { to: '2026-01-01T00:00:00Z' } })
}

/** A provider that was added over the API and changed once. */
export async function seedProvider(scene: ConsoleScene, cookie: string, base_url: string): Promise<void> {
  const send = sender(scene, cookie)
  const models = [{ id: 'mine', input_usd_per_million: 0.5, output_usd_per_million: 1.5, max_output_tokens: 8_192 }]
  await send('/v2/operator/providers', { id: 'spare', base_url, api_key: 'sk-of-the-pages-0123', models })
}
