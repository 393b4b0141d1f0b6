// The first request, in the ways that people send it.
export interface FirstRequest {
  id: string
  label: string
  code(origin: string, key: string, model: string): string
}

export const FIRST_REQUESTS: readonly [FirstRequest, ...FirstRequest[]] = [
  {
    id: 'curl',
    label: 'curl',
    code: (origin, key, model) => `curl -si ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Say hello."}]}'`,
  },
  {
    id: 'python',
    label: 'Python',
    code: (origin, key, model) => `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(answer.choices[0].message.content)`,
  },
  {
    id: 'typescript',
    label: 'TypeScript',
    code: (origin, key, model) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello.' }],
})
process.stdout.write(answer.choices[0].message.content)`,
  },
  {
    id: 'claude-code',
    label: 'Claude Code',
    code: (origin, key, model) => `export ANTHROPIC_BASE_URL=${origin}/anthropic
export ANTHROPIC_API_KEY=${key}
claude -p "Say hello." --model ${model}`,
  },
]
