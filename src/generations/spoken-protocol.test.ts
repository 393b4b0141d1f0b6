// R40: what is known of a target without opening it is what its provider says once it is open.
import { expect, onTestFinished, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { awsSecret } from '../credentials/platform-secret.ts'
import { CALL_KINDS } from '../providers/provider.ts'
import { dialer } from '../routing/dialer.ts'
import type { Dialling, Target } from '../routing/target.ts'
import { takesKind } from './spoken-protocol.ts'

const AWS = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'w'.repeat(40) }
const bedrock = { kind: 'bedrock', region: 'us-east-1' } as const
const vertex = { kind: 'vertex', region: 'us-east5', google_project: 'a-project' } as const
const azure = { kind: 'azure' } as const

test.each<[string, Partial<Dialling>]>([
  ['OpenAI’s protocol', {}],
  ['the same with responses and messages', { responses_native: true, messages_native: true }],
  ['Anthropic’s protocol', { protocol: 'anthropic' }],
  ['the stand-in', { protocol: 'placeholder' }],
  ['Azure', { platform: azure }],
  ['Azure with responses', { platform: azure, responses_native: true }],
  ['Claude at Bedrock', { protocol: 'anthropic', platform: bedrock, spoken: 'messages' }],
  ['chat at Bedrock', { platform: bedrock, spoken: 'chat' }],
  ['Converse at Bedrock', { platform: bedrock, spoken: 'converse' }],
  ['Claude at Vertex', { protocol: 'anthropic', platform: vertex, spoken: 'messages' }],
  ['chat at Vertex', { platform: vertex, spoken: 'chat' }],
])('R40 %s takes the calls that its adapter speaks, and those that go by way of chat', async (_name, more) => {
  const policy = { allow_private: true, allow_cidrs: [] }
  const dials = dialer({ policy, clock: heldClock(), secretOf: async () => undefined })
  onTestFinished(() => dials.close())
  const dialling = {
    protocol: 'openai',
    base_url: 'https://upstream.invalid/v1',
    secret: { kind: 'configured', value: more.platform?.kind === 'bedrock' ? awsSecret(AWS) : 'sk-1' },
    customer_address: false,
    responses_native: false,
    max_concurrency: 5,
    timeouts: { first_byte_ms: 5_000, idle_ms: 5_000, total_ms: 10_000 },
    ...more,
  }
  const target = { id: 'provider:one', model: 'm', dialling } as Target
  const provider = await dials.providerFor(target, 'prj_1')
  const by_chat: readonly string[] = provider.speaks('chat') ? ['responses', 'messages'] : []
  const taken = CALL_KINDS.filter((kind) => provider.speaks(kind) || by_chat.includes(kind))
  expect(CALL_KINDS.filter((kind) => takesKind(target, kind))).toEqual(taken)
})
