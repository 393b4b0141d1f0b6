// Clusters that keep a real cache: each reads prompts one after the other at TOKENS_PER_S, keeps blocks of them in an LRU
// of CACHE_TOKENS, and answers with a short stream whose usage tells the cached tokens. On one port: /0/v1, /1/v1, ….
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const CLUSTERS = Number(process.env.CLUSTERS ?? 8)
const CACHE_TOKENS = Number(process.env.CACHE_TOKENS ?? 200_000)
const TOKENS_PER_S = Number(process.env.TOKENS_PER_S ?? 20_000)
const BLOCK_BYTES = 512
const BYTES_PER_TOKEN = 4

class Cluster {
  readonly #blocks = new Map<string, true>()
  #free_at_ms = 0

  /** When its first token comes, and how much of it was there. */
  take(prompt: string, now_ms: number): { first_token_ms: number; tokens: number; cached: number } {
    const hashes = blocksOf(prompt)
    let held = 0
    while (held < hashes.length && this.#blocks.has(hashes[held] as string)) held++
    for (const hash of hashes.toReversed()) {
      this.#blocks.delete(hash)
      this.#blocks.set(hash, true)
    }
    for (const hash of this.#blocks.keys()) {
      if (this.#blocks.size * (BLOCK_BYTES / BYTES_PER_TOKEN) <= CACHE_TOKENS) break
      this.#blocks.delete(hash)
    }
    const tokens = Math.ceil(prompt.length / BYTES_PER_TOKEN)
    const cached = Math.min(tokens, (held * BLOCK_BYTES) / BYTES_PER_TOKEN)
    this.#free_at_ms = Math.max(now_ms, this.#free_at_ms) + ((tokens - cached) / TOKENS_PER_S) * 1_000
    return { first_token_ms: this.#free_at_ms, tokens, cached }
  }
}

/** Whole blocks only, each hashed behind those before it. */
function blocksOf(prompt: string): string[] {
  const hashes: string[] = []
  let last = ''
  for (let at = 0; at + BLOCK_BYTES <= prompt.length; at += BLOCK_BYTES) {
    last = createHash('sha1')
      .update(last)
      .update(prompt.slice(at, at + BLOCK_BYTES))
      .digest('base64')
    hashes.push(last)
  }
  return hashes
}

const clusters = Array.from({ length: CLUSTERS }, () => new Cluster())
const common = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'agent' }
const event = (choices: unknown[], more = {}) => `data: ${JSON.stringify({ ...common, choices, ...more })}\n\n`

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const cluster = clusters[Number(request.url?.split('/')[1])]
  if (!cluster || request.method !== 'POST') return void response.end('{}')
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { messages } = JSON.parse(Buffer.concat(parts).toString()) as { messages: { content: string }[] }
  const prompt = messages.map(({ content }) => content).join('\n')
  const { first_token_ms, tokens, cached } = cluster.take(prompt, performance.now())
  setTimeout(() => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event([{ index: 0, delta: { role: 'assistant', content: 'word ' }, finish_reason: null }]))
    const usage = { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 }
    const told = { usage: { ...usage, prompt_tokens_details: { cached_tokens: cached } } }
    response.end(`${event([{ index: 0, delta: {}, finish_reason: 'stop' }])}${event([], told)}data: [DONE]\n\n`)
  }, first_token_ms - performance.now())
}

createServer((request, response) => void answer(request, response)).listen(Number(process.env.PORT), '127.0.0.1')
