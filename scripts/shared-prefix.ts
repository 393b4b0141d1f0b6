// The transcript of a prefix that is uploaded once: artifact, bundle, two calls with the official client, what the
// upstream got, warmth, usage.
import OpenAI from 'openai'
import { SHOWN_ORIGIN } from './transcript-commands.ts'
import type { Section, TranscriptScene } from './transcript-scene.ts'

const MODEL = 'reader'
const HANDBOOK = 'Orders are shipped within two days. Returns are free for a month.\n'

export const SHARED_PREFIX: Section = {
  title: 'A prefix that is uploaded once',
  says:
    'An artifact, a bundle made of it, and two calls with the official client. The upstream had nothing of the prompt ' +
    'cached at the first, and 96 of 120 tokens at the second. The third shows the headers.',
  async take(scene) {
    const { live, file } = scene
    const uploaded = await live.curl({
      quiet: true,
      path: '/v2/artifacts',
      form: ['kind=text', `file=@${file('handbook.md', HANDBOOK)};type=text/markdown`],
    })
    const artifact_id = idIn(uploaded)
    const items = [{ artifact_id, role: 'system' }]
    const made = await live.curl({ quiet: true, path: '/v2/bundles', body: { name: 'support agent', items } })
    const bundle_id = idIn(made)
    return [
      uploaded,
      made,
      await withOfficialClient(scene, bundle_id),
      await live.curl({
        path: '/v1/chat/completions',
        headers: [`Agent-Bundle: ${bundle_id}`],
        body: { model: MODEL, messages: [{ role: 'user', content: 'Thank you.' }] },
      }),
      await live.curl({ path: `/v2/bundles/${bundle_id}/warmth`, quiet: true }),
      await live.curl({ path: `/v2/usage?bundle_id=${bundle_id}&group_by=bundle_id`, quiet: true }),
    ].join('\n')
  },
}

const CODE = `import OpenAI from 'openai'

const client = new OpenAI({ defaultHeaders: { 'Agent-Bundle': process.env.BUNDLE } })
for (const content of ['When does it come?', 'Can I send it back?']) {
  const messages = [{ role: 'user', content }]
  const { usage } = await client.chat.completions.create({ model: '${MODEL}', messages })
  console.log(usage.prompt_tokens, 'in,', usage.prompt_tokens_details.cached_tokens, 'cached')
}`

/** The same code, here. */
async function withOfficialClient({ live, upstream }: TranscriptScene, bundle_id: string): Promise<string> {
  const client = new OpenAI({
    apiKey: live.token,
    baseURL: `${live.origin}/v1`,
    maxRetries: 0,
    defaultHeaders: { 'Agent-Bundle': bundle_id },
  })
  const printed: string[] = []
  const got: string[] = []
  for (const content of ['When does it come?', 'Can I send it back?']) {
    const messages = [{ role: 'user' as const, content }]
    const { usage } = await client.chat.completions.create({ model: MODEL, messages })
    printed.push(`${usage?.prompt_tokens} in, ${usage?.prompt_tokens_details?.cached_tokens} cached`)
    got.push(upstream.requests.at(-1)?.bytes.toString() ?? '')
  }
  return [
    '$ cat ask.mjs',
    CODE,
    `$ OPENAI_BASE_URL=${SHOWN_ORIGIN}/v1 OPENAI_API_KEY=$KEY BUNDLE=bnd_… node ask.mjs`,
    ...printed,
    '',
    '# what the upstream got',
    ...got,
    '',
  ].join('\n')
}

/** Of what was made: the last line that curl printed is the answer. */
const idIn = (printed: string) => (JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '{}') as { id: string }).id
