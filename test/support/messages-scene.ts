// Providers that speak Anthropic's protocol, for a scene: one at the first upstream, one at either, and a chat provider
// beside them. Prices as in the scene: a token in costs one micro, a cached one half, one written two, for an hour four,
// a token out two, and a search of the web a hundred.
import { MAX_OUTPUT, PRICES, type Stage } from './inference-scene.ts'
import type { TestUpstream } from './upstream.ts'

export const MESSAGES = '/anthropic/v1/messages'

const price = { ...PRICES, cache_write_1h_usd_per_million: 4, web_search_usd_per_thousand: 0.1 }
const model = (id: string) => ({ id, ...price, max_output_tokens: MAX_OUTPUT })

/** `claude` is served by the first; `claude-both` by both, of two vendors; `claude-alike` by two of one vendor. */
export const messagesConfig = (one: TestUpstream, two: TestUpstream) => ({
  providers: [
    {
      id: 'claude-one',
      protocol: 'anthropic',
      base_url: one.base_url,
      api_key: 'sk-ant-one',
      models: [
        ...['claude', 'claude-both', 'claude-alike'].map(model),
        { ...model('claude-named'), upstream_id: 'real' },
      ],
    },
    {
      id: 'claude-two',
      protocol: 'anthropic',
      base_url: two.base_url,
      api_key: 'sk-ant-two',
      models: [model('claude-both'), model('claude-then-chat')],
    },
    {
      id: 'chat-one',
      base_url: one.base_url,
      api_key: 'sk-chat',
      models: [model('gpt-5-chat'), model('claude-then-chat')],
    },
    {
      id: 'claude-uncached',
      protocol: 'anthropic',
      base_url: one.base_url,
      api_key: 'sk-ant-one',
      cache_breakpoints: false,
      models: [model('claude-uncached')],
    },
    {
      id: 'vllm',
      base_url: two.base_url,
      api_key: 'sk-vllm',
      messages: true,
      models: [model('llama-messages')],
    },
  ],
})

export const asked = (more: object = {}) => ({
  model: 'claude',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hello' }],
  ...more,
})

export const ask = (stage: Stage, more: object = {}, headers: Record<string, string> = {}) =>
  stage.ask(MESSAGES, { body: asked(more), headers })

/** The events of a stream, each with its name. */
export const eventsOf = (text: string): { event: string; data: Record<string, unknown> }[] =>
  text
    .split('\n\n')
    .filter((one) => one.startsWith('event: '))
    .map((one) => {
      const [first = '', second = ''] = one.split('\n')
      return { event: first.slice('event: '.length), data: JSON.parse(second.slice('data: '.length)) }
    })
