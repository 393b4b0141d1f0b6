// `npm run transcripts`: writes docs/TRANSCRIPTS.md out of real calls to a real server, with what differs from run to
// run replaced by placeholders. A test takes them again and compares.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ERASED_CALLS } from './erased-calls.ts'
import { FIRST_MINUTES } from './first-minutes.ts'
import { REPLAYED_CALLS } from './replayed-calls.ts'
import { SHARED_PREFIX } from './shared-prefix.ts'
import { openTranscriptScene, type Section, type Site } from './transcript-scene.ts'

export const TRANSCRIPTS_FILE = fileURLToPath(new URL('../docs/TRANSCRIPTS.md', import.meta.url))

const INTRODUCTION = `# Transcripts

The first minutes of a new user, from the start to the first call and where it is seen. Then what \`curl -i\` prints for
each execution mode and each execution profile, and for the refusals that an agent meets most. Every block is a real
call to a real server: \`npm run transcripts\` takes them again, and a test compares. Only what differs from run to run is
replaced: ids and secrets end in \`…\`, times and counts that run are in \`<>\`. What the headers mean is in
[CONTRACT §10.2](CONTRACT.md#s10-2).
`

const CHAT = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Say hello.' }]
const hints = (value: object) => `Agent-Hints: ${Buffer.from(JSON.stringify(value)).toString('base64url')}`

const chat = (model: string) => (site: Site) => site.curl({ path: CHAT, body: { model, messages } })

const SECTIONS: readonly Section[] = [
  {
    title: 'Mode `placeholder`',
    says: 'No provider is configured: a deterministic stand-in answers, at no charge.',
    take: ({ placeholder }) => chat('gpt-4o-mini')(placeholder),
  },
  {
    title: 'Mode `live`, profile `managed_provider`',
    says: 'The usual case. 40 of the 120 input tokens came from the provider’s cache, so the charge is below the direct cost.',
    take: ({ live }) => chat('gpt-4o-mini')(live),
  },
  {
    title: 'Mode `emergency_fallback`',
    says: 'The first provider answered 500 before any content; the second one served the call. Only that one is paid for.',
    take: ({ live }) => chat('twice-served')(live),
  },
  {
    title: 'Profile `byok`',
    says: 'The project has a credential of its own at this provider. The charge is the control plane’s fee, here none.',
    async take({ live }) {
      await live.post('/v2/provider-credentials', {
        provider: 'mistral',
        name: 'ours',
        secret: 'sk-our-own-secret-key',
      })
      return chat('mistral-small')(live)
    },
  },
  {
    title: 'Profile `subscription`',
    says: 'The project has a subscription at this provider: half off the input, within the allowance.',
    async take({ live }) {
      const terms = { input_discount_pct: 50, allowance_tokens: 1_000_000 }
      await live.post('/v2/subscriptions', { plan: 'team', provider: 'groq', ...terms })
      return chat('llama-3.3-70b')(live)
    },
  },
  {
    title: 'Profile `byoc_native`',
    says: 'A cluster of one’s own that heartbeats and says that it serves the model. Its endpoint is dialled directly.',
    take: ({ live, upstream }) =>
      ownCluster(live, upstream.base_url, { orchestrator: 'kubernetes', model: 'own-model' }),
  },
  {
    title: 'Profile `byoc_epp`',
    says: 'The same behind an inference gateway with an endpoint picker.',
    take: ({ live, upstream }) => ownCluster(live, upstream.base_url, { orchestrator: 'llm-d', model: 'picked-model' }),
  },
  {
    title: 'An alias, with hints',
    says:
      'The hints are base64url of `{"qos":{"class":"interactive","target_ttft_ms":30000,"deadline_ms":300.5}}`. A ' +
      'deadline is a whole number, so that one field is ignored.',
    async take({ live }) {
      await live.post('/v2/aliases', { name: 'fast', targets: [{ provider: 'openai', model: 'gpt-4o-mini' }] })
      const headers = [hints({ qos: { class: 'interactive', target_ttft_ms: 30_000, deadline_ms: 300.5 } })]
      return live.curl({ path: CHAT, headers, body: { model: 'fast', messages } })
    },
  },
  SHARED_PREFIX,
  REPLAYED_CALLS,
  ERASED_CALLS,
  {
    title: 'A retry with the same key',
    says: 'The first call executes. The second is the first answer again, byte for byte, and costs nothing more.',
    async take({ live }) {
      const call = {
        path: CHAT,
        headers: ['Agent-Idempotency-Key: order-4711'],
        body: { model: 'gpt-4o-mini', messages },
      }
      return `${await live.curl(call)}\n${await live.curl(call)}`
    },
  },
  {
    title: 'A stream',
    says: 'What it cost is known at its end only: it comes in the trailers, after the last event.',
    take: ({ live }) => live.curl({ path: CHAT, body: { model: 'gpt-4o-mini', messages, stream: true } }),
  },
  {
    title: 'A shortened answer',
    says: 'The key may spend $0.0001, and the caller set no limit: the answer is allowed what that buys.',
    async take({ live }) {
      const { id } = await live.newKey('SHORT_KEY')
      await live.post(`/v2/api-keys/${id}/budget`, { limit_usd: 0.0001 })
      return live.curl({ path: CHAT, key: 'SHORT_KEY', body: { model: 'gpt-4o-mini', messages } })
    },
  },
  {
    title: 'A session without room',
    says: 'The project may keep no contents of sessions: the call is served and its turn is counted, without its contents.',
    async take({ live }) {
      const { id, project_id } = await live.post('/v2/sessions', {})
      const quotas = `/v2/operator/projects/${project_id}/quotas`
      await live.post(quotas, { session_contents_mib: 0 })
      const body = { model: 'gpt-4o-mini', messages }
      const taken = await live.curl({ path: CHAT, headers: [`x-session-id: ${id}`], body })
      await live.post(quotas, { session_contents_mib: null })
      return taken
    },
  },
  {
    title: 'Refused: the budget',
    says: 'The key may spend $0.0001, and this call could cost more.',
    async take({ live }) {
      const { id } = await live.newKey('SMALL_KEY')
      await live.post(`/v2/api-keys/${id}/budget`, { limit_usd: 0.0001 })
      return live.curl({ path: CHAT, key: 'SMALL_KEY', body: { model: 'gpt-4o-mini', messages, max_tokens: 1000 } })
    },
  },
  {
    title: 'Refused: the deadline',
    says: 'The hints are base64url of `{"qos":{"deadline_ms":200}}`, and the upstream says nothing for longer than that.',
    take: ({ live }) =>
      live.curl({ path: CHAT, headers: [hints({ qos: { deadline_ms: 200 } })], body: { model: 'slow', messages } }),
  },
  {
    title: 'Refused: the rate',
    says: 'The key may send one request a minute, and this is its second.',
    async take({ live }) {
      const { id } = await live.newKey('SLOW_KEY')
      await live.post(`/v2/api-keys/${id}/limits`, { requests_per_minute: 1 })
      const call = { path: CHAT, key: 'SLOW_KEY', body: { model: 'gpt-4o-mini', messages } }
      await live.curl(call)
      return live.curl(call)
    },
  },
]

async function ownCluster(live: Site, endpoint: string, { orchestrator, model }: Record<string, string>) {
  const cluster = { name: `gpu-${orchestrator}`, region: 'eu-west-1', orchestrator, endpoint }
  const { id } = await live.post('/v2/byoc/clusters', cluster)
  await live.post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'active', models: [{ id: model }] })
  return chat(model as string)(live)
}

export async function transcriptsText(): Promise<string> {
  const scene = await openTranscriptScene()
  try {
    const taken: string[] = []
    for (const { title, says, take } of [...FIRST_MINUTES, ...SECTIONS])
      taken.push(`## ${title}\n\n${says}\n\n\`\`\`console\n${steady(await take(scene))}\`\`\`\n`)
    return [INTRODUCTION, ...taken].join('\n')
  } finally {
    await scene.close()
  }
}

/** What differs from run to run, replaced. */
const steady = (text: string) =>
  text
    .replace(
      /\b(trc|req|key|usr|ses|alr|als|rpl|pcr|sub|byc|prj|prg|resp|art|bnd|chatcmpl)([_-])[0-9A-Za-z]{12,}/g,
      '$1$2…',
    )
    .replace(/^date: .*$/gim, 'date: <date>')
    .replace(/^retry-after: \d+$/gim, 'retry-after: <seconds>')
    .replace(/^(x-ratelimit-reset-\w+: ).*$/gim, '$1<time>')
    .replace(/^(x-ratelimit-remaining-\w+: ).*$/gim, '$1<count>')
    .replace(/;r=\d+;t=\d+/g, ';r=<count>;t=<seconds>')
    .replace(/Retry after \d+ s/g, 'Retry after <seconds> s')
    .replace(/"created":\d+/g, '"created":<time>')
    .replace(/svc_live_\w+/g, 'svc_live_…')
    .replace(/#token=\w+/g, '#token=…')
    .replace(/\b\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)? UTC|T[\d:.]+Z)/g, '<time>')
    .replace(/"(\w+_ms)":\d+/g, '"$1":<ms>')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(TRANSCRIPTS_FILE, await transcriptsText())
  process.stdout.write(`wrote ${TRANSCRIPTS_FILE}\n`)
}
