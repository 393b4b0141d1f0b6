// Which upstream another gateway means by a provider's name: its address, its protocol, and the variable of its key.

export interface KnownUpstream {
  protocol?: 'anthropic' | 'azure' | 'bedrock' | 'vertex'
  base_url?: string
  /** Where its key is read from where nothing is said. */
  variable?: string
  /** What an address of one's own gets, unless it ends so. */
  below?: string
  /** Nobody is paid by the token: a model without a price costs nothing. */
  is_own?: true
}

const own: KnownUpstream = { is_own: true }

export const KNOWN_UPSTREAMS: Readonly<Record<string, KnownUpstream>> = {
  openai: { base_url: 'https://api.openai.com/v1', variable: 'OPENAI_API_KEY' },
  azure: { protocol: 'azure', base_url: `\${AZURE_API_BASE}`, variable: 'AZURE_API_KEY' },
  bedrock: { protocol: 'bedrock' },
  vertex_ai: { protocol: 'vertex' },
  anthropic: {
    protocol: 'anthropic',
    base_url: 'https://api.anthropic.com/v1',
    variable: 'ANTHROPIC_API_KEY',
    below: '/v1',
  },
  gemini: { base_url: 'https://generativelanguage.googleapis.com/v1beta/openai', variable: 'GEMINI_API_KEY' },
  groq: { base_url: 'https://api.groq.com/openai/v1', variable: 'GROQ_API_KEY' },
  mistral: { base_url: 'https://api.mistral.ai/v1', variable: 'MISTRAL_API_KEY' },
  deepseek: { base_url: 'https://api.deepseek.com/v1', variable: 'DEEPSEEK_API_KEY' },
  xai: { base_url: 'https://api.x.ai/v1', variable: 'XAI_API_KEY' },
  together_ai: { base_url: 'https://api.together.xyz/v1', variable: 'TOGETHERAI_API_KEY' },
  fireworks_ai: { base_url: 'https://api.fireworks.ai/inference/v1', variable: 'FIREWORKS_API_KEY' },
  openrouter: { base_url: 'https://openrouter.ai/api/v1', variable: 'OPENROUTER_API_KEY' },
  perplexity: { base_url: 'https://api.perplexity.ai', variable: 'PERPLEXITYAI_API_KEY' },
  cerebras: { base_url: 'https://api.cerebras.ai/v1', variable: 'CEREBRAS_API_KEY' },
  deepinfra: { base_url: 'https://api.deepinfra.com/v1/openai', variable: 'DEEPINFRA_API_KEY' },
  sambanova: { base_url: 'https://api.sambanova.ai/v1', variable: 'SAMBANOVA_API_KEY' },
  nvidia_nim: { base_url: 'https://integrate.api.nvidia.com/v1', variable: 'NVIDIA_NIM_API_KEY' },
  ollama: { base_url: 'http://127.0.0.1:11434/v1', below: '/v1', is_own: true },
  ollama_chat: { base_url: 'http://127.0.0.1:11434/v1', below: '/v1', is_own: true },
  hosted_vllm: own,
  vllm: own,
  sgl: own,
  lm_studio: own,
  llamafile: own,
  openai_like: own,
  custom_openai: own,
  litellm_proxy: own,
}

/** Other names for the same. */
const SAME: Readonly<Record<string, string>> = {
  'azure-openai': 'azure',
  google: 'gemini',
  vertex: 'vertex_ai',
  'vertex-ai': 'vertex_ai',
  'mistral-ai': 'mistral',
  'x-ai': 'xai',
  'together-ai': 'together_ai',
  together: 'together_ai',
  'fireworks-ai': 'fireworks_ai',
  fireworks: 'fireworks_ai',
  'perplexity-ai': 'perplexity',
}

export const upstreamNamed = (name: string): KnownUpstream | undefined => KNOWN_UPSTREAMS[SAME[name] ?? name]

/** Its address: what is said, else the usual one; undefined where there is none. */
export function addressOf({ base_url, below }: KnownUpstream, said: string | undefined): string | undefined {
  if (said === undefined) return base_url
  const address = said.replace(/\/+$/, '')
  if (below === undefined || address.endsWith(below)) return address
  return `${address}${below}`
}
