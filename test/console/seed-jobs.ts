// Channels that were told something, and a replay that was executed, made over the API as an owner's browser would.
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

/** Two channels, one of which was told of a test. Returns the id of that one. */
export async function seedChannels(scene: ConsoleScene, cookie: string, url: string): Promise<string> {
  const send = sender(scene, cookie)
  const made = await send('/v2/notification-channels', { kind: 'webhook', name: 'on-call', url })
  const slack = { kind: 'slack', name: '#agents', url: 'https://hooks.slack.com/services/T0/B0/pictures' }
  await send('/v2/notification-channels', slack)
  await send(`/v2/notification-channels/${made.id}/test`, {})
  return made.id ?? ''
}

const QUESTIONS = ['What is a hop?', 'What is a route?', 'What is a packet?', 'Why do queues grow?', 'What is loss?']

/** A run over a few recorded calls, completed. Returns its id. The server must let projects record. */
export async function seedReplay(scene: ConsoleScene, cookie: string): Promise<string> {
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
  const run = await send('/v2/replay-runs', { source: { trace_ids }, target: { model: MODEL }, control: true })
  const path = `/v2/replay-runs/${run.id}`
  await send(`${path}/execute`, { max_cost_usd: 1, concurrency: 4 })
  for (let tries = 0; tries < 200 && (await send(path)).status !== 'completed'; tries++)
    await new Promise((resolve) => setTimeout(resolve, 100))
  return run.id ?? ''
}
