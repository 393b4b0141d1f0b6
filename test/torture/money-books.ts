// What a money run leaves: the books as the store has them, and whether each key may still spend what it has left.
import { holdOf } from './money-asks.ts'
import type { Books, Probe } from './money-checker.ts'
import type { Payer } from './money-client.ts'
import type { Scene } from './scene.ts'

export async function readBooks(scene: Scene): Promise<Books> {
  const [project] = await scene.rows<Books['project']>('SELECT spent_micros, held_micros FROM project')
  if (!project) throw new Error('there is no project')
  return {
    project,
    keys: await scene.rows('SELECT id, spent_micros, held_micros FROM api_key'),
    holds: await scene.rows('SELECT id, micros FROM budget_hold'),
    events: await scene.rows('SELECT trace_id, session_id AS call, key_id, status, charged_micros FROM usage_event'),
  }
}

/** R43: with each limited key, first a call that is too dear by one token, then one that fits exactly. */
export async function probeAll(scene: Scene, payers: readonly Payer[]): Promise<Probe[]> {
  const probes: Probe[] = []
  for (const { id, raw, budget_micros } of payers) {
    const left_micros = budget_micros === undefined ? 1_000_000 : budget_micros - (await spentBy(scene, id))
    const fitting = mostTokens(left_micros)
    if (budget_micros !== undefined) probes.push({ key_id: id, fits: false, ...(await probe(scene, raw, fitting + 1)) })
    if (fitting > 0) probes.push({ key_id: id, fits: true, ...(await probe(scene, raw, fitting)) })
  }
  return probes
}

const bodyOf = (max_tokens: number) =>
  JSON.stringify({ model: 'solo', messages: [{ role: 'user', content: 'May I?' }], max_tokens, call: 'probe' })

/** The most output that can be asked for with so much money; 0 where the prompt alone costs more. */
function mostTokens(micros: number): number {
  let tokens = Math.max(0, Math.floor(micros / 2))
  while (tokens > 0 && holdOf(bodyOf(tokens), tokens) > micros) tokens--
  return tokens
}

async function spentBy(scene: Scene, id: string): Promise<number> {
  const { data } = JSON.parse((await scene.client.send({ path: '/v2/api-keys' })).body.toString())
  return data.find((key: { id: string }) => key.id === id).spent_micros
}

async function probe(scene: Scene, raw: string, max_tokens: number): Promise<Pick<Probe, 'status' | 'type'>> {
  const headers = { authorization: `Bearer ${raw}`, 'x-session-id': 'probe' }
  const asked = { method: 'POST', path: '/v1/chat/completions', headers, body: bodyOf(max_tokens) }
  const { status, body } = await scene.client.send(asked)
  return { status, type: status === 200 ? undefined : JSON.parse(body.toString()).error.type }
}
