// What an attack of a hostile run is, and what an attacker has: a project of its own with an admin key, a cluster of its
// own, and time.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Asking, HostileClient, Told } from '../hostile-client.ts'
import type { Plan } from '../hostile-upstream.ts'

export interface Attack {
  /** What it does, in one sentence. */
  does: string
  /** What stops it. */
  guard: string
  run(arms: Arms): Promise<void>
}

export interface Arms {
  attack: string
  /** The admin key of its project. */
  key: string
  /** How many servers there are. */
  servers: number
  ports: readonly number[]
  /** Of the attacker's cluster. */
  endpoint: string
  /** Of a service of the operator, on the loopback of the servers. */
  internal_port: number
  isOver(): boolean
  client: HostileClient
  /** Sends, and counts what is answered. */
  ask(asking: Asking): Promise<Told>
  /** Notes what nobody may have. */
  gain(what: string): void
}

/** The address that attackers come from, which is not the victim's. */
export const ATTACKER_ADDRESS = '127.0.0.2'

const LANES = 16

/** So often a second until the attack is over, unless so many are still under way. */
export async function paced(arms: Arms, per_second: number, work: (n: number) => Promise<unknown>, lanes = LANES) {
  const under_way = new Set<Promise<unknown>>()
  const from_ms = performance.now()
  for (let n = 0; !arms.isOver(); n++) {
    await sleep(Math.max(0, from_ms + (n * 1_000) / per_second - performance.now()))
    if (under_way.size >= lanes || arms.isOver()) continue
    const one = work(n).finally(() => under_way.delete(one))
    under_way.add(one)
  }
  await Promise.all(under_way)
}

/** What an attack cannot do without: an answer other than 200 is a mistake of the attack, or a server that is gone. */
export async function must(arms: Arms, asking: Asking): Promise<Record<string, unknown>> {
  const { status, body, broken } = await arms.client.send(asking)
  if (status !== 200)
    throw new Error(`${arms.attack}: ${asking.path} answered ${status} ${broken ?? body.slice(0, 300)}`)
  return JSON.parse(body)
}

export interface Key {
  id: string
  key: string
}

/** With a limit, so that money must be held before anything is sent on. */
export async function newKey(arms: Arms, limit_usd?: number): Promise<Key> {
  const { id, key } = (await must(arms, {
    ...{ method: 'POST', path: '/v2/api-keys', body: { name: arms.attack } },
  })) as unknown as Key
  if (limit_usd !== undefined)
    await must(arms, { method: 'POST', path: `/v2/api-keys/${id}/budget`, body: { limit_usd } })
  return { id, key }
}

/** A cluster of the attacker's that says it serves these; it goes on saying so by `beat`. */
export async function newCluster(arms: Arms, models: readonly string[], endpoint = arms.endpoint) {
  const body = { name: arms.attack, region: 'nowhere', endpoint }
  const { id } = await must(arms, { method: 'POST', path: '/v2/byoc/clusters', body })
  const heartbeat = {
    ...{ method: 'POST', path: `/v2/byoc/clusters/${id}/heartbeat` },
    body: { status: 'active', models: models.map((model) => ({ id: model })) },
  }
  await must(arms, heartbeat)
  return { id: String(id), heartbeat }
}

export const CHAT = '/v1/chat/completions'

export interface Chat {
  model?: string
  plan?: Plan
  stream?: boolean
  content?: string
  max_tokens?: number
  [field: string]: unknown
}

/** The body of a generation at the managed provider, by the name of the attack, which the upstream's ledger keeps. */
export const chat = (arms: Arms, { content = 'Go on.', ...more }: Chat = {}) => ({
  model: 'm',
  user: arms.attack,
  messages: [{ role: 'user', content }],
  ...more,
})

export const hints = (value: object) => ({
  'agent-hints': Buffer.from(JSON.stringify(value)).toString('base64url'),
})
