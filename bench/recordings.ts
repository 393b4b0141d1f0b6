// What recording costs a live call: the same service without and with it, in the same rounds. Prompts differ from each
// other, as those of different agents do: a pack of equal ones would compress for nothing.
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, post, startService } from './service-under-test.ts'
import { startUpstream } from './upstream-side.ts'

/** What lets a project record. */
export const RETENTION = 'retention: { full_fidelity: true }\n'
const MOST = 1.15
const PROMPTS = 512
const WORDS =
  'the a of to and in is it you that he was for on are with as his they be at one have this from or had by hot but some ' +
  'what there we can out other were all your when up use word how said an each she which do their time if will way about ' +
  'many then them would write like so these her long make thing see him two has look more day could go come did my sound'

export async function recordings(conditions: Conditions): Promise<string> {
  const whole = await compared('Recording, 2 KB in, whole answers', {}, conditions)
  const streams = await compared('Recording, streams of 50 chunks', { stream: true }, conditions)
  return `${whole}\n${streams}`
}

async function compared(title: string, more: object, conditions: Conditions): Promise<string> {
  const upstream = await startUpstream()
  const bodies = promptsWith(more)
  const off = await startService({ name: 'not recording', upstream })
  const on = await startService({ name: 'recording', upstream, config: RETENTION })
  await post(on, '/v2/project/recordings', { enabled: true })
  const contenders = [contender('not recording (base)', off), contender('recording', on)]
  const measured = await measure(contenders, conditions)
  const summaries = summarize(measured.rounds, contenders)
  const dropped = await droppedBy(on)
  await Promise.all([upstream, off, on].map((server) => server.stop()))
  record(title, { conditions, ...measured, summaries, dropped })
  const ratio = summaries[1]?.cpu_ratio.median ?? Number.NaN
  const verdict = `CPU of a call, recording / not recording: ${ratio.toFixed(2)} (at most ${MOST})`
  return `${table(title, summaries, conditions)}\n${verdict}; dropped: ${JSON.stringify(dropped)}`

  function contender(name: string, server: ServerProcess): Contender {
    const [body = ''] = bodies
    const warm = 'stream' in more ? { warm_requests: 1_500 } : {}
    return { name, server, plan: { path: CHAT, body, bodies, headers: as(ADMIN_KEY) }, ...warm }
  }
}

/** By a generator of its own: the same in every run. */
export function promptsWith(more: object): string[] {
  const words = WORDS.split(' ')
  let state = 1
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return words[state % words.length] as string
  }
  return Array.from({ length: PROMPTS }, () => {
    const content = Array.from({ length: 400 }, next).join(' ')
    return JSON.stringify({ model: 'bench', messages: [{ role: 'user', content }], max_tokens: 100, ...more })
  })
}

async function droppedBy(server: ServerProcess): Promise<unknown> {
  const answer = await fetch(`${server.url}/v2/recordings?limit=1`, { headers: as(ADMIN_KEY) })
  return ((await answer.json()) as { dropped: unknown }).dropped
}
