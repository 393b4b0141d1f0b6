// What Messages cost beside chat: the same service, the same prompt of 2 KB, in the same rounds. On an upstream that
// speaks Messages the bytes go through; over one that speaks chat they are translated, which has no bound here.
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, PRICES, startService } from './service-under-test.ts'
import { startUpstream } from './upstream-side.ts'

const MESSAGES = '/anthropic/v1/messages'
const MOST = 1.1

export async function messages(conditions: Conditions): Promise<string> {
  const whole = await compared('Messages beside chat, 2 KB in, whole answers', {}, conditions)
  const streams = await compared('Messages beside chat, streams of 50 chunks', { stream: true }, conditions)
  return `${whole}\n${streams}`
}

async function compared(title: string, more: object, conditions: Conditions): Promise<string> {
  const upstream = await startUpstream()
  const models = `models: [{ id: bench-messages, ${PRICES} }]`
  const providers = `  - { id: native, protocol: anthropic, base_url: "${upstream.url}/v1", max_concurrency: 10000, ${models} }\n`
  const server = await startService({ name: 'messages', upstream, providers })
  const warm = 'stream' in more ? { warm_requests: 1_500 } : {}
  const asked = (name: string, path: string, model: string): Contender => ({
    name,
    server,
    plan: { path, body: chat({ model, ...more }), headers: { ...as(ADMIN_KEY), 'anthropic-version': '2023-06-01' } },
    ...warm,
  })
  const contenders = [
    asked('chat (base)', CHAT, 'bench'),
    asked('Messages, as they are', MESSAGES, 'bench-messages'),
    asked('Messages over chat', MESSAGES, 'bench'),
  ]
  const measured = await measure(contenders, conditions)
  const summaries = summarize(measured.rounds, contenders)
  await Promise.all([upstream, server].map((one) => one.stop()))
  record(title, { conditions, ...measured, summaries })
  const ratio = summaries[1]?.cpu_ratio.median ?? Number.NaN
  const verdict = `CPU of a call, Messages / chat: ${ratio.toFixed(2)} (at most ${MOST})`
  return `${table(title, summaries, conditions)}\n${verdict}`
}
