// The playground's request as others would send it: over /v1, with a key of theirs, by curl or an OpenAI client.
import type { Hints } from '../../../src/hints/hints.ts'
import type { GenerationRequest } from '../../api/generation-calls.ts'
import { encodeHints } from './wish.ts'

export interface RequestCode {
  id: string
  label: string
  code: string
}

interface Asked {
  origin: string
  request: GenerationRequest
  hints: Hints | undefined
}

/** The chat form of the same request. */
function chatOf({ model, instructions, input, max_output_tokens, temperature }: GenerationRequest) {
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }]
  return {
    model,
    messages: [...system, ...input],
    ...(max_output_tokens !== undefined && { max_completion_tokens: max_output_tokens }),
    ...(temperature !== undefined && { temperature }),
    stream: true,
  }
}

export function requestCodes(asked: Asked): [RequestCode, RequestCode, RequestCode] {
  return [
    { id: 'curl', label: 'curl', code: curl(asked) },
    { id: 'python', label: 'Python', code: python(asked) },
    { id: 'typescript', label: 'TypeScript', code: typescript(asked) },
  ]
}

const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function curl({ origin, request, hints }: Asked): string {
  const header = hints ? `  -H "Agent-Hints: ${encodeHints(hints)}" \\\n` : ''
  return `curl -sN ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
${header}  -d ${inShell(JSON.stringify(chatOf(request), null, 2))}`
}

/** A JSON text is a literal of Python too, but for these three words. */
const inPython = (value: unknown) => (value === true ? 'True' : value === false ? 'False' : JSON.stringify(value))

function python({ origin, request, hints }: Asked): string {
  const { messages, ...rest } = chatOf(request)
  const lines = messages.map((message) => `        ${JSON.stringify(message)},`).join('\n')
  const others = Object.entries(rest).map(([name, value]) => `    ${name}=${inPython(value)},`)
  const header = hints
    ? `    # ${JSON.stringify(hints)}\n    extra_headers={"Agent-Hints": "${encodeHints(hints)}"},\n`
    : ''
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["SWITCHYARD_KEY"])
stream = client.chat.completions.create(
    messages=[
${lines}
    ],
${others.join('\n')}
${header})
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
}

function typescript({ origin, request, hints }: Asked): string {
  const body = JSON.stringify(chatOf(request), null, 2).replace(/^( +)"(\w+)":/gm, '$1$2:')
  const options = hints
    ? `, {\n  // ${JSON.stringify(hints)}\n  headers: { 'Agent-Hints': '${encodeHints(hints)}' },\n}`
    : ''
  return `import { env, stdout } from 'node:process'
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: env.SWITCHYARD_KEY })
const stream = await client.chat.completions.create(${body}${options})
for await (const chunk of stream) stdout.write(chunk.choices[0]?.delta?.content ?? '')`
}
